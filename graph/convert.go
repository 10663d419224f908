package graph

import (
	"context"

	celtypes "github.com/google/cel-go/common/types"

	"kro.run/kro/cel"
	"kro.run/kro/schema"
)

// evalExpression evaluates an expression and returns fresh JSON for a field of the target schema, where bytes become the
// base64 text that the API wants. It is cel.Omitted when the expression omits its field, and when it is an optional without
// a value and the field does not take null; omitted entries inside a result are gone from it.
func evalExpression(ctx context.Context, vars cel.Activation, x *cel.Expression, target *schema.Node) (any, error) {
	value, err := x.Eval(ctx, vars)
	if err != nil {
		return nil, err
	}
	if optional, ok := value.(*celtypes.Optional); ok && !optional.HasValue() && refusesNull(target) {
		return cel.Omitted, nil
	}
	result, err := cel.ToJSONFor(target, value)
	if err != nil {
		return nil, &ConvertError{Source: x.Source(), Err: err}
	}
	if x.UsesOmit() {
		dropOmitted(&result)
	}
	return result, nil
}

// refusesNull tells that null is no value for a field: custom resources are refused for it, and with built-in kinds it would
// take the field away from whoever else manages it.
func refusesNull(target *schema.Node) bool {
	return target != nil && !target.Nullable && (target.Type != "" || target.IntOrString)
}

// dropOmitted takes the omitted entries out of JSON. A value that is omitted as a whole stays as it is: it is for
// whoever holds it to drop.
func dropOmitted(value *any) {
	switch v := (*value).(type) {
	case map[string]any:
		for name, entry := range v {
			if cel.IsOmitted(entry) {
				delete(v, name)
				continue
			}
			dropOmitted(&entry)
			v[name] = entry
		}
	case []any:
		kept := v[:0]
		for _, entry := range v {
			if !cel.IsOmitted(entry) {
				dropOmitted(&entry)
				kept = append(kept, entry)
			}
		}
		*value = kept
	}
}

// deepCopy copies JSON.
func deepCopy(value any) any {
	switch value := value.(type) {
	case map[string]any:
		copied := make(map[string]any, len(value))
		for name, v := range value {
			copied[name] = deepCopy(v)
		}
		return copied
	case []any:
		copied := make([]any, len(value))
		for i, v := range value {
			copied[i] = deepCopy(v)
		}
		return copied
	}
	return value
}
