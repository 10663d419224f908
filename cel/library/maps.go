package library

import (
	celgo "github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

func mapFunctions() []celgo.EnvOption {
	typed := celgo.MapType(celgo.TypeParamType("K"), celgo.TypeParamType("V"))
	dyn := []*celgo.Type{celgo.DynType, celgo.DynType}
	return []celgo.EnvOption{
		celgo.Function("merge", celgo.MemberOverload("map_merge_map", []*celgo.Type{typed, typed}, typed,
			celgo.BinaryBinding(merge))),
		celgo.Function("deepMerge",
			celgo.MemberOverload("dyn_deepMerge_dyn", dyn, celgo.DynType, celgo.BinaryBinding(deepMerge)),
			celgo.Overload("deepMerge_dyn_dyn", dyn, celgo.DynType, celgo.BinaryBinding(deepMerge))),
	}
}

// merge gives the entries of both maps; of a key in both, the right one.
func merge(left, right ref.Val) ref.Val {
	return mergeMaps(left, right, func(_, r ref.Val) ref.Val { return r })
}

// deepMerge merges maps in maps too; anything else on the right replaces what is on the left, lists whole.
func deepMerge(left, right ref.Val) ref.Val {
	return mergeMaps(left, right, func(l, r ref.Val) ref.Val {
		if isMap(l) && isMap(r) {
			return deepMerge(l, r)
		}
		return r
	})
}

func isMap(v ref.Val) bool {
	_, ok := v.(traits.Mapper)
	return ok
}

func mergeMaps(left, right ref.Val, both func(l, r ref.Val) ref.Val) ref.Val {
	l, ok := left.(traits.Mapper)
	if !ok {
		return types.MaybeNoSuchOverloadErr(left)
	}
	r, ok := right.(traits.Mapper)
	if !ok {
		return types.MaybeNoSuchOverloadErr(right)
	}
	merged := make(map[ref.Val]ref.Val, int(size(l)+size(r)))
	for it := l.Iterator(); it.HasNext() == types.True; {
		key := it.Next()
		value := l.Get(key)
		if types.IsError(value) {
			return value
		}
		merged[key] = value
	}
	for it := r.Iterator(); it.HasNext() == types.True; {
		key := it.Next()
		value := r.Get(key)
		if mine, ok := merged[key]; ok {
			value = both(mine, value)
		}
		if types.IsError(value) {
			return value
		}
		merged[key] = value
	}
	return types.NewRefValMap(types.DefaultTypeAdapter, merged)
}
