package engine

import (
	"context"
	"fmt"
	"strings"

	kschema "k8s.io/apimachinery/pkg/runtime/schema"

	"kro.run/kro/graph"
)

// State sums an instance up; it is the `status.state` of an instance.
type State string

// The states of an instance that a pass can end in.
const (
	StateActive     State = "ACTIVE"
	StateInProgress State = "IN_PROGRESS"
	StateError      State = "ERROR"
)

// Outcome is what a pass came to.
type Outcome struct {
	State State
	// Deleting tells that an object which the instance wants is being deleted.
	Deleting bool
	// Message says what holds the instance back; empty when nothing does.
	Message string
	// Prunable tells that every node is resolved and applied, so that what the pass did not apply may be deleted.
	Prunable bool
	// Failed tells that something was refused or could not be evaluated, so that trying again may help.
	Failed bool
	// Nodes are the states of the nodes in document order.
	Nodes []NodeOutcome
	// Missing are kinds that expressions gave and that are not served.
	Missing []kschema.GroupVersionKind
}

// NodeOutcome is the state of one node.
type NodeOutcome struct {
	Node    *graph.Node
	Phase   Phase
	Ready   bool
	Message string
	// Errs are what failed: of the node, or of its items.
	Errs []error
	// Desired are the objects that the node wants; nil while it is not resolved.
	Desired []Desired
	// Observed are the objects as they stand, aligned with Desired for templates; entries may be nil.
	Observed []map[string]any
}

// State is the word for where a node stands, as a status shows it: Excluded, Failed, Ready, NotReady or Waiting.
func (n NodeOutcome) State() string {
	switch n.Phase {
	case Excluded:
		return "Excluded"
	case Failed:
		return "Failed"
	case Observed:
		if n.Ready {
			return "Ready"
		}
		return "NotReady"
	}
	return "Waiting"
}

// Outcome sums the pass up. It may be asked at any time, also before the pass is over.
func (p *Pass) Outcome() Outcome {
	out := Outcome{State: StateActive, Prunable: true, Nodes: make([]NodeOutcome, len(p.nodes))}
	for i := range p.nodes {
		n := &p.nodes[i]
		out.Nodes[i] = NodeOutcome{
			Node: n.def, Phase: n.phase, Ready: n.isReady(), Message: n.message(), Errs: n.errs,
			Desired: n.desired, Observed: n.observed,
		}
		if len(n.errs) > 0 {
			out.Failed = true
		}
		if len(n.deleting) > 0 {
			out.Deleting = true
		}
		if n.phase != Excluded && n.phase != Observed {
			out.Prunable = false
		}
		if !n.isReady() {
			out.State = StateInProgress
		}
	}
	if out.Failed {
		out.State = StateError
	}
	out.Missing = p.missing
	out.Message = p.message()
	return out
}

func (n *node) message() string {
	if len(n.errs) > 0 {
		return joinErrors(n.errs)
	}
	return n.detail
}

func joinErrors(errs []error) string {
	texts := make([]string, 0, len(errs))
	for i, err := range errs {
		if i == maxErrors {
			texts = append(texts, fmt.Sprintf("and %d more", len(errs)-maxErrors))
			break
		}
		texts = append(texts, err.Error())
	}
	return strings.Join(texts, "\n")
}

// maxErrors bounds how many errors of one node a message spells out.
const maxErrors = 5

// message says what holds the instance back, in document order: errors first, then nodes whose objects are not ready,
// then nodes whose data are missing. Nodes that merely wait for such a one are not listed when the cause is.
func (p *Pass) message() string {
	var deleting, refused, failed, waiting, unresolved []string
	seen := map[string]bool{}
	for i := range p.nodes {
		n := &p.nodes[i]
		switch {
		case len(n.deleting) > 0:
			deleting = append(deleting, n.detail)
		case len(n.errs) > 0 && isRefusal(n.errs[0]):
			refused = append(refused, n.message())
		case len(n.errs) > 0:
			if text := n.message(); !seen[text] {
				failed = append(failed, text)
				seen[text] = true
			}
		case n.phase == Waiting && n.def.Kind != graph.Template && n.root:
			waiting = append(waiting, n.detail)
		case n.phase == Observed && !n.ready:
			waiting = append(waiting, fmt.Sprintf("waiting for node %q: %s", n.def.ID, n.detail))
		case n.phase == Waiting && n.detail != "":
			unresolved = append(unresolved, fmt.Sprintf("gvr %q: %s", n.def.Resource.String(), n.detail))
		}
	}
	if len(deleting) > 0 {
		return strings.Join(deleting, "\n")
	}
	var parts []string
	if len(failed) > 0 {
		parts = append(parts, strings.Join(failed, "\n"))
	}
	if all := append(refused, waiting...); len(all) > 0 {
		parts = append(parts, "apply results contain errors: "+strings.Join(all, "\n"))
	}
	if len(unresolved) > 0 {
		parts = append(parts, "waiting for unresolved resource: "+strings.Join(unresolved, "\n"))
	}
	if len(parts) == 0 {
		return ""
	}
	return "resource reconciliation failed: " + strings.Join(parts, "\n")
}

func isRefusal(err error) bool {
	_, ok := err.(*RefusedError)
	return ok
}

// Status projects the nodes into the author's status fields. Each leaf stands alone: one whose data are missing is
// absent; one that fails otherwise is absent and told.
func (p *Pass) Status(ctx context.Context) (map[string]any, []*graph.LeafError) {
	status, faults := p.program.Status.Eval(ctx, scope{p, nil})
	var hard []*graph.LeafError
	for _, f := range faults {
		if !f.Pending {
			hard = append(hard, f)
		}
	}
	return status, hard
}
