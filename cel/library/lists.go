package library

import (
	celgo "github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

func listFunctions() []celgo.EnvOption {
	elem := celgo.TypeParamType("T")
	list := celgo.ListType(elem)
	return []celgo.EnvOption{
		celgo.Function("lists.setAtIndex", celgo.Overload("lists.setAtIndex_list_int_T", []*celgo.Type{list, celgo.IntType, elem}, list,
			celgo.FunctionBinding(func(args ...ref.Val) ref.Val {
				return edit("lists.setAtIndex", args[0], args[1], 0, func(values []ref.Val, i int) []ref.Val {
					values[i] = args[2]
					return values
				})
			}))),
		celgo.Function("lists.insertAtIndex", celgo.Overload("lists.insertAtIndex_list_int_T", []*celgo.Type{list, celgo.IntType, elem}, list,
			celgo.FunctionBinding(func(args ...ref.Val) ref.Val {
				return edit("lists.insertAtIndex", args[0], args[1], 1, func(values []ref.Val, i int) []ref.Val {
					values = append(values, nil)
					copy(values[i+1:], values[i:])
					values[i] = args[2]
					return values
				})
			}))),
		celgo.Function("lists.removeAtIndex", celgo.Overload("lists.removeAtIndex_list_int", []*celgo.Type{list, celgo.IntType}, list,
			celgo.BinaryBinding(func(l, index ref.Val) ref.Val {
				return edit("lists.removeAtIndex", l, index, 0, func(values []ref.Val, i int) []ref.Val {
					return append(values[:i], values[i+1:]...)
				})
			}))),
	}
}

// edit applies a change at an index to a copy of the list. The index may be up to the size plus extra, exclusive.
func edit(function string, v, index ref.Val, extra int, change func([]ref.Val, int) []ref.Val) ref.Val {
	l, ok := v.(traits.Lister)
	if !ok {
		return types.MaybeNoSuchOverloadErr(v)
	}
	at, ok := index.(types.Int)
	if !ok {
		return types.MaybeNoSuchOverloadErr(index)
	}
	values := make([]ref.Val, 0, int(size(l))+1)
	for it := l.Iterator(); it.HasNext() == types.True; {
		values = append(values, it.Next())
	}
	if at < 0 || int64(at) >= int64(len(values)+extra) {
		end := ")"
		if extra > 0 {
			end = "]"
		}
		return types.NewErr("%s: index %d out of bounds [0, %d%s", function, int64(at), len(values), end)
	}
	return types.NewRefValList(types.DefaultTypeAdapter, change(values, int(at)))
}
