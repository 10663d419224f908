package library

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	celgo "github.com/google/cel-go/cel"
	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

const (
	// Runtime is the name that conditions of an instance are built and read with: runtime.newCondition and runtime.condition.
	Runtime = "runtime"
	// NewConditionMacro is the macro that builds a condition; it becomes a literal of ConditionTypeName.
	NewConditionMacro = "newCondition"
	// ConditionFunction reads a condition of an object.
	ConditionFunction = "runtime.condition"
	// ConditionTypeName is the CEL name of a condition.
	ConditionTypeName = "kro.run.Condition"
)

// ConditionType is the CEL type of a Condition.
var ConditionType = types.NewObjectType(ConditionTypeName, traits.FieldTesterType, traits.IndexerType)

// Condition is a status condition as CEL sees it. All fields are text; of a condition that is not there all are empty.
type Condition struct {
	Type, Status, Reason, Message string
}

// ConditionFields are the names of a condition's fields in CEL.
var ConditionFields = []string{"type", "status", "reason", "message"}

func (c Condition) field(name string) (string, bool) {
	switch name {
	case "type":
		return c.Type, true
	case "status":
		return c.Status, true
	case "reason":
		return c.Reason, true
	case "message":
		return c.Message, true
	}
	return "", false
}

// conditionValue is a Condition as a CEL value.
type conditionValue struct{ Condition }

// ConditionOf gives the condition that a value is.
func ConditionOf(v ref.Val) (Condition, bool) {
	c, ok := v.(conditionValue)
	return c.Condition, ok
}

// Get gives a field by its CEL name.
func (c conditionValue) Get(index ref.Val) ref.Val {
	if name, ok := index.(types.String); ok {
		if value, ok := c.field(string(name)); ok {
			return types.String(value)
		}
	}
	return types.NewErr("no such field: %v", index)
}

// IsSet says whether a field is not empty.
func (c conditionValue) IsSet(field ref.Val) ref.Val {
	value := c.Get(field)
	if types.IsError(value) {
		return value
	}
	return types.Bool(value != types.String(""))
}

func (c conditionValue) ConvertToNative(want reflect.Type) (any, error) {
	if reflect.TypeOf(c.Condition).AssignableTo(want) {
		return c.Condition, nil
	}
	return nil, fmt.Errorf("a condition cannot be converted to %v", want)
}

func (c conditionValue) ConvertToType(want ref.Type) ref.Val {
	switch want.TypeName() {
	case ConditionTypeName:
		return c
	case types.TypeType.TypeName():
		return ConditionType
	}
	return types.NewErr("type conversion error from '%s' to '%s'", ConditionTypeName, want.TypeName())
}

func (c conditionValue) Equal(other ref.Val) ref.Val { return types.Bool(c == other) }

func (c conditionValue) Type() ref.Type { return ConditionType }

func (c conditionValue) Value() any { return c.Condition }

// NewCondition makes a condition of the fields of a literal.
func NewCondition(fields map[string]ref.Val) ref.Val {
	var c Condition
	into := map[string]*string{"type": &c.Type, "status": &c.Status, "reason": &c.Reason, "message": &c.Message}
	for name, value := range fields {
		target, ok := into[name]
		if !ok {
			return types.NewErr("no such field: %s", name)
		}
		text, ok := value.(types.String)
		if !ok {
			return types.ValOrErr(value, "runtime.newCondition: %s must be a string, got %s", name, value.Type().TypeName())
		}
		*target = string(text)
	}
	return conditionValue{c}
}

// ConditionReader is an object that knows its conditions apart from its status. The instance is one: its status is not readable, its built-in
// conditions are.
type ConditionReader interface {
	Condition(conditionType string) (Condition, bool)
}

func runtimeFunctions() []celgo.EnvOption {
	return []celgo.EnvOption{
		celgo.Macros(celgo.ReceiverMacro(NewConditionMacro, 1, expandNewCondition)),
		celgo.Function(ConditionFunction, celgo.Overload("runtime.condition_dyn_string",
			[]*celgo.Type{celgo.DynType, celgo.StringType}, ConditionType, celgo.BinaryBinding(readCondition))),
	}
}

// readCondition never fails for want of data: what is not there is an empty condition.
func readCondition(object, conditionType ref.Val) ref.Val {
	want, ok := conditionType.(types.String)
	if !ok {
		return types.MaybeNoSuchOverloadErr(conditionType)
	}
	if reader, ok := object.(ConditionReader); ok {
		c, _ := reader.Condition(string(want))
		return conditionValue{c}
	}
	conditions, ok := find(find(object, "status"), "conditions").(traits.Lister)
	if !ok {
		return conditionValue{}
	}
	for it := conditions.Iterator(); it.HasNext() == types.True; {
		if c := it.Next(); textField(c, "type") == string(want) {
			return conditionValue{Condition{
				Type:    string(want),
				Status:  textField(c, "status"),
				Reason:  textField(c, "reason"),
				Message: textField(c, "message"),
			}}
		}
	}
	return conditionValue{}
}

func find(v ref.Val, name string) ref.Val {
	if m, ok := v.(traits.Mapper); ok {
		if value, ok := m.Find(types.String(name)); ok {
			return value
		}
	}
	return nil
}

func textField(v ref.Val, name string) string {
	s, _ := find(v, name).(types.String)
	return string(s)
}

// expandNewCondition turns runtime.newCondition({type: …, status: …}) into a literal of the condition type. The keys are bare names, so that a
// misspelt one is found here and never becomes a variable.
func expandNewCondition(f celgo.MacroExprFactory, target ast.Expr, args []ast.Expr) (ast.Expr, *common.Error) {
	if target.Kind() != ast.IdentKind || target.AsIdent() != Runtime {
		return nil, nil
	}
	refuse := func(at ast.Expr, format string, a ...any) (ast.Expr, *common.Error) {
		return nil, f.NewError(at.ID(), "runtime.newCondition: "+fmt.Sprintf(format, a...))
	}
	if args[0].Kind() != ast.MapKind {
		return refuse(args[0], "argument must be a map literal")
	}
	allowed := strings.Join(ConditionFields, ", ")
	seen := map[string]bool{}
	var fields []ast.EntryExpr
	for _, e := range args[0].AsMap().Entries() {
		entry := e.AsMapEntry()
		if entry.Key().Kind() != ast.IdentKind {
			return refuse(entry.Key(), "keys must be bare identifiers (%s); quoted or computed keys are not allowed", allowed)
		}
		name := entry.Key().AsIdent()
		if !slices.Contains(ConditionFields, name) {
			return refuse(entry.Key(), "unknown key %q (allowed: %s)", name, allowed)
		}
		if seen[name] {
			return refuse(entry.Key(), "duplicate key %q", name)
		}
		if entry.IsOptional() {
			return refuse(entry.Key(), "key %q must not be optional", name)
		}
		seen[name] = true
		fields = append(fields, f.NewStructField(name, entry.Value(), false))
	}
	for _, name := range ConditionFields[:2] {
		if !seen[name] {
			return refuse(args[0], "'%s' is required", name)
		}
	}
	return f.NewStruct(ConditionTypeName, fields...), nil
}
