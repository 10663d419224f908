package cel

import (
	"fmt"
	"slices"
	"strings"

	celgo "github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"
	celconfig "k8s.io/apiserver/pkg/apis/cel"

	"kro.run/kro/cel/library"
)

// Use is the place of an expression in a document. It decides whether omit() and runtime are allowed.
type Use int

const (
	// Template is a field of a template, an external reference or a definition: omit() is allowed, and defer() around a whole expression.
	Template Use = iota
	// Condition is an entry of includeWhen or readyWhen.
	Condition
	// Iterator is the list of a forEach dimension.
	Iterator
	// Status is a field of the status projection.
	Status
	// StatusConditions is an entry of status.conditions: runtime is allowed, and the result must be conditions.
	StatusConditions
)

// CompileError says why an expression cannot be used.
type CompileError struct {
	Source  string
	Message string
	// Hint says what would be right, when that is known; it is no part of Error.
	Hint string
	// UnknownField is set when a field that does not exist is all that is wrong, as far as is known.
	UnknownField *UnknownField
}

// Error gives the message; for errors of syntax and types it is that of cel-go, with line and column.
func (e *CompileError) Error() string { return e.Message }

// Compile parses and checks an expression and plans its evaluation. The error is a *CompileError. The same text for the same use is compiled once.
func (e *Env) Compile(src string, use Use) (*Expression, error) {
	if x, ok := e.known(src, use); ok {
		return x, nil
	}
	p, err := Parse(src)
	if err != nil {
		return nil, err
	}
	return e.CompileParsed(p, use)
}

// CompileParsed is Compile for an expression whose syntax was read already.
func (e *Env) CompileParsed(p *Parsed, use Use) (*Expression, error) {
	if x, ok := e.known(p.source, use); ok {
		return x, nil
	}
	x, err := e.compile(p, use)
	if err != nil {
		return nil, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	key := compileKey{p.source, use}
	if first, ok := e.compiled[key]; ok {
		return first, nil
	}
	e.compiled[key] = x
	return x, nil
}

func (e *Env) known(src string, use Use) (*Expression, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	x, ok := e.compiled[compileKey{src, use}]
	return x, ok
}

func (e *Env) compile(p *Parsed, use Use) (*Expression, error) {
	if err := e.allowed(p, use); err != nil {
		return nil, err
	}
	parsed, err := p.tree()
	if err != nil {
		return nil, err
	}
	checked, issues := e.env.Check(parsed)
	if err := issues.Err(); err != nil {
		return nil, &CompileError{Source: p.source, Message: err.Error(), Hint: hint(err.Error()), UnknownField: e.unknownField(p, err.Error())}
	}
	native := checked.NativeRep()
	x := &Expression{
		source:     p.source,
		typ:        checked.OutputType(),
		inspection: p.Inspection,
		loops:      loops(native.Expr()),
		readsBytes: readsBytes(native),
		literal:    literalOf(native, native.Expr()),
	}
	if use == StatusConditions {
		if err := x.readConditions(native); err != nil {
			return nil, err
		}
	}
	// Planning evaluates constants, so a literal that is no time or regular expression is found here. In a branch it is a fault only for who takes
	// the branch, so there it waits for the evaluation.
	program, err := e.plan(native, x.loops, celgo.OptOptimize)
	if err != nil && branches(native.Expr()) {
		program, err = e.plan(native, x.loops)
	}
	if err != nil {
		return nil, &CompileError{Source: p.source, Message: fmt.Sprintf("expression %q can never be evaluated: %v", p.source, err)}
	}
	x.program = program
	return x, nil
}

// allowed refuses names that do not exist and features that do not belong at the place, before types are looked at.
func (e *Env) allowed(p *Parsed, use Use) error {
	refuse := func(format string, args ...any) error {
		return &CompileError{Source: p.source, Message: fmt.Sprintf(format, args...)}
	}
	if p.UsesRuntime && use != StatusConditions {
		return refuse("runtime is only available in status.conditions expressions")
	}
	if p.UsesOmit && use != Template {
		return refuse("omit() can only be used in resource template expressions")
	}
	if p.UsesDefer && (use != Template || !p.Deferred) {
		return refuse("defer() can only be the whole expression of a template or patch field")
	}
	if unknown := e.UnknownIdentifiers(p.Inspection); len(unknown) > 0 {
		return refuse("references unknown identifiers: [%s]", strings.Join(unknown, " "))
	}
	if unknown := p.UnknownFunctions(); len(unknown) > 0 {
		return refuse("uses unknown functions: %s", formatFunctions(unknown))
	}
	return nil
}

// UnknownIdentifiers lists the references that are no variables of the environment.
func (e *Env) UnknownIdentifiers(found Inspection) []string {
	var unknown []string
	for _, name := range found.References {
		if _, ok := e.variables[name]; !ok {
			unknown = append(unknown, name)
		}
	}
	return unknown
}

// UnknownFunctions lists the functions that do not exist.
func (i Inspection) UnknownFunctions() []string {
	var unknown []string
	for _, name := range i.Functions {
		if !KnownFunction(name) {
			unknown = append(unknown, name)
		}
	}
	return unknown
}

func formatFunctions(functions []string) string {
	return "[{" + strings.Join(functions, "} {") + "}]"
}

// loops says that an expression iterates over data.
func loops(e ast.Expr) bool {
	found := false
	ast.PostOrderVisit(e, ast.NewExprVisitor(func(e ast.Expr) {
		found = found || e.Kind() == ast.ComprehensionKind
	}))
	return found
}

// branches says that parts of an expression may not be evaluated: behind ?, && and ||, in loops over what may be empty, and in what stands in for an
// absent value.
func branches(e ast.Expr) bool {
	found := loops(e)
	ast.PostOrderVisit(e, ast.NewExprVisitor(func(e ast.Expr) {
		found = found || e.Kind() == ast.CallKind && slices.Contains(branching, e.AsCall().FunctionName())
	}))
	return found
}

var branching = []string{operators.Conditional, operators.LogicalAnd, operators.LogicalOr, "or", "orValue"}

var costs = &library.Costs{}

// jsonEncodeCost replaces cel-go's cost of json.encode, which is more than any limit.
func jsonEncodeCost(args []ref.Val, result ref.Val) *uint64 {
	return costs.CallCost("json.encode", "json_encode_dyn", args, result)
}

// plan makes the program. Only loops can run long for their size (cel.bind counts, since it can double a value again and again), so only they pay for
// cost tracking and for watching the context.
func (e *Env) plan(a *ast.AST, loops bool, eval ...celgo.EvalOption) (celgo.Program, error) {
	opts := []celgo.ProgramOption{celgo.EvalOptions(eval...)}
	if ranges := mapRanges(a); len(ranges) > 0 {
		opts = append(opts, celgo.CustomDecoratorV2(orderRanges(ranges)))
	}
	if loops {
		opts = append(opts, celgo.InterruptCheckFrequency(celconfig.CheckFrequency))
	}
	if loops && e.costLimit > 0 {
		opts = append(opts,
			celgo.CostTracking(costs),
			celgo.CostTrackerOptions(interpreter.OverloadCostTracker("json_encode_dyn", jsonEncodeCost)),
			celgo.CostLimit(e.costLimit))
	}
	return e.env.PlanProgram(a, opts...)
}

// mapRanges gives the ids of the ranges of comprehensions that are, or may be, maps.
func mapRanges(a *ast.AST) map[int64]bool {
	ranges := map[int64]bool{}
	ast.PostOrderVisit(a.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() != ast.ComprehensionKind {
			return
		}
		r := e.AsComprehension().IterRange()
		if a.GetType(r.ID()).Kind() != celgo.ListKind {
			ranges[r.ID()] = true
		}
	}))
	return ranges
}

// orderRanges wraps the ranges so that maps are visited in the order of their keys.
func orderRanges(ids map[int64]bool) interpreter.InterpretableDecoratorV2 {
	return func(i interpreter.InterpretableV2) (interpreter.InterpretableV2, error) {
		if !ids[i.ID()] {
			return i, nil
		}
		return orderedRange{i}, nil
	}
}

type orderedRange struct {
	interpreter.InterpretableV2
}

func (r orderedRange) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	return inOrder(r.InterpretableV2.Exec(frame))
}

func (r orderedRange) Eval(vars interpreter.Activation) ref.Val {
	return inOrder(r.InterpretableV2.Eval(vars))
}

// hint says what to write instead, for mistakes whose message does not tell.
func hint(message string) string {
	_, after, ok := strings.Cut(message, "found no matching overload for '")
	if !ok {
		return ""
	}
	function, rest, _ := strings.Cut(after, "'")
	line, _, _ := strings.Cut(rest, "\n")
	switch {
	case strings.Contains(line, "optional_type("):
		return "a value read with ? is optional: give it a default first, as in x.?field.orValue(0) > 0, or ask x.?field.hasValue()"
	case function == "_?_:_":
		return "both branches must have one type; dyn(x) around one of them lets them differ"
	case function == "_+_" && strings.Contains(line, "string"):
		return "text joins only with text: convert the other part with string(x)"
	case strings.Contains(line, "null"):
		return "a field that is not set is absent, not null: ask has(x.field)"
	}
	return ""
}
