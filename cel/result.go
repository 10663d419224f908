package cel

import (
	"fmt"

	celgo "github.com/google/cel-go/cel"

	"kro.run/kro/schema"
)

// Result gives the schema of what ToJSON makes of a value of this type, such that reading it by that schema gives the type again as nearly as JSON allows: structs
// keep the schema they were declared from, times and bytes their format, an optional is its value. What is not known is a schema that allows anything. The error
// says that values of the type have no JSON form.
func (t *Types) Result(typ *celgo.Type) (*schema.Node, error) {
	switch typ.Kind() {
	case celgo.BoolKind:
		return &schema.Node{Type: "boolean"}, nil
	case celgo.IntKind, celgo.UintKind:
		return &schema.Node{Type: "integer"}, nil
	case celgo.DoubleKind:
		return &schema.Node{Type: "number"}, nil
	case celgo.StringKind:
		return &schema.Node{Type: "string"}, nil
	case celgo.BytesKind:
		return &schema.Node{Type: "string", Format: "byte"}, nil
	case celgo.TimestampKind:
		return &schema.Node{Type: "string", Format: "date-time"}, nil
	case celgo.DurationKind:
		return &schema.Node{Type: "string", Format: "duration"}, nil
	case celgo.NullTypeKind:
		return &schema.Node{PreserveUnknown: true}, nil
	case celgo.DynKind:
		if isOpen(typ) {
			return &schema.Node{Type: "object", PreserveUnknown: true}, nil
		}
		return &schema.Node{PreserveUnknown: true}, nil
	case celgo.ListKind:
		items, err := t.Result(typ.Parameters()[0])
		return &schema.Node{Type: "array", Items: items}, err
	case celgo.MapKind:
		return t.mapResult(typ)
	}
	if n := t.Node(typ); n != nil {
		return n, nil
	}
	if value, ok := optional(typ); ok {
		return t.Result(value)
	}
	return &schema.Node{PreserveUnknown: true}, fmt.Errorf("values of type %q have no JSON form", FormatType(typ))
}

func (t *Types) mapResult(typ *celgo.Type) (*schema.Node, error) {
	key := typ.Parameters()[0]
	if key.Kind() != celgo.StringKind && key.Kind() != celgo.DynKind {
		return &schema.Node{Type: "object", PreserveUnknown: true}, fmt.Errorf("map keys must be strings, got %q", FormatType(key))
	}
	values, err := t.Result(typ.Parameters()[1])
	return &schema.Node{Type: "object", AdditionalProperties: values}, err
}
