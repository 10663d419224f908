package engine

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"

	"kro.run/kro/cel"
)

// A deferred field may read a node that comes later, or one that reads the node of the field (KREP-019). It must not come and go in every pass: so a node
// with deferred fields is rendered last among what can be done; what it then still lacks is taken over from the object as it stands; and it is rendered once
// more when the data have come within the pass.

// heldBack tells that a resolved node waits for the data of its deferred fields, as long as anything else can be done.
func (p *Pass) heldBack(index int) bool {
	n := &p.nodes[index]
	if n.late || n.again || !slices.ContainsFunc(n.unmet, p.mayCome) {
		return false
	}
	n.desired, n.target, n.held = nil, nil, true
	return true
}

// mayCome tells that a node which has no data may have some within this pass.
func (p *Pass) mayCome(index int) bool {
	return p.nodes[index].phase == Waiting || p.nodes[index].phase == Running
}

// letGo has the first of the nodes that were held back go on with the data that there are.
func (p *Pass) letGo() bool {
	for _, index := range p.program.Order {
		if n := &p.nodes[index]; n.held {
			n.held, n.late = false, true
			p.dirty[index] = true
			return true
		}
	}
	return false
}

// renderOver renders a node again whose deferred fields have no data, over its object as it stands. What reads an excluded node is left out: no data are
// going to come.
func (p *Pass) renderOver(ctx context.Context, n *node, act cel.Activation, rendered any) (any, error) {
	if p.options.Previous == nil {
		return rendered, nil
	}
	name, namespace := nameOf(rendered)
	for _, standing := range p.options.Previous(n.def) {
		if there, in := nameOf(standing); there == name && (namespace == "" || in == namespace) {
			return n.def.Body.EvalOver(ctx, act, standing, func() bool { return p.nodes[n.unmet[len(n.unmet)-1]].phase != Excluded })
		}
	}
	return rendered, nil
}

// former is what a node was before it was rendered anew.
type former struct {
	desired  []Desired
	rendered []map[string]any
}

// unchanged tells that a node which was rendered anew wants what it wanted: then it is as it was.
func (p *Pass) unchanged(index int) bool {
	n := &p.nodes[index]
	if n.former == nil || len(n.desired) != len(n.former.rendered) {
		return false
	}
	for item, d := range n.desired {
		if !equality.Semantic.DeepEqual(d.Object, n.former.rendered[item]) {
			return false
		}
	}
	n.phase, n.desired = Observed, n.former.desired
	for item, d := range n.desired {
		p.claims[d.Identity] = claim{node: index, item: item}
	}
	return true
}

// nameOf is the name and the namespace of an object; what is only rendered may have no namespace yet.
func nameOf(object any) (name, namespace string) {
	fields, _ := object.(map[string]any)
	metadata, _ := fields["metadata"].(map[string]any)
	name, _ = metadata["name"].(string)
	namespace, _ = metadata["namespace"].(string)
	return name, namespace
}

// settled tells that a node had no data when it was read, and has some now, or is known never to have any.
func (p *Pass) settled(index int) bool {
	return p.nodes[index].phase == Observed || p.nodes[index].phase == Excluded
}

// renderDeferred lets nodes whose deferred fields had no data be rendered once more when the data have come meanwhile, or cannot come any more.
// What depends on them has gone on with what it saw; it is looked at again when the change is noticed.
func (p *Pass) renderDeferred() bool {
	any := false
	for i := range p.nodes {
		n := &p.nodes[i]
		if n.phase != Observed || n.again || !slices.ContainsFunc(n.unmet, p.settled) {
			continue
		}
		for _, d := range n.desired {
			delete(p.claims, d.Identity)
		}
		n.former = &former{desired: n.desired, rendered: n.rendered}
		n.phase, n.desired, n.target, n.again = Waiting, nil, nil, true
		p.dirty[i] = true
		any = true
	}
	return any
}
