package graph

import (
	"context"
	"errors"
	"fmt"

	"kro.run/kro/cel"
	"kro.run/kro/schema"
)

// Value is a compiled part of a document: a tree of literals and expressions. It is immutable.
type Value struct {
	// path is the place inside the part.
	path string
	form valueForm

	literal any             // formLiteral: a JSON value, never given away
	fields  []valueField    // formMap, sorted by name
	items   []*Value        // formList
	expr    *cel.Expression // formExpression
	target  *schema.Node    // the schema of the field that takes the result of expr; may be nil
	// deferred leaves the field out while the data of expr are missing.
	deferred bool
	// book is labels or annotations when the value is those of an object. See guardBooks.
	book string
}

type valueForm int

const (
	formExpression valueForm = iota
	formLiteral
	formMap
	formList
)

// valueField is an entry of a map. The key, when it is not nil, gives the name.
type valueField struct {
	name  string
	key   *Value
	value *Value
}

func literalValue(literal any) *Value { return &Value{form: formLiteral, literal: literal} }

// mapValue is a literal when all its fields are, so that evaluation copies it in one go.
func mapValue(source map[string]any, fields []valueField) *Value {
	for _, f := range fields {
		if f.value.form != formLiteral || f.key != nil {
			return &Value{form: formMap, fields: fields}
		}
	}
	return literalValue(source)
}

func listValue(source []any, items []*Value) *Value {
	for _, item := range items {
		if item.form != formLiteral {
			return &Value{form: formList, items: items}
		}
	}
	return literalValue(source)
}

// Eval returns the JSON value of the tree. omit() removes the map entry or list element that it stands in, wherever in a
// result it is. What Eval returns is fresh in every part and belongs to the caller.
//
// The error is a *ValueError: that of the first expression that fails for good, otherwise of the first whose data is
// still missing, so that waiting never hides a fault that waiting does not mend.
func (v *Value) Eval(ctx context.Context, vars cel.Activation) (any, error) {
	return v.EvalOver(ctx, vars, nil, nil)
}

// EvalOver is Eval for a value that stands somewhere already: a deferred field whose data are missing is taken over from there, when keep says so, instead
// of being left out. Keep is asked right after the expression of the field was evaluated.
func (v *Value) EvalOver(ctx context.Context, vars cel.Activation, standing any, keep func() bool) (any, error) {
	e := evaluation{ctx: ctx, vars: vars, keep: keep}
	result := e.eval(v, standing)
	switch {
	case e.failed != nil:
		return nil, e.failed
	case e.pending != nil:
		return nil, e.pending
	case cel.IsOmitted(result) && v.form == formExpression && !v.expr.UsesOmit(): // an optional without a value
		return nil, nil
	case cel.IsOmitted(result):
		return nil, &ValueError{Path: v.path, Err: errors.New("omit() cannot stand for a whole value, only for a field or a list element")}
	}
	return result, nil
}

// evaluation is one pass over a Value.
type evaluation struct {
	ctx             context.Context
	vars            cel.Activation
	keep            func() bool
	failed, pending *ValueError
}

// eval returns the value of a tree, which may stand somewhere already; after an error the value means nothing.
func (e *evaluation) eval(v *Value, standing any) any {
	switch v.form {
	case formMap:
		return e.object(v, standing)
	case formList:
		result := make([]any, 0, len(v.items))
		before, _ := standing.([]any)
		for i, item := range v.items {
			var there any
			if len(before) == len(v.items) {
				there = before[i]
			}
			if value := e.eval(item, there); !cel.IsOmitted(value) {
				result = append(result, value)
			}
		}
		return result
	case formLiteral:
		return deepCopy(v.literal)
	}
	if e.failed != nil {
		return nil
	}
	result, err := evalExpression(e.ctx, e.vars, v.expr, v.target)
	if v.deferred && isPending(err) {
		if standing != nil && e.keep() {
			return deepCopy(standing)
		}
		return cel.Omitted
	}
	if err != nil {
		e.fail(&ValueError{Path: v.path, Err: err})
		return nil
	}
	if v.book != "" {
		return withoutBooks(result)
	}
	return result
}

func (e *evaluation) object(v *Value, standing any) any {
	before, _ := standing.(map[string]any)
	result := make(map[string]any, len(v.fields))
	for _, f := range v.fields {
		name, kept := e.name(f)
		if !kept {
			continue
		}
		value := e.eval(f.value, before[name])
		if cel.IsOmitted(value) {
			continue
		}
		if _, taken := result[name]; taken {
			e.fail(&ValueError{Path: f.value.path, Err: fmt.Errorf("key %q is given twice, the second time by %s", name, f.name)})
		}
		if prefix := reservedPrefix(name); v.book != "" && f.key != nil && prefix != "" {
			e.fail(&ValueError{Path: f.value.path, Err: fmt.Errorf("key %q: %s", name, reservedFor(v.book, prefix))})
		}
		result[name] = value
	}
	return result
}

// name gives the key of an entry; kept is false for one that is dropped, because its key is null or omitted.
func (e *evaluation) name(f valueField) (name string, kept bool) {
	if f.key == nil {
		return f.name, true
	}
	switch key := e.eval(f.key, nil).(type) {
	case string:
		return key, true
	case nil:
		return "", false
	default:
		if !cel.IsOmitted(key) {
			e.fail(&ValueError{Path: f.key.path, Err: fmt.Errorf("key %s must be a string or null, got %s", f.name, jsonType(key))})
		}
		return "", false
	}
}

func (e *evaluation) fail(err *ValueError) {
	if !isPending(err.Err) {
		e.failed = err
	} else if e.pending == nil {
		e.pending = err
	}
}

func isPending(err error) bool {
	var eval *cel.EvalError
	return errors.As(err, &eval) && eval.Pending
}

// ValueError says which expression of a Value failed.
type ValueError struct {
	// Path is the place inside the Value, as in spec.replicas.
	Path string
	// Err is a *cel.EvalError unless the result has no JSON form.
	Err error
}

// Error returns the text of the cause; the path is for those who want it.
func (e *ValueError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *ValueError) Unwrap() error { return e.Err }

// ConvertError says that the result of an expression has no JSON form.
type ConvertError struct {
	// Source is the expression.
	Source string
	Err    error
}

// Error quotes the expression and gives the cause.
func (e *ConvertError) Error() string { return fmt.Sprintf("convert %q: %s", e.Source, e.Err) }

// Unwrap returns the cause.
func (e *ConvertError) Unwrap() error { return e.Err }
