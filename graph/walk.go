package graph

import (
	"fmt"
	"slices"
	"strings"

	"kro.run/kro/cel"
	"kro.run/kro/schema"
)

// walker reads a part of the document along the schema that the part must have: it checks literals, collects
// expressions, and builds the Value.
type walker struct {
	c    *compiler
	role role
	at   place
	// root is the path of the part in the document.
	root string
	// attempt begins every message.
	attempt string
	// refuse, when set, says why an expression must not stand at a path, "" when it may.
	refuse func(path string) string

	sites []*site
}

// walk reads one value. Ordinals follow the walk, which takes the keys of a map in alphabetical order: the order of a
// document that went through the API server.
func (w *walker) walk(value any, n *schema.Node, path string) *Value {
	w.at.ordinal++
	n = narrow(n)
	if text, isText := value.(string); isText {
		return w.text(text, n, path)
	}
	if n != nil && !accepts(n, value) {
		w.mistyped(n, path, jsonType(value))
		return literalValue(value)
	}
	switch value := value.(type) {
	case map[string]any:
		return w.object(value, n, path)
	case []any:
		return w.list(value, n, path)
	}
	return literalValue(value)
}

func (w *walker) object(object map[string]any, n *schema.Node, path string) *Value {
	fields := make([]valueField, 0, len(object))
	for _, name := range sortedKeys(object) {
		if w.computes(name) {
			fields = append(fields, w.computed(name, object[name], n, path))
			continue
		}
		child, known := fieldOf(n, name)
		at := joinField(path, name)
		if !known {
			w.at.ordinal++
			shown := at
			if path == "" {
				shown = "." + at
			}
			w.fault(at, fmt.Sprintf("error getting field schema for path %s: schema not found for field %s", shown, name),
				didYouMean(name, fieldNamesOf(n)))
			continue
		}
		fields = append(fields, valueField{name: name, value: w.walk(object[name], child, at)})
	}
	return mapValue(object, fields)
}

func (w *walker) list(list []any, n *schema.Node, path string) *Value {
	items := make([]*Value, len(list))
	for i, item := range list {
		items[i] = w.walk(item, itemsOf(n), joinIndex(path, i))
	}
	return listValue(list, items)
}

// text reads a string, which may be or hold expressions. An expression that is the whole string may be of any type; its
// type is checked against the field later. Text around an expression makes the value text.
func (w *walker) text(text string, n *schema.Node, path string) *Value {
	segments, err := cel.Scan(text)
	if err != nil {
		w.fault(path, fmt.Sprintf("failed to parse %q at path %q: %s", text, path, err), "")
		return literalValue(text)
	}
	whole := cel.Standalone(segments)
	if n != nil && !whole && !accepts(n, text) {
		w.mistyped(n, path, "string")
		return literalValue(text)
	}
	if !cel.HasExpression(segments) {
		return literalValue(text)
	}
	if w.refuse != nil {
		if why := w.refuse(path); why != "" {
			w.fault(path, why, "")
			return literalValue(text)
		}
	}
	value := &Value{path: path, target: n}
	w.site(w.role, path, segments, value)
	return value
}

// site notes an expression that gives a value.
func (w *walker) site(r role, path string, segments []cel.Segment, value *Value) {
	s := &site{role: r, at: w.at, path: path, text: cel.Join(segments), joined: !cel.Standalone(segments), target: value.target, value: value}
	for _, segment := range segments {
		if s.joined && segment.Expression {
			s.pieces = append(s.pieces, segment.Text)
		}
	}
	s.at.path = joinPath(w.root, path)
	w.sites = append(w.sites, s)
}

func (w *walker) mistyped(n *schema.Node, path, got string) {
	hint := ""
	if got == "boolean" && slices.Contains(types(n), "string") {
		hint = yamlBooleanHint
	}
	w.fault(path, fmt.Sprintf("expected %s type for path %s, got %s", strings.Join(types(n), " or "), path, got), hint)
}

func (w *walker) fault(path, message, hint string) {
	at := w.at
	at.path = joinPath(w.root, path)
	w.c.report(at, Diagnostic{Code: CodeLiteral, Message: w.attempt + message, Hint: hint})
}
