package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"kro.run/kro/cel"
	"kro.run/kro/graph"
)

// evaluate takes a waiting node as far as data allow: excluded, failed, resolved (desired or target set), or waiting
// with the reason in its detail.
func (p *Pass) evaluate(ctx context.Context, index int) {
	n := &p.nodes[index]
	n.detail, n.root = "", false
	n.touched, n.unmet, n.rendered = nil, nil, nil
	included, err := p.included(ctx, n)
	p.options.Meter.inclusion(err == nil && !included)
	switch {
	case err != nil:
		p.fail(index, err)
		return
	case !included:
		n.phase = Excluded
		return
	case n.detail != "":
		return
	}
	if p.gated(n) {
		return
	}
	n.touched = nil
	ended := p.options.Meter.node()
	err = p.resolve(ctx, n)
	ended(err)
	switch {
	case err == nil && (n.def.Kind == graph.Definition || n.def.Kind == graph.Subgraph):
		p.settle(ctx, index)
	case err == nil:
	case IsPending(err) && len(n.touched) > 0:
		p.holdOn(n)
	default:
		p.pendOrFail(index, err)
	}
}

// holdOn makes a node share the fate of the nodes that it turned out to need on the branch that it took.
func (p *Pass) holdOn(n *node) {
	n.desired, n.target = nil, nil
	if p.needsExcluded(n) {
		n.phase = Excluded
		return
	}
	dep := &p.nodes[n.touched[0]]
	n.detail = fmt.Sprintf("node %q: dependent node %q not ready: %s (data pending)", n.def.ID, dep.def.ID, dep.notReady())
}

// needsExcluded tells that an expression asked for a node that is excluded.
func (p *Pass) needsExcluded(n *node) bool {
	return slices.ContainsFunc(n.touched, func(d int) bool { return p.nodes[d].phase == Excluded })
}

// pendOrFail makes a node wait when what an expression misses may still come, and fail otherwise.
func (p *Pass) pendOrFail(index int, err error) {
	n := &p.nodes[index]
	var scope *ScopeError
	switch {
	case errors.As(err, &scope):
		p.fail(index, err)
		return
	case !IsPending(err):
		p.fail(index, fmt.Errorf("node %q: %w", n.def.ID, err))
		return
	}
	n.desired, n.target = nil, nil
	n.detail = fmt.Sprintf("node %q: %v (data pending)", n.def.ID, err)
	n.root = true
}

// IsPending tells that an expression failed only because data are not there yet.
func IsPending(err error) bool {
	var e *cel.EvalError
	var missing *MissingKindError
	return errors.As(err, &e) && e.Pending || errors.As(err, &missing)
}

// included decides includeWhen. Exclusion is contagious: a node that refers to an excluded one is excluded itself.
// Conditions over the instance alone decide at once; those over nodes wait until these are ready, since a decision on
// half-made data would create or prune objects by mistake. It waits by setting the node's detail.
func (p *Pass) included(ctx context.Context, n *node) (bool, error) {
	for _, d := range n.def.Dependencies {
		if p.nodes[d].phase == Excluded && n.binds(d) {
			return false, nil
		}
	}
	for _, condition := range n.def.IncludeWhen {
		if p.readsNodes(n.def.Frame, condition) {
			continue
		}
		if holds, err := p.condition(ctx, condition, scope{p, n}); err != nil || !holds {
			return false, wrapInclude(condition, err)
		}
	}
	for _, d := range n.def.IncludeDependencies {
		if dep := &p.nodes[d]; !dep.isReady() {
			n.detail = fmt.Sprintf("includeWhen dependency %q not ready: %s (data pending)", dep.def.ID, dep.notReady())
			return true, nil
		}
	}
	for _, condition := range n.def.IncludeWhen {
		if !p.readsNodes(n.def.Frame, condition) {
			continue
		}
		holds, err := p.condition(ctx, condition, scope{p, n})
		if IsPending(err) && p.needsExcluded(n) {
			return false, nil
		}
		if IsPending(err) {
			n.detail = fmt.Sprintf("node %q: includeWhen %q: %v (data pending)", n.def.ID, condition.Source(), err)
			n.root = true
			return true, nil
		}
		if err != nil || !holds {
			return false, wrapInclude(condition, err)
		}
	}
	return true, nil
}

func wrapInclude(condition *cel.Expression, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("includeWhen %q: %w", condition.Source(), err)
}

// readsNodes tells that an expression refers to a node, not only to the instance.
func (p *Pass) readsNodes(frame int, x *cel.Expression) bool {
	for _, name := range x.References() {
		if _, isNode := p.lookup(frame, name); isNode {
			return true
		}
	}
	return false
}

// condition evaluates a boolean expression; null and an optional without a value count as false.
func (p *Pass) condition(ctx context.Context, x *cel.Expression, act cel.Activation) (bool, error) {
	value, err := x.Eval(ctx, act)
	if err != nil {
		return false, err
	}
	native, err := cel.ToJSON(value)
	if err != nil {
		return false, err
	}
	switch holds := native.(type) {
	case bool:
		return holds, nil
	case nil:
		return false, nil
	default:
		return false, fmt.Errorf("%q gave %T, expected a bool", x.Source(), native)
	}
}

// gated tells whether a dependency holds the node back, and says which in the node's detail.
func (p *Pass) gated(n *node) bool {
	for _, d := range n.def.Dependencies {
		dep := &p.nodes[d]
		if p.opens(dep) || dep.phase == Excluded || slices.Contains(n.def.Conditional, d) {
			continue
		}
		n.detail = fmt.Sprintf("node %q: dependent node %q not ready: %s (data pending)", n.def.ID, dep.def.ID, dep.notReady())
		return true
	}
	return false
}

// opens tells that a dependency lets its dependents go on. An excluded one does not: they are excluded with it.
func (p *Pass) opens(dep *node) bool {
	return dep.phase == Observed && (dep.ready || p.options.Gate == GateScope)
}

// binds tells that the fate of a dependency is the node's own: that it is excluded when the dependency is. A reference
// on a branch that is not taken does not bind, and neither does an inline graph depend on each of its children to exist.
func (n *node) binds(d int) bool {
	return n.def.Kind != graph.Subgraph && !slices.Contains(n.def.Conditional, d)
}

// isReady tells that dependents may go on: observed with readyWhen holding, or excluded.
func (n *node) isReady() bool {
	return n.phase == Excluded || n.phase == Observed && n.ready
}

func (n *node) notReady() string {
	switch {
	case n.phase == Observed && !n.ready:
		return n.detail
	case n.phase == Failed || n.phase == Waiting || n.phase == Running:
		return fmt.Sprintf("node %q: no observed state: waiting for readiness", n.def.ID)
	}
	return ""
}

// resolve computes what the node wants done.
func (p *Pass) resolve(ctx context.Context, n *node) error {
	switch n.def.Kind {
	case graph.Template, graph.Patch:
		return p.resolveTemplate(ctx, n)
	case graph.Definition:
		return p.resolveDefinition(ctx, n)
	case graph.Subgraph:
		p.resolveSubgraph(n)
		return nil
	case graph.Reference, graph.Selection:
		target, err := p.resolveTarget(ctx, n)
		n.target = target
		return err
	default:
		return fmt.Errorf("nodes of kind %s cannot be evaluated", n.def.Kind)
	}
}
