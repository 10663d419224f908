package library

import (
	celgo "github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types/ref"
)

// Defer is the function that marks a field as one that may come later. It gives what it is given: that its data need not be there, and that its references are no
// dependencies, is decided by who evaluates the field.
const Defer = "defer"

func deferFunction() celgo.EnvOption {
	value := celgo.TypeParamType("T")
	return celgo.Function(Defer, celgo.Overload("defer", []*celgo.Type{value}, value,
		celgo.UnaryBinding(func(v ref.Val) ref.Val { return v })))
}
