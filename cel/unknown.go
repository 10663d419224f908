package cel

import (
	"strings"

	celgo "github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
)

// UnknownField says that an expression reads a field that an object does not have.
type UnknownField struct {
	// Name is the field asked for.
	Name string
	// Known are the fields that the object has, sorted.
	Known []string
}

// unknownField finds out which fields there are where the checker met one that is undefined. nil when the error is another one, or when the object is
// a variable of a macro, which has no type outside of it.
func (e *Env) unknownField(p *Parsed, message string) *UnknownField {
	_, after, ok := strings.Cut(message, "undefined field '")
	if !ok {
		return nil
	}
	name, _, _ := strings.Cut(after, "'")
	native := p.ast.NativeRep()
	var object ast.Expr
	ast.PreOrderVisit(native.Expr(), ast.NewExprVisitor(func(x ast.Expr) {
		if object == nil && x.Kind() == ast.SelectKind && x.AsSelect().FieldName() == name {
			object = x.AsSelect().Operand()
		}
	}))
	if object == nil {
		return nil
	}
	text, err := celgo.ExprToString(object, native.SourceInfo())
	if err != nil {
		return nil
	}
	checked, issues := e.env.Compile(text)
	if issues.Err() != nil {
		return nil
	}
	known, _ := e.env.CELTypeProvider().FindStructFieldNames(checked.OutputType().TypeName())
	if len(known) == 0 {
		return nil
	}
	return &UnknownField{Name: name, Known: known}
}
