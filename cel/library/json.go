package library

import (
	"encoding/json"

	celgo "github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
)

func jsonFunctions(codec Codec) []celgo.EnvOption {
	return []celgo.EnvOption{
		celgo.Function("json.unmarshal", celgo.Overload("json.unmarshal_string", []*celgo.Type{celgo.StringType}, celgo.DynType,
			celgo.UnaryBinding(func(v ref.Val) ref.Val { return unmarshal(codec, v) }))),
		celgo.Function("json.marshal", celgo.Overload("json.marshal_dyn", []*celgo.Type{celgo.DynType}, celgo.StringType,
			celgo.UnaryBinding(func(v ref.Val) ref.Val { return marshal(codec, v) }))),
	}
}

// unmarshal reads JSON as Go does: every number is a double.
func unmarshal(codec Codec, v ref.Val) ref.Val {
	s, ok := v.(types.String)
	if !ok {
		return types.MaybeNoSuchOverloadErr(v)
	}
	var value any
	if err := json.Unmarshal([]byte(s), &value); err != nil {
		return types.NewErr("json.unmarshal failed to parse JSON: %v", err)
	}
	return codec.Decode(value)
}

// marshal writes JSON as Go does: keys sorted, and <, > and & escaped.
func marshal(codec Codec, v ref.Val) ref.Val {
	if types.IsUnknownOrError(v) {
		return v
	}
	value, err := codec.Encode(v)
	if err != nil {
		return types.NewErr("json.marshal failed to convert value: %v", err)
	}
	text, err := json.Marshal(value)
	if err != nil {
		return types.NewErr("json.marshal failed to marshal JSON: %v", err)
	}
	return types.String(text)
}
