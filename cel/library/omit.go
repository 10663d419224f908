package library

import (
	"fmt"
	"reflect"

	celgo "github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
)

// Omit is the value of omit(): the field or list element that resolves to it is left out of the object. It can be passed around, but not compared,
// converted or computed with.
var Omit ref.Val = omit{}

var omitType = types.NewOpaqueType("omit")

type omit struct{}

func (omit) ConvertToNative(want reflect.Type) (any, error) {
	return nil, fmt.Errorf("omit() has no value that could become %v", want)
}

func (omit) ConvertToType(ref.Type) ref.Val {
	return types.NewErr("omit() cannot be converted: it stands for the absence of a field")
}

func (omit) Equal(ref.Val) ref.Val {
	return types.NewErr("omit() cannot be compared: it stands for the absence of a field")
}

func (omit) Type() ref.Type { return omitType }

func (omit) Value() any { return Omit }

func omitFunction() celgo.EnvOption {
	return celgo.Function("omit", celgo.Overload("omit", nil, celgo.DynType,
		celgo.FunctionBinding(func(...ref.Val) ref.Val { return Omit })))
}
