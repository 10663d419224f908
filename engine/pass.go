package engine

import (
	"context"

	"github.com/google/cel-go/common/types/ref"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"

	"kro.run/kro/graph"
)

// Phase says how far a node has come in a pass.
type Phase int

const (
	// Waiting: something that the node refers to is not there yet.
	Waiting Phase = iota
	// Excluded: includeWhen says no, or a node that it refers to is excluded.
	Excluded
	// Running: handed out as a task; results are outstanding.
	Running
	// Observed: every object of the node is there. Whether they are ready is another question.
	Observed
	// Failed: an expression, a limit, or the server refused it.
	Failed
)

// Desired is one object that a node wants on the server: an object of its own, or the fields that it contributes to an
// object of somebody else (a patch).
type Desired struct {
	Identity Identity
	GVK      kschema.GroupVersionKind
	Resource kschema.GroupVersionResource
	// Object is the manifest with its namespace filled in. It is fresh: the driver may add to it.
	Object map[string]any
}

// Task is something to be done outside for one node.
type Task struct {
	Node *graph.Node
	// Objects are to be applied; for a node of kind Template. It may be empty: an empty collection needs no answer.
	Objects []Desired
	// Target is to be read; for nodes of kind Reference and Selection.
	Target *Target
}

// Pass evaluates one instance once. It belongs to one goroutine.
type Pass struct {
	program  *graph.Program
	instance map[string]any
	options  Options

	position []int // topological position by node index
	nodes    []node
	claims   map[Identity]claim
	dirty    map[int]bool
	self     ref.Val
	missing  []kschema.GroupVersionKind // kinds that expressions gave and nobody serves
}

// node is the state of one node within a pass.
type node struct {
	def   *graph.Node
	phase Phase

	desired  []Desired
	observed []map[string]any
	open     int // items whose result is outstanding
	deleting []Identity
	absent   []Identity
	errs     []error // of items, or of the node as a whole
	target   *Target

	touched []int // nodes needed on the branch that was taken, and not there
	unmet   []int // nodes that a deferred field reads, and that were not observed yet
	held    bool  // held back because of them
	late    bool  // has been held back for long enough
	again   bool  // rendered anew for them
	// rendered is what the node wanted when it was rendered for want of data, former what it was before it is rendered anew.
	rendered []map[string]any
	former   *former

	ready  bool
	detail string // why it waits, or why it is not ready
	root   bool   // waits for its own data, not merely for a dependency
	value  ref.Val
}

// Begin starts a pass over an instance. The instance is a JSON object as the server returns it; it is not changed.
func Begin(program *graph.Program, instance map[string]any, options Options) *Pass {
	if program.Instance != nil {
		instance = program.Instance.Defaults.Apply(instance)
	}
	p := &Pass{
		program: program, instance: instance, options: options,
		position: make([]int, len(program.Nodes)),
		nodes:    make([]node, len(program.Nodes)),
		claims:   map[Identity]claim{},
		dirty:    make(map[int]bool, len(program.Nodes)),
	}
	for i, n := range program.Nodes {
		p.nodes[i].def = n
		p.dirty[i] = true
	}
	for at, index := range program.Order {
		p.position[index] = at
	}
	return p
}

// Advance evaluates every node that became possible since the last call and returns what has to be done for them, in
// topological order. No tasks and none outstanding means that the pass is over.
func (p *Pass) Advance(ctx context.Context) []Task {
	var round []int
	for {
		index, ok := p.nextDirty()
		if !ok {
			break
		}
		if p.nodes[index].phase != Waiting {
			continue
		}
		before := p.nodes[index].phase
		p.evaluate(ctx, index)
		if p.nodes[index].phase == Waiting && p.resolved(index) && !p.heldBack(index) && !p.unchanged(index) {
			round = append(round, index)
		}
		if p.nodes[index].phase != before {
			p.wakeDependents(index)
		}
	}
	p.claimAll(round)
	tasks := p.handOut(ctx, round)
	if len(tasks) == 0 && !p.Outstanding() && (p.letGo() || p.renderDeferred()) {
		return p.Advance(ctx)
	}
	return tasks
}

// resolved tells that a waiting node knows what it wants done.
func (p *Pass) resolved(index int) bool {
	n := &p.nodes[index]
	return n.detail == "" && (n.desired != nil || n.target != nil)
}

func (p *Pass) handOut(ctx context.Context, round []int) []Task {
	var tasks []Task
	again := false
	for _, index := range round {
		n := &p.nodes[index]
		if n.phase != Waiting {
			continue // refused while identities were claimed
		}
		n.phase = Running
		if n.target != nil {
			tasks = append(tasks, Task{Node: n.def, Target: n.target})
			continue
		}
		n.open = len(n.desired)
		n.observed = make([]map[string]any, len(n.desired))
		if n.open == 0 {
			p.settle(ctx, index)
			again = true
			continue
		}
		tasks = append(tasks, Task{Node: n.def, Objects: n.desired})
	}
	if again {
		tasks = append(tasks, p.Advance(ctx)...)
	}
	return tasks
}

// Outstanding tells whether results are still awaited.
func (p *Pass) Outstanding() bool {
	for i := range p.nodes {
		if p.nodes[i].phase == Running {
			return true
		}
	}
	return false
}

func (p *Pass) nextDirty() (int, bool) {
	best, found := -1, false
	for index := range p.dirty {
		if !found || p.position[index] < p.position[best] {
			best, found = index, true
		}
	}
	if found {
		delete(p.dirty, best)
	}
	return best, found
}

func (p *Pass) wakeDependents(index int) {
	for _, d := range p.nodes[index].def.Dependents {
		if p.nodes[d].phase == Waiting && p.nodes[d].desired == nil && p.nodes[d].target == nil {
			p.dirty[d] = true
		}
	}
}

func (p *Pass) fail(index int, err error) {
	n := &p.nodes[index]
	n.phase = Failed
	n.errs = append(n.errs, err)
	p.wakeDependents(index)
}
