package simpleschema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// mark puts one marker into a field, or reports why it cannot.
func (b *builder) mark(path string, field *built, m marker) {
	apply, known := markers[m.key]
	if !known {
		b.fault(path, fmt.Sprintf("invalid marker key %q: unknown marker: %s", m.key, m.key), hintForMarker(m))
		return
	}
	// What a marker means depends on the type; without one there is nothing to say that the unknown type does not say already.
	if field.schema.Type == "" {
		return
	}
	if err := apply(field, m.value); err != nil {
		b.fault(path, err.Error(), "")
	}
}

// markers are the markers that there are.
var markers = map[string]func(*built, string) error{
	"required":    markRequired,
	"default":     onSchema(markDefault),
	"description": onSchema(markDescription),
	"minimum":     onSchema(markMinimum),
	"maximum":     onSchema(markMaximum),
	"enum":        onSchema(markEnum),
	"validation":  onSchema(markValidation),
	"immutable":   onSchema(markImmutable),
	"pattern":     onSchema(markPattern),
	"minLength":   count("minLength", "string", func(s *apiextensionsv1.JSONSchemaProps, n *int64) { s.MinLength = n }),
	"maxLength":   count("maxLength", "string", func(s *apiextensionsv1.JSONSchemaProps, n *int64) { s.MaxLength = n }),
	"minItems":    count("minItems", "array", func(s *apiextensionsv1.JSONSchemaProps, n *int64) { s.MinItems = n }),
	"maxItems":    count("maxItems", "array", func(s *apiextensionsv1.JSONSchemaProps, n *int64) { s.MaxItems = n }),
	"uniqueItems": onSchema(markUniqueItems),
	"listType":    onSchema(markListType),
	"listMapKey":  onSchema(markListMapKey),
}

func onSchema(apply func(*apiextensionsv1.JSONSchemaProps, string) error) func(*built, string) error {
	return func(field *built, value string) error { return apply(field.schema, value) }
}

// markRequired never takes back what a named type asks for: required=false on a required type leaves the field required.
func markRequired(field *built, value string) error {
	required, err := strconv.ParseBool(value)
	if err != nil {
		return fmt.Errorf("failed to parse required marker value: %w", err)
	}
	field.required = field.required || required
	return nil
}

func markDescription(s *apiextensionsv1.JSONSchemaProps, value string) error {
	s.Description = value
	return nil
}

func markDefault(s *apiextensionsv1.JSONSchemaProps, value string) error {
	raw, err := defaultValue(s.Type, value)
	if err != nil {
		return err
	}
	s.Default = &apiextensionsv1.JSON{Raw: raw}
	// The API server reads a null default as none.
	if string(raw) == "null" {
		s.Default = nil
	}
	return nil
}

// defaultValue writes a default as JSON. Numbers and booleans that Go reads and JSON does not (T, 007, .5) become what they mean.
func defaultValue(kind, value string) ([]byte, error) {
	switch kind {
	case "string":
		return encode(value)
	case "integer":
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("default value must be a valid integer, got: %s", value)
		}
		return strconv.AppendInt(nil, n, 10), nil
	case "number":
		n, err := strconv.ParseFloat(value, 64)
		if err != nil || math.IsInf(n, 0) || math.IsNaN(n) {
			return nil, fmt.Errorf("default value must be a valid number, got: %s", value)
		}
		if json.Valid([]byte(value)) {
			return []byte(value), nil
		}
		return encode(n)
	case "boolean":
		on, err := strconv.ParseBool(value)
		if err != nil {
			return nil, fmt.Errorf("default value must be a valid boolean, got: %s", value)
		}
		return strconv.AppendBool(nil, on), nil
	}
	if !json.Valid([]byte(value)) {
		return nil, fmt.Errorf("default value of type %s must be valid JSON, got: %s", kind, value)
	}
	return []byte(value), nil
}

// encode writes JSON as it is usually written: < > & stay what they are.
func encode(v any) ([]byte, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSpace(out.Bytes()), nil
}

// markMinimum takes bounds on any type. On strings they have no effect; refusing them would refuse definitions that other releases accept.
func markMinimum(s *apiextensionsv1.JSONSchemaProps, value string) error {
	n, err := bound(value)
	if err != nil {
		return fmt.Errorf("failed to parse minimum enum value: %w", err)
	}
	s.Minimum = n
	return nil
}

func markMaximum(s *apiextensionsv1.JSONSchemaProps, value string) error {
	n, err := bound(value)
	if err != nil {
		return fmt.Errorf("failed to parse maximum enum value: %w", err)
	}
	s.Maximum = n
	return nil
}

func bound(value string) (*float64, error) {
	n, err := strconv.ParseFloat(value, 64)
	if err != nil {
		return nil, err
	}
	if math.IsInf(n, 0) || math.IsNaN(n) {
		return nil, fmt.Errorf("%q is not a finite number", value)
	}
	return &n, nil
}

func markEnum(s *apiextensionsv1.JSONSchemaProps, value string) error {
	if s.Type != "string" && s.Type != "integer" {
		return fmt.Errorf("enum values only supported for string and integer types, got type: %s", s.Type)
	}
	var enum []apiextensionsv1.JSON
	for text := range strings.SplitSeq(value, ",") {
		text = strings.TrimSpace(text)
		if text == "" {
			return errors.New("empty enum values are not allowed")
		}
		raw, err := encode(text)
		if s.Type == "integer" {
			var n int64
			if n, err = strconv.ParseInt(text, 10, 64); err != nil {
				return fmt.Errorf("failed to parse integer enum value: %w", err)
			}
			raw = strconv.AppendInt(nil, n, 10)
		}
		if err != nil {
			return err
		}
		enum = append(enum, apiextensionsv1.JSON{Raw: raw})
	}
	s.Enum = enum
	return nil
}

func markValidation(s *apiextensionsv1.JSONSchemaProps, value string) error {
	if strings.TrimSpace(value) == "" {
		return errors.New("validation failed: the rule is empty")
	}
	s.XValidations = append(s.XValidations, apiextensionsv1.ValidationRule{Rule: value, Message: "validation failed"})
	return nil
}

func markImmutable(s *apiextensionsv1.JSONSchemaProps, value string) error {
	immutable, err := strconv.ParseBool(value)
	if err != nil {
		return fmt.Errorf("failed to parse immutable marker value: %w", err)
	}
	if immutable {
		s.XValidations = append(s.XValidations, apiextensionsv1.ValidationRule{Rule: "self == oldSelf", Message: "field is immutable"})
	}
	return nil
}

func markPattern(s *apiextensionsv1.JSONSchemaProps, value string) error {
	if value == "" {
		return errors.New("pattern marker value cannot be empty")
	}
	if s.Type != "string" {
		return fmt.Errorf("pattern marker is only valid for string types, got type: %s", s.Type)
	}
	if _, err := regexp.Compile(value); err != nil {
		return fmt.Errorf("invalid pattern regex: %w", err)
	}
	s.Pattern = value
	return nil
}

// count makes the marker of a length or a number of items.
func count(key, kind string, set func(*apiextensionsv1.JSONSchemaProps, *int64)) func(*built, string) error {
	return func(field *built, value string) error {
		if field.schema.Type != kind {
			return fmt.Errorf("%s marker is only valid for %s types, got type: %s", key, kind, field.schema.Type)
		}
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil {
			return fmt.Errorf("failed to parse %s value: %w", key, err)
		}
		set(field.schema, &n)
		return nil
	}
}

// markUniqueItems means a set to the API server: its own uniqueItems is refused in CRDs.
func markUniqueItems(s *apiextensionsv1.JSONSchemaProps, value string) error {
	if s.Type != "array" {
		return fmt.Errorf("uniqueItems marker is only valid for array types, got type: %s", s.Type)
	}
	unique, err := strconv.ParseBool(value)
	if err != nil {
		return fmt.Errorf("failed to parse uniqueItems marker value: %w", err)
	}
	if !unique {
		return nil
	}
	if s.XListType != nil && *s.XListType != listSet {
		return fmt.Errorf("cannot set unique when listType is set to %s", *s.XListType)
	}
	set := listSet
	s.XListType = &set
	return nil
}

// The values of listType.
const (
	listAtomic = "atomic"
	listSet    = "set"
	listMap    = "map"
)

func markListType(s *apiextensionsv1.JSONSchemaProps, value string) error {
	if s.Type != "array" {
		return errors.New("listType marker only applies to array types")
	}
	if value != listAtomic && value != listSet && value != listMap {
		return fmt.Errorf("unsupported value for listType %s, needs to be one of atomic, set, or map", value)
	}
	if s.XListType != nil && *s.XListType != value {
		return fmt.Errorf("listType attempting to overwrite set type of %s, this can happen if you set contradictory markers like unique=true | listType=map", *s.XListType)
	}
	s.XListType = &value
	return nil
}

// markListMapKey does not ask for listType=map yet: it may follow. check does.
func markListMapKey(s *apiextensionsv1.JSONSchemaProps, value string) error {
	if slices.Contains(s.XListMapKeys, value) {
		return fmt.Errorf("duplicate listMapKey marker, value %s", value)
	}
	s.XListMapKeys = append(s.XListMapKeys, value)
	return nil
}
