package cel

import (
	"fmt"
	"slices"
	"strings"

	celgo "github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"

	"kro.run/kro/cel/library"
)

// StatusCondition is one condition that an expression of status.conditions gives, or reads with runtime.condition.
type StatusCondition = library.Condition

// BuiltinConditions are the types that kro itself computes; they are what runtime.condition(schema, …) can read.
var BuiltinConditions = []string{"InstanceManaged", "GraphResolved", "ResourcesReady", "Ready"}

// instanceVariable is the name of the instance, whose built-in conditions alone can be read.
const instanceVariable = "schema"

var conditionStatuses = []string{"True", "False", "Unknown"}

// conditionUse is what an entry of status.conditions says in literals.
type conditionUse struct {
	declared []string
	lookups  []string
}

// ConditionTypes are the literal types of the conditions that an entry of status.conditions builds, in order, without repeats.
func (x *Expression) ConditionTypes() []string { return slices.Clone(x.conditions.declared) }

// ConditionLookups are the literal types that an entry reads of the instance with runtime.condition(schema, …), in order, without repeats.
func (x *Expression) ConditionLookups() []string { return slices.Clone(x.conditions.lookups) }

// readConditions applies the rules that one entry of status.conditions can break by itself.
func (x *Expression) readConditions(a *ast.AST) error {
	if !isConditions(x.typ) {
		return x.refuse("condition %q: condition expressions must return runtime.newCondition(...) or a list of them, got %q",
			x.source, FormatType(x.typ))
	}
	var fault error
	ast.PostOrderVisit(a.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if fault == nil {
			fault = x.readCondition(e)
		}
	}))
	return fault
}

func isConditions(t *celgo.Type) bool {
	if t.Kind() == celgo.ListKind {
		t = t.Parameters()[0]
	}
	return t.Kind() == celgo.DynKind || t.TypeName() == library.ConditionTypeName
}

func (x *Expression) readCondition(e ast.Expr) error {
	switch e.Kind() {
	case ast.StructKind:
		if e.AsStruct().TypeName() != library.ConditionTypeName {
			return nil
		}
		for _, field := range e.AsStruct().Fields() {
			if err := x.readField(field.AsStructField()); err != nil {
				return err
			}
		}
	case ast.CallKind:
		call := e.AsCall()
		if call.FunctionName() != library.ConditionFunction || len(call.Args()) != 2 {
			return nil
		}
		object, name := call.Args()[0], call.Args()[1]
		if object.Kind() != ast.IdentKind || object.AsIdent() != instanceVariable {
			return nil
		}
		if want, ok := stringLiteral(name); ok && !slices.Contains(x.conditions.lookups, want) {
			x.conditions.lookups = append(x.conditions.lookups, want)
		}
	}
	return nil
}

func (x *Expression) readField(f ast.StructField) error {
	switch f.Name() {
	case "status":
		for _, status := range stringLiterals(f.Value()) {
			if !slices.Contains(conditionStatuses, status) {
				return x.refuse("runtime.newCondition: status must be one of %s (got %q) in expression %q",
					strings.Join(conditionStatuses, ", "), status, x.source)
			}
		}
	case "type":
		name, ok := stringLiteral(f.Value())
		if !ok {
			return nil
		}
		if name == "" {
			return x.refuse("runtime.newCondition: type must not be empty in expression %q", x.source)
		}
		if !slices.Contains(x.conditions.declared, name) {
			x.conditions.declared = append(x.conditions.declared, name)
		}
	}
	return nil
}

func (x *Expression) refuse(format string, args ...any) error {
	return &CompileError{Source: x.source, Message: fmt.Sprintf(format, args...)}
}

// stringLiterals gives the texts that an expression may be: its own, or those of the branches of a ternary.
func stringLiterals(e ast.Expr) []string {
	if e.Kind() == ast.CallKind && e.AsCall().FunctionName() == operators.Conditional {
		args := e.AsCall().Args()
		return append(stringLiterals(args[1]), stringLiterals(args[2])...)
	}
	if s, ok := stringLiteral(e); ok {
		return []string{s}
	}
	return nil
}

func stringLiteral(e ast.Expr) (string, bool) {
	if e.Kind() != ast.LiteralKind {
		return "", false
	}
	s, ok := e.AsLiteral().(types.String)
	return string(s), ok
}

// ConditionFault is a rule that the entries of one status.conditions break together.
type ConditionFault struct {
	// Entry is the index of the entry at fault.
	Entry   int
	Message string
}

// ConditionFaults checks the entries of one status.conditions against each other: a literal type belongs to one entry, and the instance is asked for
// kro's own conditions only. Entries that are nil (they did not compile) are passed over.
func ConditionFaults(entries []*Expression) []ConditionFault {
	owner := map[string]int{}
	var faults []ConditionFault
	for i, x := range entries {
		if x == nil {
			continue
		}
		for _, name := range x.conditions.declared {
			if _, taken := owner[name]; taken {
				faults = append(faults, ConditionFault{i, fmt.Sprintf("condition type %q is declared by more than one conditions entry", name)})
				continue
			}
			owner[name] = i
		}
	}
	for i, x := range entries {
		if x == nil {
			continue
		}
		for _, name := range x.conditions.lookups {
			if slices.Contains(BuiltinConditions, name) {
				continue
			}
			reason := fmt.Sprintf("unknown condition type; only kro's built-in types (%s) can be read from schema", strings.Join(BuiltinConditions, ", "))
			if _, declared := owner[name]; declared {
				reason = "custom conditions cannot reference each other"
			}
			faults = append(faults, ConditionFault{i, fmt.Sprintf("runtime.condition(schema, %q): %s in expression %q", name, reason, x.source)})
		}
	}
	slices.SortStableFunc(faults, func(a, b ConditionFault) int { return a.Entry - b.Entry })
	return faults
}

// ConditionsOf reads the result of an entry of status.conditions: one condition or a list of them. Values that only evaluation knows are held to the same
// rules as literals.
func ConditionsOf(v ref.Val) ([]StatusCondition, error) {
	if c, ok := library.ConditionOf(v); ok {
		return []StatusCondition{c}, validCondition(c)
	}
	l, ok := v.(traits.Lister)
	if !ok {
		return nil, fmt.Errorf("condition expressions must return runtime.newCondition(...) or a list of them, got %s", typeName(v))
	}
	var conditions []StatusCondition
	for it := l.Iterator(); it.HasNext() == types.True; {
		elem := it.Next()
		c, ok := library.ConditionOf(elem)
		if !ok {
			return nil, fmt.Errorf("condition expressions must return runtime.newCondition(...) or a list of them, got a list with %s", typeName(elem))
		}
		if err := validCondition(c); err != nil {
			return nil, err
		}
		conditions = append(conditions, c)
	}
	return conditions, nil
}

func validCondition(c StatusCondition) error {
	if c.Type == "" {
		return fmt.Errorf("runtime.newCondition: type must not be empty")
	}
	if !slices.Contains(conditionStatuses, c.Status) {
		return fmt.Errorf("runtime.newCondition: status must be one of %s (got %q)", strings.Join(conditionStatuses, ", "), c.Status)
	}
	return nil
}

// instance is a view of the instance that knows kro's conditions; its status stays hidden.
type instance struct {
	*object
	conditions []StatusCondition
}

var _ library.ConditionReader = (*instance)(nil)

// Condition gives the built-in condition of a type.
func (i *instance) Condition(conditionType string) (StatusCondition, bool) {
	for _, c := range i.conditions {
		if c.Type == conditionType {
			return c, true
		}
	}
	return StatusCondition{}, false
}

// WithConditions gives the view of the instance that status.conditions is evaluated with: runtime.condition(schema, …) finds the given conditions
// in it, and nothing else does.
func WithConditions(v ref.Val, conditions []StatusCondition) ref.Val {
	if o, ok := v.(*object); ok {
		return &instance{o, conditions}
	}
	return v
}
