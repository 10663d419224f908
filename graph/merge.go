package graph

import "kro.run/kro/schema"

// common is the schema that all values have, or one that allows anything.
func common(values []*schema.Node) *schema.Node {
	if len(values) == 0 {
		return anything()
	}
	m := merger{}
	shared := values[0]
	for _, v := range values[1:] {
		shared = m.merge(shared, v)
	}
	return shared
}

// merger remembers the pairs it has merged, or is merging: the schemas of kinds may be recursive, and are large.
type merger map[[2]*schema.Node]*schema.Node

// merge finds the schema of values of either schema. Objects with named fields have the fields of both.
func (m merger) merge(a, b *schema.Node) *schema.Node {
	if a == b {
		return a
	}
	pair := [2]*schema.Node{a, b}
	if merged, known := m[pair]; known {
		return merged
	}
	m[pair] = anything()
	m[pair] = m.mergeNew(a, b)
	return m[pair]
}

func (m merger) mergeNew(a, b *schema.Node) *schema.Node {
	switch {
	case a.Type != b.Type && numeric(a) && numeric(b):
		return &schema.Node{Type: "number"}
	case a.Type != b.Type || a.Format != b.Format || a.IntOrString || b.IntOrString:
		return anything()
	case a.Type == "array" && a.Items != nil && b.Items != nil:
		return &schema.Node{Type: "array", Items: m.merge(a.Items, b.Items)}
	case isStruct(a) && isStruct(b):
		return m.mergeFields(a, b)
	case isMap(a) && isMap(b):
		return &schema.Node{Type: "object", AdditionalProperties: m.merge(a.AdditionalProperties, b.AdditionalProperties)}
	case a.Type == "object":
		return &schema.Node{Type: "object", PreserveUnknown: true}
	case a.Type == "array" || a.Type == "":
		return anything()
	}
	return a
}

func numeric(n *schema.Node) bool { return n.Type == "integer" || n.Type == "number" }

func isStruct(n *schema.Node) bool {
	return n.Type == "object" && len(n.Properties) > 0 && n.AdditionalProperties == nil && !isOpenNode(n)
}

func isMap(n *schema.Node) bool {
	return n.Type == "object" && len(n.Properties) == 0 && n.AdditionalProperties != nil && !isOpenNode(n)
}

func isOpenNode(n *schema.Node) bool {
	return n.PreserveUnknown || n.AnyAdditional || n.EmbeddedResource
}

func (m merger) mergeFields(a, b *schema.Node) *schema.Node {
	properties := make(map[string]*schema.Node, len(a.Properties)+len(b.Properties))
	for name, field := range a.Properties {
		properties[name] = field
	}
	for name, field := range b.Properties {
		if ours, both := properties[name]; both {
			field = m.merge(ours, field)
		}
		properties[name] = field
	}
	return &schema.Node{Type: "object", Properties: properties}
}
