package simpleschema

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// This file knows what people write when they mean something that SimpleSchema has under another name, from other schema languages and from older documentation.

// typeNames maps type words of other languages to those of SimpleSchema.
var typeNames = map[string]string{
	"double": "float", "number": "float", "float32": "float", "float64": "float", "decimal": "float",
	"int": "integer", "int32": "integer", "int64": "integer", "long": "integer", "uint": "integer",
	"bool": "boolean", "str": "string", "text": "string",
	"any": "object", "dict": "map[string]string", "map": "map[string]string", "array": "[]string", "list": "[]string",
}

// markerNames maps marker words of other languages to those of SimpleSchema.
var markerNames = map[string]string{
	"min": "minimum", "max": "maximum", "gte": "minimum", "lte": "maximum",
	"minlen": "minLength", "maxlen": "maxLength", "unique": "uniqueItems", "regex": "pattern", "regexp": "pattern",
	"desc": "description", "doc": "description", "rule": "validation", "cel": "validation", "oneof": "enum", "values": "enum",
}

var builtinTypes = []string{"string", "integer", "boolean", "float", "object"}

// hintForType guesses which type was meant.
func hintForType(name string, types map[string]*namedType) string {
	if word, _, spaced := strings.Cut(name, " "); spaced {
		return fmt.Sprintf("markers follow a bar: %s | %s", word, strings.TrimSpace(strings.TrimPrefix(name, word)))
	}
	known := append(slices.Clone(builtinTypes), slices.Sorted(maps.Keys(types))...)
	if i := slices.IndexFunc(known, func(k string) bool { return strings.EqualFold(k, name) }); i >= 0 {
		return "did you mean " + known[i] + "?"
	}
	if right, ok := typeNames[strings.ToLower(name)]; ok {
		return "use " + right
	}
	if strings.HasPrefix(name, "list<") || strings.HasPrefix(name, "array<") || strings.HasSuffix(name, "[]") {
		return "write a list as []T"
	}
	return "the types are " + strings.Join(builtinTypes, ", ") + ", []T, map[string]T and those declared under types"
}

// hintForMarker guesses which marker was meant.
func hintForMarker(m marker) string {
	if key, ok := strings.CutPrefix(m.key, "|"); ok {
		return fmt.Sprintf("only the first | separates the type from its markers; between markers a blank is enough: string | required=true %s=%s", key, m.value)
	}
	for known := range maps.Keys(markers) {
		if strings.EqualFold(known, m.key) {
			return "did you mean " + known + "?"
		}
	}
	if right, ok := markerNames[strings.ToLower(m.key)]; ok {
		return fmt.Sprintf("use %s=%s", right, m.value)
	}
	switch m.key {
	case "optional":
		return "fields are optional unless required=true is given"
	case "nullable":
		return "leave an optional field out instead of setting it to null"
	case "format":
		return "use pattern or validation"
	}
	return "the markers are " + strings.Join(slices.Sorted(maps.Keys(markers)), ", ")
}

// hintForLexError guesses what is wrong with markers that could not be told apart.
func hintForLexError(text string) string {
	if strings.TrimSpace(text) == "" {
		return "a marker such as required=true follows the bar; without markers leave the bar out"
	}
	return "markers are key=value separated by blanks; a value with blanks is written in quotes, as in description=\"two words\""
}

// hintForValue says what to write in the place of a value that is neither text nor map.
func hintForValue(v any) string {
	if list, ok := v.([]any); ok && len(list) == 1 {
		if item, ok := list[0].(string); ok {
			return fmt.Sprintf("write a list as '[]%s'", item)
		}
	}
	return "a field is a type, such as 'string' or 'integer | default=3', or a map of fields"
}

// openAPIWords are field names that tell OpenAPI from a struct that happens to have a field named type.
var openAPIWords = []string{
	"additionalProperties", "default", "description", "enum", "format", "items", "maxItems", "maxLength", "maximum", "minItems", "minLength", "minimum",
	"nullable", "pattern", "properties", "required", "x-kubernetes-preserve-unknown-fields",
}

// hintOpenAPI recognises {type: string, description: …}: OpenAPI where a field string is due. Faults at and below the map, from index before on, get the hint.
func (b *builder) hintOpenAPI(fields map[string]any, before int) {
	kind, ok := fields["type"].(string)
	if !ok || before == len(b.faults) {
		return
	}
	isWord := slices.Contains([]string{"string", "integer", "number", "boolean", "object", "array"}, strings.TrimSpace(kind))
	hasWord := kind == "array" || slices.ContainsFunc(openAPIWords, func(word string) bool { _, has := fields[word]; return has })
	if !isWord || !hasWord {
		return
	}
	for i := before; i < len(b.faults); i++ {
		b.faults[i].Hint = "this looks like OpenAPI; SimpleSchema is " + simpleForm(kind)
	}
}

// simpleForm shows how a field of an OpenAPI type is written.
func simpleForm(kind string) string {
	switch kind {
	case "object":
		return "a map of the fields themselves, without type and properties"
	case "array":
		return "one text for a list: '[]string | description=\"…\"'"
	case "number":
		kind = "float"
	}
	return fmt.Sprintf("one text for a field: '%s | description=\"…\"'", kind)
}
