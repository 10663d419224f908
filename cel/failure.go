package cel

import (
	"context"
	"errors"
	"slices"
	"strings"

	celgo "github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/interpreter"
)

// pendingPrefixes start the messages of cel-go's own errors for data that is not there. These errors have no exported types.
var pendingPrefixes = []string{"no such key", "no such field", "no such attribute", "index out of bounds"}

// pending looks at the root of the error, and only at how it starts: what follows may be text of the user.
func pending(err error) bool {
	return startsWithAny(root(err).Error(), pendingPrefixes)
}

func root(err error) error {
	for {
		cause := errors.Unwrap(err)
		if cause == nil {
			return err
		}
		err = cause
	}
}

func startsWithAny(s string, prefixes []string) bool {
	return slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(s, prefix) })
}

// harmlessPrefixes start messages that never quote a value.
var harmlessPrefixes = []string{
	"no such overload", "division by zero", "modulus by zero", "integer overflow", "invalid base64 text", "invalid data:", "index out of bounds",
	"no such attribute",
}

// withhold takes a message that may quote a value out of the error of an expression that reads secret bytes: conversions quote what they could not
// convert. A missing key stays when it stands in the source, where it's no secret.
func withhold(err error, source string) error {
	var cancelled interpreter.EvalCancelledError
	if errors.As(err, &cancelled) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	message := root(err).Error()
	if startsWithAny(message, harmlessPrefixes) {
		return err
	}
	for _, prefix := range pendingPrefixes {
		rest, ok := strings.CutPrefix(message, prefix)
		if !ok {
			continue
		}
		if name := strings.Trim(rest, ": '"); strings.Contains(source, name) {
			return err
		}
		return errors.New(prefix + " (its name is withheld, for the expression reads data of format byte)")
	}
	return errors.New("failed on a value that is withheld, for the expression reads data of format byte")
}

// readsBytes says that an expression reads a field or entry of format byte.
func readsBytes(a *ast.AST) bool {
	found := false
	ast.PostOrderVisit(a.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		found = found || reads(e) && holdsBytes(a.GetType(e.ID()))
	}))
	return found
}

// reads says that a node of the syntax takes data from a variable.
func reads(e ast.Expr) bool {
	switch e.Kind() {
	case ast.IdentKind, ast.SelectKind:
		return true
	case ast.CallKind:
		switch e.AsCall().FunctionName() {
		case operators.Index, operators.OptIndex, operators.OptSelect:
			return true
		}
	}
	return false
}

// holdsBytes says that a type is bytes, or a list, map or optional of them.
func holdsBytes(t *celgo.Type) bool {
	return t.Kind() == celgo.BytesKind || slices.ContainsFunc(t.Parameters(), holdsBytes)
}
