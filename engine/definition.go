package engine

import (
	"context"
	"fmt"

	"github.com/google/cel-go/common/types/ref"

	"kro.run/kro/cel"
)

// resolveDefinition computes the values of a def: one object, or one for each combination of its forEach.
func (p *Pass) resolveDefinition(ctx context.Context, n *node) error {
	if len(n.def.ForEach) == 0 {
		value, err := p.define(ctx, n, scope{p, n})
		if err != nil {
			return err
		}
		n.observed = []map[string]any{value}
		return nil
	}
	axes, err := p.axes(ctx, n)
	if err != nil {
		return err
	}
	values := make([]map[string]any, 0, product(axes))
	err = eachCombination(axes, func(combination []ref.Val) error {
		names := make(map[string]ref.Val, len(combination))
		for i, v := range combination {
			names[n.def.ForEach[i].Name] = v
		}
		value, err := p.define(ctx, n, overlay{names: names, parent: scope{p, n}})
		if err != nil {
			return err
		}
		values = append(values, value)
		return nil
	})
	n.observed = values
	return err
}

func (p *Pass) define(ctx context.Context, n *node, act cel.Activation) (map[string]any, error) {
	raw, err := n.def.Body.Eval(ctx, act)
	if err != nil {
		return nil, fmt.Errorf("failed to evaluate expression: %w", err)
	}
	value, ok := raw.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("the definition gave %T, expected an object", raw)
	}
	return value, nil
}
