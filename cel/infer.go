package cel

import (
	celgo "github.com/google/cel-go/cel"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"kro.run/kro/schema"
)

// Schema infers the schema of a status field from the type of its expression. Structs are spelled out; objects with unknown fields stay open; an optional
// is its value; where a recursive type meets itself again, anything is allowed.
func (t *Types) Schema(typ *celgo.Type) *apiextensionsv1.JSONSchemaProps {
	i := inference{types: t, within: map[*schema.Node]bool{}}
	return i.of(typ)
}

type inference struct {
	types *Types
	// within holds the structs around the current position.
	within map[*schema.Node]bool
}

func (i *inference) of(typ *celgo.Type) *apiextensionsv1.JSONSchemaProps {
	switch typ.Kind() {
	case celgo.BoolKind:
		return &apiextensionsv1.JSONSchemaProps{Type: "boolean"}
	case celgo.IntKind, celgo.UintKind:
		return &apiextensionsv1.JSONSchemaProps{Type: "integer"}
	case celgo.DoubleKind:
		return &apiextensionsv1.JSONSchemaProps{Type: "number"}
	case celgo.StringKind:
		return &apiextensionsv1.JSONSchemaProps{Type: "string"}
	case celgo.BytesKind:
		return &apiextensionsv1.JSONSchemaProps{Type: "string", Format: "byte"}
	case celgo.TimestampKind:
		return &apiextensionsv1.JSONSchemaProps{Type: "string", Format: "date-time", Description: "Timestamp representing a creation time"}
	case celgo.NullTypeKind:
		return anything("null type - any value allowed")
	case celgo.DynKind:
		if isOpen(typ) {
			return openObject()
		}
		return anything("")
	case celgo.ListKind:
		return &apiextensionsv1.JSONSchemaProps{Type: "array", Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: i.of(typ.Parameters()[0])}}
	case celgo.MapKind:
		return &apiextensionsv1.JSONSchemaProps{
			Type:                 "object",
			AdditionalProperties: &apiextensionsv1.JSONSchemaPropsOrBool{Allows: true, Schema: i.of(typ.Parameters()[1])},
		}
	case celgo.StructKind:
		return i.object(typ)
	}
	if value, ok := optional(typ); ok {
		return i.of(value)
	}
	return anything("unknown CEL type: " + FormatType(typ))
}

// object spells out a struct. One that no schema stands behind, such as a quantity, is some object.
func (i *inference) object(typ *celgo.Type) *apiextensionsv1.JSONSchemaProps {
	n := i.types.Node(typ)
	if n == nil {
		return &apiextensionsv1.JSONSchemaProps{Type: "object", AdditionalProperties: &apiextensionsv1.JSONSchemaPropsOrBool{Allows: true}}
	}
	if i.within[n] {
		return anything("")
	}
	i.within[n] = true
	defer delete(i.within, n)
	out := &apiextensionsv1.JSONSchemaProps{Type: "object"}
	if open(n) {
		out.XPreserveUnknownFields = yes()
	}
	for _, name := range fieldNames(n) {
		if out.Properties == nil {
			out.Properties = map[string]apiextensionsv1.JSONSchemaProps{}
		}
		out.Properties[name] = *i.field(typ, name)
	}
	return out
}

// field infers a field of a struct. Times and other leaves that are no plain scalars take anything there: generated CRDs have always said so,
// and a narrower schema now would be a breaking change for the instances that exist.
func (i *inference) field(typ *celgo.Type, name string) *apiextensionsv1.JSONSchemaProps {
	field, ok := i.types.field(i.types.lookup(typ.TypeName()), name)
	if !ok {
		return anything("")
	}
	switch field.Kind() {
	case celgo.TimestampKind, celgo.DurationKind:
		return anything("")
	}
	return i.of(field)
}

func anything(description string) *apiextensionsv1.JSONSchemaProps {
	return &apiextensionsv1.JSONSchemaProps{Description: description, XPreserveUnknownFields: yes()}
}

func openObject() *apiextensionsv1.JSONSchemaProps {
	return &apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: yes()}
}

func yes() *bool {
	v := true
	return &v
}
