package graph

import (
	"slices"

	"kro.run/kro/schema"
)

// Questions that a literal asks of the schema of its place. A nil schema knows nothing and allows everything.

// narrow returns the schema when it says something about a value, else nil: everything is allowed from here on down.
func narrow(n *schema.Node) *schema.Node {
	if n == nil || n.Type == "" && !n.IntOrString && len(n.Union) == 0 && len(n.Properties) == 0 && n.AdditionalProperties == nil {
		return nil
	}
	return n
}

// types returns the JSON types that a place takes, in a fixed order; none means all.
func types(n *schema.Node) []string {
	switch {
	case n.IntOrString:
		return []string{"integer", "string"}
	case n.Type != "":
		return []string{n.Type}
	case n.PreserveUnknown:
		return nil
	case len(n.Union) > 0:
		return unionTypes(n.Union)
	}
	return []string{"object"} // it has properties or describes a map
}

func unionTypes(members []*schema.Node) []string {
	var union []string
	for _, member := range members {
		member := narrow(member)
		if member == nil {
			return nil
		}
		for _, t := range types(member) {
			if !slices.Contains(union, t) {
				union = append(union, t)
			}
		}
	}
	return union
}

// accepts tells whether a place takes a value of this type.
func accepts(n *schema.Node, value any) bool {
	allowed := types(n)
	if value == nil || len(allowed) == 0 {
		return true
	}
	t := jsonType(value)
	if slices.Contains(allowed, t) || t == "integer" && slices.Contains(allowed, "number") {
		return true
	}
	// Quantities are read as int-or-string, and the server takes 0.5 for one.
	return t == "number" && n.IntOrString
}

// fieldOf returns the schema of a field of an object, and whether the object may have it.
func fieldOf(n *schema.Node, name string) (*schema.Node, bool) {
	if n = narrow(n); n == nil {
		return nil, true
	}
	if child, known := n.Properties[name]; known {
		return child, true
	}
	if n.AdditionalProperties != nil {
		return n.AdditionalProperties, true
	}
	if n.AnyAdditional || n.EmbeddedResource || n.PreserveUnknown {
		return nil, true
	}
	for _, member := range n.Union {
		if child, known := fieldOf(member, name); known {
			return child, true
		}
	}
	return nil, false
}

// itemsOf returns the schema of the elements of a list.
func itemsOf(n *schema.Node) *schema.Node {
	if n == nil {
		return nil
	}
	if n.Items != nil {
		return n.Items
	}
	for _, member := range n.Union {
		if member != nil && member.Items != nil {
			return member.Items
		}
	}
	return nil
}

// fieldNamesOf lists the fields that an object is known to have.
func fieldNamesOf(n *schema.Node) []string {
	if n == nil {
		return nil
	}
	names := sortedKeys(n.Properties)
	for _, member := range n.Union {
		if member != nil {
			names = append(names, sortedKeys(member.Properties)...)
		}
	}
	return names
}
