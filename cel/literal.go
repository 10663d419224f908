package cel

import (
	"slices"

	celgo "github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"

	"kro.run/kro/cel/library"
)

// literal is the structure that an expression spells out: the entries of a map literal, the elements of a list literal, the branches of a ternary.
// It lets each part be held against the field it fills, where the type of the whole only knows what all entries have in common.
type literal struct {
	typ      *celgo.Type
	isMap    bool
	fields   []literalField
	isList   bool
	elems    []*literal
	branches []*literal
}

type literalField struct {
	name  string
	value *literal
}

// literalOf reads the structure of a checked expression; where it spells out nothing, only the type is known.
func literalOf(a *ast.AST, e ast.Expr) *literal {
	l := &literal{typ: a.GetType(e.ID())}
	switch e.Kind() {
	case ast.MapKind:
		l.isMap = l.readMap(a, e.AsMap())
	case ast.ListKind:
		l.isList = true
		for _, elem := range e.AsList().Elements() {
			l.elems = append(l.elems, literalOf(a, elem))
		}
	case ast.CallKind:
		switch call := e.AsCall(); {
		case call.FunctionName() == library.Defer && !call.IsMemberFunction():
			return literalOf(a, call.Args()[0])
		case call.FunctionName() == operators.Conditional:
			l.branches = []*literal{literalOf(a, call.Args()[1]), literalOf(a, call.Args()[2])}
		}
	}
	return l
}

// isNull tells that the structure is null whatever happens. Beside other values, as a branch or as an entry of a map, null says that the field has no
// value this time, which fits every field; alone it is a mistake.
func (l *literal) isNull() bool {
	for _, branch := range l.branches {
		if !branch.isNull() {
			return false
		}
	}
	return l.typ.Kind() == celgo.NullTypeKind || len(l.branches) > 0
}

// onlyNulls tells that no entry of a map literal has a value.
func (l *literal) onlyNulls() bool {
	return !slices.ContainsFunc(l.fields, func(f literalField) bool { return !f.value.isNull() })
}

// readMap reads the entries of a map literal, and gives up on one whose keys are computed.
func (l *literal) readMap(a *ast.AST, m ast.MapExpr) bool {
	for _, e := range m.Entries() {
		entry := e.AsMapEntry()
		if entry.Key().Kind() != ast.LiteralKind {
			return false
		}
		name, ok := entry.Key().AsLiteral().(types.String)
		if !ok {
			return false
		}
		l.fields = append(l.fields, literalField{string(name), literalOf(a, entry.Value())})
	}
	return true
}
