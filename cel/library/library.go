package library

import (
	"math"

	celgo "github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/interpreter"
	k8slibrary "k8s.io/apiserver/pkg/cel/library"
)

// Codec converts between CEL and JSON values; the environment provides it.
type Codec struct {
	Encode func(ref.Val) (any, error)
	Decode func(any) ref.Val
}

// Functions gives the options that declare all functions of the library.
func Functions(codec Codec) []celgo.EnvOption {
	var opts []celgo.EnvOption
	opts = append(opts, randomFunctions()...)
	opts = append(opts, hashFunctions()...)
	opts = append(opts, jsonFunctions(codec)...)
	opts = append(opts, mapFunctions()...)
	opts = append(opts, listFunctions()...)
	opts = append(opts, omitFunction(), deferFunction())
	return append(opts, runtimeFunctions()...)
}

// Costs estimates what a call costs at run time: Kubernetes' estimates for the functions it knows, the size of arguments and result for those here.
type Costs struct {
	kubernetes k8slibrary.CostEstimator
}

var _ interpreter.ActualCostEstimator = (*Costs)(nil)

// CallCost gives the cost of one call, or nil to leave it to cel-go.
func (c *Costs) CallCost(function, overload string, args []ref.Val, result ref.Val) *uint64 {
	switch function {
	case "random.seededString", "hash.fnv64a", "hash.sha256", "hash.md5", "json.marshal", "json.unmarshal", "json.encode":
		return traversal(append([]ref.Val{result}, args...)...)
	case "merge", "deepMerge", "lists.setAtIndex", "lists.insertAtIndex", "lists.removeAtIndex", "runtime.condition":
		cost := 1 + size(result)
		return &cost
	}
	return c.kubernetes.CallCost(function, overload, args, result)
}

// traversal is the cost of reading values once, a tenth for each byte or element, as Kubernetes counts it.
func traversal(values ...ref.Val) *uint64 {
	var total uint64
	for _, v := range values {
		total += size(v)
	}
	cost := 1 + uint64(math.Ceil(float64(total)*0.1))
	return &cost
}

func size(v ref.Val) uint64 {
	if s, ok := v.(traits.Sizer); ok {
		if n, ok := s.Size().(types.Int); ok {
			return uint64(n)
		}
	}
	return 1
}
