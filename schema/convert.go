package schema

import (
	"maps"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// FromJSONSchema converts a schema as it stands in a CustomResourceDefinition. It never fails: what it does not understand leaves the type open, and
// nil gives a Node that allows anything.
func FromJSONSchema(props *apiextensionsv1.JSONSchemaProps) *Node {
	c := &converter{}
	n := c.node(props)
	c.finish()
	return n
}

// converter turns JSONSchemaProps into Nodes. Equal nodes without properties are shared.
type converter struct {
	// reference gives the node that a $ref stands for; nil where there are no references.
	reference func(ref string) *Node
	// openObjects says that an object without any statement on its fields takes every field. It does in the documents of built-in and aggregated
	// APIs, where RawExtension and its like look so. In a CRD it takes none: the server prunes them.
	openObjects bool

	shared  map[shape]*Node
	pending map[*Node]merge
	order   []*Node // of pending
}

// shape identifies a node without properties, requirements and unions.
type shape struct {
	typ, format                                                         string
	items, additional                                                   *Node
	anyAdditional, preserveUnknown, intOrString, embeddedResource, null bool
}

func shapeOf(n *Node) shape {
	return shape{n.Type, n.Format, n.Items, n.AdditionalProperties, n.AnyAdditional, n.PreserveUnknown, n.IntOrString, n.EmbeddedResource, n.Nullable}
}

func (c *converter) node(props *apiextensionsv1.JSONSchemaProps) *Node {
	if props == nil {
		return anything
	}
	if ref, only := soleReference(props); only {
		return c.refer(ref)
	}
	n := &Node{
		Type: props.Type, Format: props.Format, Nullable: props.Nullable,
		PreserveUnknown:  isTrue(props.XPreserveUnknownFields),
		IntOrString:      props.XIntOrString || props.Format == "int-or-string",
		EmbeddedResource: props.XEmbeddedResource,
		Required:         sorted(props.Required),
		Properties:       c.properties(props.Properties),
		Items:            c.items(props.Items),
	}
	if additional := props.AdditionalProperties; additional != nil {
		if additional.Schema != nil {
			n.AdditionalProperties = c.node(additional.Schema)
		}
		n.AnyAdditional = additional.Schema == nil && additional.Allows
	}
	if all := c.allOf(props); len(all) > 0 {
		c.postpone(n, merge{from: all, props: props})
		return n // its shape is only known after the merge
	}
	c.settleType(n, props)
	return c.share(n)
}

// soleReference recognises a schema that only refers to another one: a $ref, or the allOf with which documents put a default beside a $ref.
func soleReference(props *apiextensionsv1.JSONSchemaProps) (string, bool) {
	if props.Ref != nil && props.Type == "" && !props.Nullable {
		return *props.Ref, true
	}
	wrapped := len(props.AllOf) == 1 && props.AllOf[0].Ref != nil && props.Ref == nil &&
		props.Type == "" && props.Format == "" && props.Properties == nil && props.Required == nil && props.Items == nil && props.AdditionalProperties == nil &&
		!props.Nullable && !props.XIntOrString && !props.XEmbeddedResource && props.XPreserveUnknownFields == nil
	if !wrapped {
		return "", false
	}
	return *props.AllOf[0].Ref, true
}

func (c *converter) refer(ref string) *Node {
	if c.reference != nil {
		if n := c.reference(ref); n != nil {
			return n
		}
	}
	return anything
}

func (c *converter) properties(props map[string]apiextensionsv1.JSONSchemaProps) map[string]*Node {
	if len(props) == 0 {
		return nil
	}
	nodes := make(map[string]*Node, len(props))
	for _, name := range slices.Sorted(maps.Keys(props)) {
		property := props[name]
		nodes[name] = c.node(&property)
	}
	return nodes
}

// items takes the one schema of all elements. A list of schemas, one for each position, is not allowed in a CRD; it leaves the elements open.
func (c *converter) items(items *apiextensionsv1.JSONSchemaPropsOrArray) *Node {
	switch {
	case items == nil:
		return nil
	case items.Schema != nil:
		return c.node(items.Schema)
	case len(items.JSONSchemas) == 1:
		return c.node(&items.JSONSchemas[0])
	}
	return anything
}

// allOf gives the schemas that hold together with props. In a CRD, allOf only narrows values and states no types, so that its members add nothing.
func (c *converter) allOf(props *apiextensionsv1.JSONSchemaProps) []*Node {
	var all []*Node
	if props.Ref != nil {
		all = append(all, c.refer(*props.Ref))
	}
	for i := range props.AllOf {
		if member := &props.AllOf[i]; member.Type != "" || member.Ref != nil || len(member.Properties) > 0 && props.Type == "" {
			all = append(all, c.node(member))
		}
	}
	return all
}

// settleType decides the type of a node of which everything but its unions is known.
func (c *converter) settleType(n *Node, props *apiextensionsv1.JSONSchemaProps) {
	if n.EmbeddedResource {
		addObjectFields(n)
		n.IntOrString = false
	}
	if n.Type == "" && !n.IntOrString {
		c.inferType(n, props)
	}
	if n.IntOrString {
		n.Type, n.Format = "", ""
	}
	if n.IntOrString || n.Type != "" {
		n.Union = nil
	}
	silent := n.Properties == nil && n.AdditionalProperties == nil && !n.AnyAdditional
	if n.Type == "object" && silent && c.openObjects || n.Type == "" && !n.IntOrString && n.Union == nil {
		n.PreserveUnknown = true
	}
}

// inferType gives a type to a schema that states none, from its unions or else from its other keywords. Unions are read only here: beside a type they
// narrow values, and beside preserve-unknown they cannot say all.
func (c *converter) inferType(n *Node, props *apiextensionsv1.JSONSchemaProps) {
	switch {
	case n.PreserveUnknown:
	case n.Properties != nil || n.AdditionalProperties != nil || n.AnyAdditional:
		n.Type = "object"
	case n.Items != nil:
		n.Type = "array"
	case len(props.OneOf)+len(props.AnyOf) > 0:
		n.Union = c.union(props)
		n.IntOrString = isIntOrString(n.Union)
	}
}

// union converts the members that say something about the type. A member that only requires fields speaks of an object.
func (c *converter) union(props *apiextensionsv1.JSONSchemaProps) []*Node {
	var union []*Node
	for _, members := range [][]apiextensionsv1.JSONSchemaProps{props.OneOf, props.AnyOf} {
		for i := range members {
			member := &members[i]
			if member.Type == "" && len(member.Required) > 0 {
				union = append(union, anyField)
				continue
			}
			n := c.node(member)
			if n.Type == "" && n.PreserveUnknown && n.Union == nil { // says nothing, or anything
				continue
			}
			union = append(union, n)
		}
	}
	return union
}

// isIntOrString recognises IntOrString and Quantity, which published documents write as a union of text and a number.
func isIntOrString(union []*Node) bool {
	var text, number bool
	for _, member := range union {
		switch member.Type {
		case "string":
			text = true
		case "integer", "number":
			number = true
		default:
			return false
		}
	}
	return text && number
}

// addObjectFields gives an object what every Kubernetes object has.
func addObjectFields(n *Node) {
	if n.Properties == nil {
		n.Properties = map[string]*Node{}
	}
	n.Type = "object"
	n.Properties["apiVersion"] = text
	n.Properties["kind"] = text
	n.Properties["metadata"] = ObjectMeta()
}

// share replaces a node without properties by an equal one seen before. Most leaves of a schema are plain text.
func (c *converter) share(n *Node) *Node {
	if n.Properties != nil || n.Required != nil || n.Union != nil {
		return n
	}
	key := shapeOf(n)
	if n := common[key]; n != nil {
		return n
	}
	if known := c.shared[key]; known != nil {
		return known
	}
	if c.shared == nil {
		c.shared = map[shape]*Node{}
	}
	c.shared[key] = n
	return n
}

func sorted(names []string) []string {
	if len(names) == 0 {
		return nil
	}
	names = slices.Clone(names)
	slices.Sort(names)
	return slices.Compact(names)
}

func isTrue(flag *bool) bool { return flag != nil && *flag }
