package cel

import (
	"fmt"

	celgo "github.com/google/cel-go/cel"

	"kro.run/kro/schema"
)

// AssignError says why a value does not fit a field.
type AssignError struct {
	// Path of the field that was to be filled.
	Path string
	// From and To are the types as authors read them.
	From, To string
	// Detail says which part does not fit, for example `list element type incompatible: …`.
	Detail string
}

// Error gives `returns type "<from>" but expected "<to>": <detail>`.
func (e *AssignError) Error() string {
	return fmt.Sprintf("returns type %q but expected %q: %s", e.From, e.To, e.Detail)
}

// FormatType writes a type as authors read it.
func FormatType(t *celgo.Type) string {
	if isOpen(t) {
		return "object"
	}
	return celgo.FormatCELType(t)
}

// Assignable says whether a value of a type may fill a field: nil, or an *AssignError. Structs and maps are compared by what they hold, not by name. dyn fits
// everywhere, an optional fits as its value does (an absent one becomes null), bytes and text both fit fields of format byte, and text fits times and
// durations. A field without a schema takes anything.
func (t *Types) Assignable(from *celgo.Type, to *schema.Node, path string) error {
	return t.fits(&literal{typ: from}, to, path)
}

// AssignableTo is Types.Assignable for the result of the expression. It looks into map, list and ternary literals, so that each part is held against
// the very field it fills.
func (x *Expression) AssignableTo(t *Types, to *schema.Node, path string) error {
	return t.fits(x.literal, to, path)
}

func (t *Types) fits(from *literal, to *schema.Node, path string) error {
	a := assignment{types: t, path: path, comparing: map[pair]bool{}}
	detail := a.literal(from, to)
	if detail == "" {
		return nil
	}
	return &AssignError{Path: path, From: FormatType(from.typ), To: a.name(to), Detail: detail}
}

// assignment compares one value with one field. Its methods give the detail of the first difference, or the empty string.
type assignment struct {
	types     *Types
	path      string
	comparing map[pair]bool
}

// name gives the type of a field as authors read it.
func (a *assignment) name(to *schema.Node) string {
	if kindOf(to) == kindScalar {
		return "int or string"
	}
	return FormatType(a.types.Declare(a.path, to))
}

func (a *assignment) mismatch(from *celgo.Type, to *schema.Node) string {
	return fmt.Sprintf("type kind mismatch: got %q, expected %q", FormatType(from), a.name(to))
}

func (a *assignment) literal(from *literal, to *schema.Node) string {
	for _, branch := range from.branches {
		if branch.isNull() && !from.isNull() {
			continue
		}
		if detail := a.literal(branch, to); detail != "" {
			return detail
		}
	}
	if len(from.branches) > 0 {
		return ""
	}
	switch k := kindOf(to); {
	case from.isList && k == kindList:
		for _, elem := range from.elems {
			if detail := a.literal(elem, to.Items); detail != "" {
				return "list element type incompatible: " + detail
			}
		}
		return ""
	case from.isMap && k == kindMap:
		for _, f := range from.fields {
			if f.value.isNull() && !from.onlyNulls() {
				continue
			}
			if detail := a.literal(f.value, to.AdditionalProperties); detail != "" {
				return "map value type incompatible: " + detail
			}
		}
		return ""
	case from.isMap && k == kindStruct && len(to.Properties) > 0:
		return a.fields(from, to)
	}
	return a.value(from.typ, to)
}

func (a *assignment) fields(from *literal, to *schema.Node) string {
	for _, f := range from.fields {
		child, ok := target(to, f.name)
		if !ok {
			return fmt.Sprintf("field %q exists in output but not in expected type", f.name)
		}
		if f.value.isNull() && !from.onlyNulls() {
			continue
		}
		if detail := a.literal(f.value, child); detail != "" {
			return fmt.Sprintf("field %q has incompatible type: %s", f.name, detail)
		}
	}
	return ""
}

// target gives the schema of a field that is to be filled. Unlike reading, filling may name fields whose type is not known.
func target(n *schema.Node, name string) (*schema.Node, bool) {
	if child, ok := n.Properties[name]; ok {
		return child, true
	}
	return n.AdditionalProperties, n.AdditionalProperties != nil || open(n)
}

func (a *assignment) value(from *celgo.Type, to *schema.Node) string {
	if value, ok := optional(from); ok {
		return a.value(value, to)
	}
	k := kindOf(to)
	switch {
	case from.Kind() == celgo.DynKind && !isOpen(from), k == kindDyn, k == kindHidden:
		return ""
	case from.Kind() == celgo.NullTypeKind && to.Nullable:
		return ""
	case k == kindScalar:
		return a.scalar(from, to)
	case k == kindOpen:
		return a.open(from, to)
	case k == kindStruct:
		return a.toStruct(from, to)
	case k == kindMap:
		return a.toMap(from, to)
	case k == kindList:
		if from.Kind() != celgo.ListKind {
			return a.mismatch(from, to)
		}
		if detail := a.value(from.Parameters()[0], to.Items); detail != "" {
			return "list element type incompatible: " + detail
		}
		return ""
	}
	return a.plain(from, to)
}

// plain compares with text, numbers and booleans.
func (a *assignment) plain(from *celgo.Type, to *schema.Node) string {
	if from.Kind() == a.types.Declare(a.path, to).Kind() {
		return ""
	}
	if from.Kind() == celgo.StringKind {
		switch kindOf(to) {
		case kindBytes, kindDate, kindTimestamp, kindDuration:
			return ""
		}
	}
	return a.mismatch(from, to)
}

// scalar takes what may turn out to be a number or text.
func (a *assignment) scalar(from *celgo.Type, to *schema.Node) string {
	switch from.Kind() {
	case celgo.IntKind, celgo.UintKind, celgo.DoubleKind, celgo.StringKind:
		return ""
	}
	return a.mismatch(from, to)
}

func (a *assignment) open(from *celgo.Type, to *schema.Node) string {
	if from.Kind() == celgo.StructKind || isOpen(from) {
		return ""
	}
	if from.Kind() != celgo.MapKind {
		return a.mismatch(from, to)
	}
	return textKeys(from)
}

func textKeys(from *celgo.Type) string {
	key := from.Parameters()[0]
	if key.Kind() == celgo.StringKind || key.Kind() == celgo.DynKind {
		return ""
	}
	return fmt.Sprintf("map key type incompatible: type kind mismatch: got %q, expected %q", FormatType(key), "string")
}

func (a *assignment) toStruct(from *celgo.Type, to *schema.Node) string {
	if isOpen(from) {
		return ""
	}
	switch from.Kind() {
	case celgo.StructKind:
		return a.structToStruct(from, to)
	case celgo.MapKind:
		return a.mapToStruct(from, to)
	}
	return a.mismatch(from, to)
}

func (a *assignment) structToStruct(from *celgo.Type, to *schema.Node) string {
	source := a.types.Node(from)
	if source == nil {
		return a.mismatch(from, to)
	}
	p := pair{source, to}
	if source == to || a.comparing[p] || len(to.Properties) == 0 {
		return ""
	}
	a.comparing[p] = true
	for _, name := range fieldNames(source) {
		child, ok := target(to, name)
		if !ok {
			return fmt.Sprintf("field %q exists in output but not in expected type", name)
		}
		if detail := a.value(a.types.Declare(a.path, source.Properties[name]), child); detail != "" {
			return fmt.Sprintf("field %q has incompatible type: %s", name, detail)
		}
	}
	return ""
}

// mapToStruct knows only the type that all values share, so it asks for one field at least that takes it; which keys there are shows at run time.
func (a *assignment) mapToStruct(from *celgo.Type, to *schema.Node) string {
	if detail := textKeys(from); detail != "" {
		return "map keys must be strings to assign to struct"
	}
	value := from.Parameters()[1]
	first := ""
	for _, name := range fieldNames(to) {
		detail := a.value(value, to.Properties[name])
		if detail == "" {
			return ""
		}
		if first == "" {
			first = fmt.Sprintf("map value incompatible with struct field %q: %s", name, detail)
		}
	}
	if open(to) || to.AdditionalProperties != nil {
		return ""
	}
	return first
}

func (a *assignment) toMap(from *celgo.Type, to *schema.Node) string {
	if isOpen(from) {
		return ""
	}
	switch from.Kind() {
	case celgo.MapKind:
		if detail := textKeys(from); detail != "" {
			return detail
		}
		if detail := a.value(from.Parameters()[1], to.AdditionalProperties); detail != "" {
			return "map value type incompatible: " + detail
		}
		return ""
	case celgo.StructKind:
		source := a.types.Node(from)
		if source == nil {
			return a.mismatch(from, to)
		}
		return a.structToMap(source, to)
	}
	return a.mismatch(from, to)
}

func (a *assignment) structToMap(source, to *schema.Node) string {
	p := pair{source, to}
	if a.comparing[p] {
		return ""
	}
	a.comparing[p] = true
	for _, name := range fieldNames(source) {
		field := a.types.Declare(a.path, source.Properties[name])
		if detail := a.value(field, to.AdditionalProperties); detail != "" {
			return fmt.Sprintf("struct field %q incompatible with map value type: %s", name, detail)
		}
	}
	return ""
}

// optional gives the type of the value of an optional type.
func optional(t *celgo.Type) (*celgo.Type, bool) {
	if t.Kind() != celgo.OpaqueKind || t.TypeName() != "optional_type" {
		return nil, false
	}
	return t.Parameters()[0], true
}

// BoolResult says whether the expression can be a condition: its type must be bool or an optional bool. The error starts with `must return bool`.
func (x *Expression) BoolResult() error {
	t := x.typ
	if value, ok := optional(t); ok {
		t = value
	}
	if t.Kind() == celgo.BoolKind {
		return nil
	}
	return fmt.Errorf("must return bool or optional_type(bool), but returns %q", FormatType(x.typ))
}

// ListElement gives the type of the elements when the expression is a list, and an error that starts with `must return a list` otherwise. dyn is no
// list: its elements would have no type.
func (x *Expression) ListElement() (*celgo.Type, error) {
	if x.typ.Kind() != celgo.ListKind {
		name := FormatType(x.typ)
		return nil, fmt.Errorf("must return a list, got %q: type %q is not a list type", name, name)
	}
	return x.typ.Parameters()[0], nil
}
