package simpleschema

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/utils/ptr"
)

// maxNodes bounds the size of a schema with all named types put in place. Types that use each other several times double it at every step; far below
// this bound the CRD no longer fits into etcd.
const maxNodes = 50_000

// Fault is one thing that is wrong in a schema.
type Fault struct {
	// Path is where in spec.schema: "spec.ingress.host", "types.Port".
	Path string
	// Message says what is wrong.
	Message string
	// Hint says what would be right, where that can be guessed.
	Hint string
}

// Error gives path, message and hint in one line.
func (f Fault) Error() string {
	text := f.Path + ": " + f.Message
	if f.Hint != "" {
		text += " (" + f.Hint + ")"
	}
	return text
}

// Build gives the schema of an instance's spec, and all faults: those of spec before those of types, each in the order of field names.
//
// The schema is never nil. A field whose type is not known takes any value, so that whoever goes on to check expressions against the schema finds further
// mistakes and none that only follow from these. Parts of the schema may be shared between fields: copy it before changing it.
func Build(spec, types map[string]any) (*apiextensionsv1.JSONSchemaProps, []Fault) {
	b := newBuilder(types)
	b.resolveAll()
	root := b.structure("spec", spec)
	if len(b.faults) == 0 && b.typeFaults() == nil {
		b.checkRules("spec", root.schema)
	}
	return root.schema, append(b.faults, b.typeFaults()...)
}

// builder holds the named types and the faults found so far.
type builder struct {
	types    map[string]*namedType
	faults   []Fault
	compiled compilations
	// within names the types being built, outermost first; empty while spec is built.
	within []string
}

// built is the schema of one field and what the text of the field says about the object around it.
type built struct {
	schema *apiextensionsv1.JSONSchemaProps
	// required is set when the object around the field must have it.
	required bool
	// broken is set when a part of the schema is not what the author meant, because of a fault already reported.
	broken bool
	// size is the number of schema nodes.
	size int
}

func anything() built {
	return built{schema: &apiextensionsv1.JSONSchemaProps{XPreserveUnknownFields: ptr.To(true)}, broken: true, size: 1}
}

func (b *builder) fault(path, message, hint string) {
	b.faults = append(b.faults, Fault{Path: path, Message: message, Hint: hint})
}

// value builds the schema of whatever stands at a field's place.
func (b *builder) value(path string, v any) built {
	switch v := v.(type) {
	case string:
		return b.text(path, v)
	case map[string]any:
		return b.structure(path, v)
	}
	b.fault(path, fmt.Sprintf("unexpected type: %T", v), hintForValue(v))
	return anything()
}

// structure builds an object from a map of fields.
func (b *builder) structure(path string, fields map[string]any) built {
	before := len(b.faults)
	s := &apiextensionsv1.JSONSchemaProps{Type: "object"}
	size := 1
	hasDefault, broken := false, false
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		field := b.value(join(path, name), fields[name])
		if s.Properties == nil {
			s.Properties = make(map[string]apiextensionsv1.JSONSchemaProps, len(fields))
		}
		if size+field.size > maxNodes {
			b.fault(path, fmt.Sprintf("the schema has more than %d fields once its types are put in place", maxNodes), "")
			return anything()
		}
		size += field.size
		broken = broken || field.broken
		s.Properties[name] = *field.schema
		if field.required {
			s.Required = append(s.Required, name)
		}
		hasDefault = hasDefault || field.schema.Default != nil
	}
	// An object that may be left out must still appear, or the defaults inside it would never apply. One with required fields cannot: {} would be invalid.
	if hasDefault && len(s.Required) == 0 {
		s.Default = &apiextensionsv1.JSON{Raw: []byte("{}")}
	}
	b.hintOpenAPI(fields, before)
	return built{schema: s, broken: broken, size: size}
}

// text builds the schema of a field string: a type, and markers behind the first bar.
func (b *builder) text(path, text string) built {
	typeText, markerText, hasMarkers := strings.Cut(text, "|")
	field := b.typed(path, typeText)
	if !hasMarkers {
		return field
	}
	markers, err := lexMarkers(markerText)
	if err != nil {
		b.fault(path, err.Error(), hintForLexError(markerText))
		field.broken = true
		return field
	}
	before := len(b.faults)
	// The schema of a named type is shared by all its uses; markers go into a copy of its top.
	s := *field.schema
	cloneSlices(&s)
	field.schema = &s
	for _, m := range markers {
		b.mark(path, &field, m)
	}
	field.broken = field.broken || len(b.faults) > before
	if !field.broken {
		b.check(path, field.schema)
	}
	return field
}

// typed builds the schema of the type text of a field.
func (b *builder) typed(path, text string) built {
	e, err := parseType(text)
	if err != nil {
		b.fault(path, err.Error(), "")
		return anything()
	}
	field := b.expand(path, e)
	if field.size > maxNodes {
		b.fault(path, fmt.Sprintf("the schema has more than %d fields once its types are put in place", maxNodes), "")
		return anything()
	}
	return field
}

// expand builds the schema of a type expression.
func (b *builder) expand(path string, e *expression) built {
	switch e.form {
	case listForm:
		item := b.expand(path, e.element)
		return built{
			schema: &apiextensionsv1.JSONSchemaProps{Type: "array", Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: item.schema}},
			broken: item.broken, size: item.size + 1,
		}
	case mapForm:
		item := b.expand(path, e.element)
		return built{
			schema: &apiextensionsv1.JSONSchemaProps{
				Type:                 "object",
				AdditionalProperties: &apiextensionsv1.JSONSchemaPropsOrBool{Allows: true, Schema: item.schema},
			},
			broken: item.broken, size: item.size + 1,
		}
	}
	if s, ok := builtin(e.name); ok {
		return built{schema: s, size: 1}
	}
	return b.named(path, e.name)
}

// builtin gives the schema of a type that SimpleSchema itself knows.
func builtin(name string) (*apiextensionsv1.JSONSchemaProps, bool) {
	switch name {
	case "string", "integer", "boolean":
		return &apiextensionsv1.JSONSchemaProps{Type: name}, true
	case "float":
		return &apiextensionsv1.JSONSchemaProps{Type: "number"}, true
	case "object":
		return &apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: ptr.To(true)}, true
	}
	return nil, false
}

var plainName = regexp.MustCompile(`^[^.\[\]"]+$`)

// join writes the path of a field: a.b, or a["x.y"] for names that would not read as one.
func join(path, name string) string {
	if !plainName.MatchString(name) {
		return path + "[" + strconv.Quote(name) + "]"
	}
	return path + "." + name
}
