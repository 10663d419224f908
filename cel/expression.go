package cel

import (
	"context"
	"errors"
	"fmt"
	"slices"

	celgo "github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"
)

// Activation gives expressions the values of their variables.
type Activation = interpreter.Activation

// Expression is a compiled expression: immutable and safe for concurrent use.
type Expression struct {
	source     string
	typ        *celgo.Type
	inspection Inspection
	program    celgo.Program
	// loops says that the expression iterates, so that its run time depends on data: only then an evaluation watches its context.
	loops bool
	// readsBytes says that fields of format byte are read, the data of Secrets: what they hold must not show in an error.
	readsBytes bool
	literal    *literal
	conditions conditionUse
}

// Source is the text that was compiled.
func (x *Expression) Source() string { return x.source }

// Type is the checked type of the result.
func (x *Expression) Type() *celgo.Type { return x.typ }

// References are the variables the expression uses, sorted.
func (x *Expression) References() []string { return slices.Clone(x.inspection.References) }

// Unconditional are the variables that every evaluation needs; see Inspection.
func (x *Expression) Unconditional() []string { return slices.Clone(x.inspection.Unconditional) }

// UsesOmit says that the result may be, or hold, Omitted.
func (x *Expression) UsesOmit() bool { return x.inspection.UsesOmit }

// EvalError is the failure of one evaluation.
type EvalError struct {
	Source string
	// Pending says that data is missing (a key, field, attribute or index), so the same expression may succeed later.
	Pending bool
	Err     error
}

// Error gives `eval "<source>": <error>`.
func (e *EvalError) Error() string { return fmt.Sprintf("eval %q: %v", e.Source, e.Err) }

// Unwrap gives the cause.
func (e *EvalError) Unwrap() error { return e.Err }

// Eval evaluates the expression. It ends early when ctx does or when the cost limit is exceeded. The error is an *EvalError; a panic inside
// is one too.
func (x *Expression) Eval(ctx context.Context, vars Activation) (out ref.Val, err error) {
	defer func() {
		if r := recover(); r != nil {
			out, err = nil, x.failed(fmt.Errorf("internal error: %v", r))
		}
	}()
	if err := ctx.Err(); err != nil {
		return nil, x.failed(err)
	}
	count(ctx)
	if x.loops {
		out, _, err = x.program.ContextEval(ctx, vars)
	} else {
		out, _, err = x.program.Eval(vars)
	}
	if err != nil {
		return nil, x.failed(err)
	}
	if types.IsUnknown(out) {
		return nil, x.failed(errors.New("the result depends on an unknown value"))
	}
	return out, nil
}

func (x *Expression) failed(err error) *EvalError {
	isPending := pending(err)
	if x.readsBytes {
		err = withhold(err, x.source)
	}
	return &EvalError{Source: x.source, Pending: isPending, Err: err}
}

// Truth reads the result of a condition. Null and an absent optional decide nothing: known is false.
func Truth(v ref.Val) (truth, known bool, err error) {
	switch x := v.(type) {
	case types.Bool:
		return bool(x), true, nil
	case types.Null:
		return false, false, nil
	case *types.Optional:
		if !x.HasValue() {
			return false, false, nil
		}
		return Truth(x.GetValue())
	}
	return false, false, fmt.Errorf("condition did not return bool, but %s", typeName(v))
}
