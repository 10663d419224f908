package engine

import (
	"context"

	"github.com/google/cel-go/common/types/ref"

	"kro.run/kro/cel"
)

// Condition evaluates one entry of the author's conditions. The own conditions are what runtime.condition(schema, …)
// can read.
func (p *Pass) Condition(ctx context.Context, entry *cel.Expression, own []cel.StatusCondition) ([]cel.StatusCondition, error) {
	names := map[string]ref.Val{SchemaVariable: cel.WithConditions(p.schemaValue(), own)}
	value, err := entry.Eval(ctx, overlay{names: names, parent: scope{p, nil}})
	if err != nil {
		return nil, err
	}
	return cel.ConditionsOf(value)
}
