package graph

import (
	"fmt"
	"strings"

	"kro.run/kro/cel"
	"kro.run/kro/schema"
)

// Keys of maps may be expressions (KREP-020), where the map takes any key: what fields a struct has is no matter of data.

// keySchema is what a computed key must be: text, or nothing, which drops the entry.
var keySchema = &schema.Node{Type: "string", Nullable: true}

// computes tells whether a key is to be computed.
func (w *walker) computes(name string) bool {
	return strings.Contains(name, "${") && (w.role == roleTemplate || w.role == roleDefinition)
}

// computed reads an entry with a computed key.
func (w *walker) computed(name string, value any, n *schema.Node, path string) valueField {
	w.at.ordinal++
	at := joinField(path, name)
	child, problem := entryOf(n)
	if path == "" && w.role == roleTemplate {
		problem = "the fields of an object itself cannot be computed"
	}
	if problem == "" && w.refuse != nil {
		problem = w.refuse(at)
	}
	if problem != "" {
		w.fault(at, fmt.Sprintf("computed key %q at path %q: %s", name, path, problem), "a key can be computed in a map, such as labels or data")
		return valueField{name: name, value: literalValue(nil)}
	}
	field := valueField{name: name, key: w.key(name, at)}
	field.value = w.walk(value, child, at)
	return field
}

// key reads the expression of a key.
func (w *walker) key(name, path string) *Value {
	segments, err := cel.Scan(name)
	if err != nil {
		w.fault(path, fmt.Sprintf("failed to parse the key %q: %s", name, err), "")
		return literalValue(name)
	}
	key := &Value{path: path, target: keySchema}
	w.site(roleKey, path, segments, key)
	return key
}

// entryOf is the schema of an entry of any key; problem says why an object has no such entries.
func entryOf(n *schema.Node) (entry *schema.Node, problem string) {
	switch n = narrow(n); {
	case n == nil, n.AdditionalProperties == nil && isOpenNode(n):
		return nil, ""
	case n.AdditionalProperties != nil:
		return n.AdditionalProperties, ""
	}
	return nil, "the object has fixed fields"
}
