package engine

import (
	"context"
	"fmt"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"

	"kro.run/kro/cel"
	"kro.run/kro/graph"
)

var trueVal ref.Val = types.True

// Applied tells that an item of a node stands on the server, and how: the observed object. Items of single nodes are
// item 0. The object is shared with the pass and must not be changed.
func (p *Pass) Applied(ctx context.Context, node *graph.Node, item int, observed map[string]any) {
	n := &p.nodes[node.Index]
	n.observed[item] = observed
	p.answered(ctx, node.Index)
}

// Refused tells that an item could not be applied.
func (p *Pass) Refused(ctx context.Context, node *graph.Node, item int, err error) {
	n := &p.nodes[node.Index]
	if node.Collection {
		err = fmt.Errorf("collection item %d: %w (%s)", item, err, n.desired[item].Identity)
	}
	n.errs = append(n.errs, &RefusedError{Node: node.ID, Item: item, Err: err})
	p.answered(ctx, node.Index)
}

// Deleting tells that the object of an item is being deleted, so that it can neither be applied nor be relied on.
func (p *Pass) Deleting(ctx context.Context, node *graph.Node, item int) {
	n := &p.nodes[node.Index]
	n.deleting = append(n.deleting, n.desired[item].Identity)
	p.answered(ctx, node.Index)
}

// Absent tells that the object which an item contributes to does not exist. The node waits for it.
func (p *Pass) Absent(ctx context.Context, node *graph.Node, item int) {
	n := &p.nodes[node.Index]
	n.absent = append(n.absent, n.desired[item].Identity)
	p.answered(ctx, node.Index)
}

// Found answers a task with a Target: the objects that it leads to, in a stable order; none when there are none.
func (p *Pass) Found(ctx context.Context, node *graph.Node, objects []map[string]any) {
	n := &p.nodes[node.Index]
	if node.Kind == graph.Reference && len(objects) == 0 {
		p.unfound(node.Index, fmt.Sprintf("waiting for external reference %q: not found (%s %s)", node.ID, n.target.GVK.Kind, n.target.path()))
		return
	}
	n.observed = objects
	p.settle(ctx, node.Index)
}

// Unsettled answers a task with a Target whose objects are not known yet, and says why. The node waits.
func (p *Pass) Unsettled(node *graph.Node, why string) {
	what := "reference"
	if node.Kind == graph.Selection {
		what = "collection"
	}
	p.unfound(node.Index, fmt.Sprintf("waiting for external %s %q: %s", what, node.ID, why))
}

// Unreadable answers a task with a Target that the server refused to read.
func (p *Pass) Unreadable(node *graph.Node, err error) {
	target := p.nodes[node.Index].target
	p.fail(node.Index, fmt.Errorf("external ref get %s %s: %w", target.GVK, target.path(), err))
}

func (p *Pass) unfound(index int, why string) {
	n := &p.nodes[index]
	n.phase, n.detail, n.root = Waiting, why, true
	p.wakeDependents(index)
}

// RefusedError is an object that the server, or an ownership rule, did not let kro apply.
type RefusedError struct {
	Node string
	Item int
	Err  error
}

// Error is the refusal's own text.
func (e *RefusedError) Error() string { return e.Err.Error() }

// Unwrap returns the refusal.
func (e *RefusedError) Unwrap() error { return e.Err }

func (p *Pass) answered(ctx context.Context, index int) {
	n := &p.nodes[index]
	if n.open--; n.open > 0 {
		return
	}
	switch {
	case len(n.errs) > 0:
		n.phase = Failed
		p.wakeDependents(index)
	case len(n.deleting) > 0:
		n.phase, n.root = Waiting, true
		n.detail = deletingMessage(n)
		p.wakeDependents(index)
	case len(n.absent) > 0:
		n.phase, n.root = Waiting, true
		n.detail = fmt.Sprintf("node %q: %s does not exist; a patch never creates its object (data pending)", n.def.ID, n.absent[0])
		p.wakeDependents(index)
	default:
		p.settle(ctx, index)
	}
}

func deletingMessage(n *node) string {
	id := n.deleting[0]
	name := id.Name
	if id.Namespace != "" {
		name = id.Namespace + "/" + name
	}
	return fmt.Sprintf("resource %q for node %q is currently being deleted; waiting for deletion to complete before continuing reconciliation", name, n.def.ID)
}

// settle decides readiness once all objects of a node are observed, and lets dependents go on.
func (p *Pass) settle(ctx context.Context, index int) {
	n := &p.nodes[index]
	n.phase = Observed
	n.value = nil
	n.ready, n.detail = p.readiness(ctx, index)
	p.options.Meter.readiness(n.ready)
	p.wakeDependents(index)
}

// readiness evaluates readyWhen: over the object, or over each item. Missing data and an optional without a value mean
// not ready. So does an expression that fails, which is told as an error besides.
func (p *Pass) readiness(ctx context.Context, index int) (bool, string) {
	n := &p.nodes[index]
	for _, x := range n.def.ReadyWhen {
		if !n.def.Collection {
			names := map[string]ref.Val{n.def.ID: p.value(index)}
			if detail := p.readyDetail(ctx, n, x, names, ""); detail != "" {
				return false, detail
			}
			continue
		}
		for item, object := range n.observed {
			names := map[string]ref.Val{
				"each":   p.program.Types.Value(n.def.Schema, object),
				n.def.ID: p.value(index),
			}
			if detail := p.readyDetail(ctx, n, x, names, fmt.Sprintf(" (item %d)", item)); detail != "" {
				return false, detail
			}
		}
	}
	return true, ""
}

func (p *Pass) readyDetail(ctx context.Context, n *node, x *cel.Expression, names map[string]ref.Val, item string) string {
	holds, err := p.condition(ctx, x, overlay{names: names, parent: scope{p, n}})
	switch {
	case err == nil && holds:
		return ""
	case err == nil:
		return fmt.Sprintf("readyWhen condition evaluated to false: %q%s (waiting for readiness)", x.Source(), item)
	case IsPending(err):
		return fmt.Sprintf("node %q: failed to evaluate readyWhen expression: %q%s (waiting for readiness)", n.def.ID, x.Source(), item)
	default:
		wrapped := fmt.Errorf("node %q: failed to evaluate readyWhen expression: %q%s (%w)", n.def.ID, x.Source(), item, err)
		n.errs = append(n.errs, wrapped)
		return wrapped.Error()
	}
}
