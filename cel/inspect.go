package cel

import (
	"maps"
	"slices"
	"strings"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/containers"
	"github.com/google/cel-go/common/operators"

	"kro.run/kro/cel/library"
)

// Inspection is what the syntax of an expression says without any types.
type Inspection struct {
	// References are the free root identifiers, sorted: no variables of macros and cel.bind, no names of types or functions.
	References []string
	// Unconditional are those of References that are needed whichever way the expression goes: not only in one branch of a ternary, behind && or ||, in
	// the body of a loop or in the alternative of an optional.
	Unconditional []string
	// Conditional are those of References that only branches of ternaries refer to, and not all of them: an evaluation may go another way and never ask for
	// them. What stands behind && or ||, in the body of a loop or in the alternative of an optional is not among them.
	Conditional []string
	// Functions are the names of all functions called, sorted, without operators; namespaced ones whole, for example json.marshal.
	Functions []string
	UsesOmit  bool
	// UsesDefer says that defer(…) is called somewhere; Deferred, that the whole expression is one such call.
	UsesDefer, Deferred bool
	// UsesRuntime says that conditions are built or read (runtime.newCondition, runtime.condition).
	UsesRuntime bool
}

// Inspect is Parse for those who only want to know what an expression refers to.
func Inspect(src string) (Inspection, error) {
	p, err := Parse(src)
	if err != nil {
		return Inspection{}, err
	}
	return p.Inspection, nil
}

// names is a set of identifiers.
type names map[string]bool

func (n names) add(others ...names) names {
	for _, other := range others {
		maps.Copy(n, other)
	}
	return n
}

func (n names) sorted() []string { return slices.Sorted(maps.Keys(n)) }

func both(a, b names) names {
	shared := names{}
	for name := range a {
		if b[name] {
			shared[name] = true
		}
	}
	return shared
}

// inspector walks one expression.
type inspector struct {
	base       *baseEnv
	asksType   bool     // type(x) is called, so a bare name of a type is that type
	bound      []string // variables of the macros around the current position
	references names
	functions  names
	runtime    bool
	// ternaries makes walk see no other branches than those of ternaries.
	ternaries bool
}

func (b *baseEnv) inspect(e ast.Expr) Inspection {
	i := &inspector{base: b, asksType: calls(e, "type"), references: names{}, functions: names{}}
	unconditional := i.walk(e)
	return Inspection{
		References:    i.references.sorted(),
		Unconditional: unconditional.sorted(),
		Functions:     i.functions.sorted(),
		Conditional:   b.conditional(e, i.asksType, i.references),
		UsesOmit:      i.functions["omit"],
		UsesDefer:     i.functions[library.Defer],
		Deferred:      isDeferred(e),
		UsesRuntime:   i.runtime,
	}
}

// conditional gives the references that only some branches of ternaries make.
func (b *baseEnv) conditional(e ast.Expr, asksType bool, references names) []string {
	if !calls(e, operators.Conditional) {
		return nil
	}
	i := &inspector{base: b, asksType: asksType, references: names{}, functions: names{}, ternaries: true}
	firm := i.walk(e)
	var conditional []string
	for _, name := range references.sorted() {
		if !firm[name] {
			conditional = append(conditional, name)
		}
	}
	return conditional
}

// isDeferred says that an expression is defer(…) around one that does not defer anything itself.
func isDeferred(e ast.Expr) bool {
	if e.Kind() != ast.CallKind || e.AsCall().IsMemberFunction() || e.AsCall().FunctionName() != library.Defer {
		return false
	}
	args := e.AsCall().Args()
	return len(args) == 1 && !calls(args[0], library.Defer)
}

// calls says whether a global function is called anywhere in an expression.
func calls(e ast.Expr, function string) bool {
	found := false
	ast.PostOrderVisit(e, ast.NewExprVisitor(func(e ast.Expr) {
		found = found || e.Kind() == ast.CallKind && !e.AsCall().IsMemberFunction() && e.AsCall().FunctionName() == function
	}))
	return found
}

// walk records what e uses and gives the identifiers it needs in any case.
func (i *inspector) walk(e ast.Expr) names {
	switch e.Kind() {
	case ast.IdentKind:
		if i.asksType && i.base.isType(e.AsIdent()) {
			return names{}
		}
		return i.identifier(e.AsIdent())
	case ast.SelectKind:
		if name, ok := containers.ToQualifiedName(e); ok && i.base.isType(name) {
			return names{}
		}
		return i.root(e.AsSelect().Operand())
	case ast.CallKind:
		return i.call(e.AsCall())
	case ast.ListKind:
		return i.walkAll(e.AsList().Elements())
	case ast.MapKind:
		needed := names{}
		for _, entry := range e.AsMap().Entries() {
			needed.add(i.walk(entry.AsMapEntry().Key()), i.walk(entry.AsMapEntry().Value()))
		}
		return needed
	case ast.StructKind:
		i.runtime = i.runtime || e.AsStruct().TypeName() == library.ConditionTypeName
		needed := names{}
		for _, field := range e.AsStruct().Fields() {
			needed.add(i.walk(field.AsStructField().Value()))
		}
		return needed
	case ast.ComprehensionKind:
		return i.comprehension(e.AsComprehension())
	}
	return names{}
}

func (i *inspector) walkAll(exprs []ast.Expr) names {
	needed := names{}
	for _, e := range exprs {
		needed.add(i.walk(e))
	}
	return needed
}

// root walks what is selected or called on. A bare name there is a variable even when a type has it too: a node may be called list.
func (i *inspector) root(e ast.Expr) names {
	if e.Kind() == ast.IdentKind {
		return i.identifier(e.AsIdent())
	}
	return i.walk(e)
}

func (i *inspector) identifier(name string) names {
	if slices.Contains(i.bound, name) {
		return names{}
	}
	if name == library.Runtime {
		i.runtime = true
		return names{}
	}
	i.references[name] = true
	return names{name: true}
}

func (i *inspector) call(c ast.CallExpr) names {
	args := c.Args()
	switch c.FunctionName() {
	case operators.Conditional:
		if i.ternaries && isOptionalMacro(args) {
			return i.walkAll(args)
		}
		condition := i.walk(args[0])
		return condition.add(both(i.walk(args[1]), i.walk(args[2])))
	case operators.LogicalAnd, operators.LogicalOr:
		return i.either(args)
	}
	if !c.IsMemberFunction() {
		i.function(c.FunctionName())
		return i.walkAll(args)
	}
	if prefix, ok := containers.ToQualifiedName(c.Target()); ok && !i.isBound(prefix) {
		if name := prefix + "." + c.FunctionName(); i.base.functions[name] {
			i.function(name)
			return i.walkAll(args)
		}
	}
	i.function(c.FunctionName())
	needed := i.root(c.Target())
	given := i.walkAll(args)
	if (c.FunctionName() == "or" || c.FunctionName() == "orValue") && !i.ternaries {
		return needed // the alternative is evaluated only when the target is absent
	}
	return needed.add(given)
}

// isOptionalMacro knows the ternary that optMap and optFlatMap stand for: no author writes it, it asks whether an optional has a value.
func isOptionalMacro(args []ast.Expr) bool {
	return args[0].Kind() == ast.CallKind && args[0].AsCall().FunctionName() == "hasValue" &&
		args[2].Kind() == ast.CallKind && args[2].AsCall().FunctionName() == "optional.none"
}

// either gives what all operands need: one of them may decide alone.
func (i *inspector) either(operands []ast.Expr) names {
	if i.ternaries {
		return i.walkAll(operands)
	}
	needed := i.walk(operands[0])
	for _, o := range operands[1:] {
		needed = both(needed, i.walk(o))
	}
	return needed
}

func (i *inspector) isBound(qualified string) bool {
	root, _, _ := strings.Cut(qualified, ".")
	return slices.Contains(i.bound, root)
}

// function records a function that an author can write.
func (i *inspector) function(name string) {
	if isOperator(name) {
		return
	}
	i.runtime = i.runtime || name == library.ConditionFunction
	i.functions[name] = true
}

// isOperator says that a function name cannot be written by an author: it is an operator or internal to cel-go.
func isOperator(name string) bool {
	return strings.ContainsAny(name, "@!-[]?:+*/%<>=&|")
}

func (i *inspector) comprehension(c ast.ComprehensionExpr) names {
	needed := i.walk(c.IterRange())
	needed.add(i.walk(c.AccuInit()))
	mark := len(i.bound)
	i.bound = append(i.bound, c.AccuVar())
	result := i.walk(c.Result())
	i.bound = append(i.bound, c.IterVar(), c.IterVar2())
	condition, step := i.walk(c.LoopCondition()), i.step(c.LoopStep())
	i.bound = i.bound[:mark]
	if i.ternaries {
		needed.add(condition, step)
	}
	return needed.add(result)
}

// step walks the step of a loop. A ternary that is the whole step comes from a macro, such as the filter of map(x, filter, value), and not from the author.
func (i *inspector) step(e ast.Expr) names {
	if e.Kind() == ast.CallKind && e.AsCall().FunctionName() == operators.Conditional {
		return i.walkAll(e.AsCall().Args())
	}
	return i.walk(e)
}

// FunctionsOf gives the functions of a namespace, whole names in order: random.seededInt and its like for random.
func FunctionsOf(namespace string) []string {
	b, err := base()
	if err != nil {
		return nil
	}
	var found []string
	for _, name := range slices.Sorted(maps.Keys(b.functions)) {
		if strings.HasPrefix(name, namespace+".") {
			found = append(found, name)
		}
	}
	return found
}
