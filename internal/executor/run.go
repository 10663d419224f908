package executor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sort"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"

	"kro.run/kro/engine"
	"kro.run/kro/graph"
	"kro.run/kro/internal/apply"
)

// Executor carries plans out. One serves all instances; it is safe for concurrent use.
type Executor struct {
	Server Server
	Memory *Memory
	// Slots bounds the writes that are under way, over all instances.
	Slots chan struct{}
	// Go runs a request in the background. The default is a goroutine; a simulation runs it at once.
	Go func(func())
	// ReadPatience is how long a pass waits for a reference that is read for the first time.
	ReadPatience time.Duration

	locks keyedLocks
}

// Request is one pass over one instance.
type Request struct {
	Pass   *engine.Pass
	Owner  Owner
	Stores Stores
	// Server is what this pass reads and writes through, when it is another than the executor's: one that acts as somebody else.
	Server Server
	// Trusted are the content hashes of what each node applied last, from the status of the instance: memory after a
	// restart. See NodeHash.
	Trusted map[string]string
	// Cover writes the inventory so that it names the given kinds and namespaces. It is called before an object is
	// created that the inventory may not name yet, and must be cheap when nothing is missing.
	Cover func(ctx context.Context, reach Reach) error
}

// Reach is what is about to be written.
type Reach struct {
	// GroupKinds and Namespaces are what kinds and namespaces the objects of the owner are in.
	GroupKinds map[kschema.GroupKind]bool
	Namespaces map[string]bool
	// Objects are the objects themselves, Contributions those of others that fields are about to be contributed to.
	Objects       []Intent
	Contributions []Contribution
}

// Intent is an object that is about to be written.
type Intent struct {
	Node      *graph.Node
	GVK       kschema.GroupVersionKind
	Namespace string
	Name      string
}

// Report is what a pass did on the server.
type Report struct {
	// Applied are the objects that the instance wants and that stand on the server, by UID.
	Applied map[UID]bool
	// Hashes are the content hashes of what each node applied, by the path of the node; only nodes that applied everything.
	Hashes map[string]string
	// Contested are the objects that belong to somebody else.
	Contested []Key
	// Sent are the objects that were sent.
	Sent []Sent
}

// Sent is one object that was sent to the server, and what stood there before.
type Sent struct {
	Key      Key
	Desired  *unstructured.Unstructured
	Observed *unstructured.Unstructured // nil when it was not there
}

// run is the state of one pass.
type run struct {
	*Executor
	Request
	report  Report
	answers inbox
	open    int
	hashes  map[string][]string
	patches map[string]bool // the managers of the patches that the graph has
	failure error
}

// server is what the pass writes through.
func (r *run) server() Server {
	if r.Request.Server != nil {
		return r.Request.Server
	}
	return r.Executor.Server
}

// Run drives the pass until nothing more can be done now. An error means that the inventory could not be written: then
// nothing that it does not name was created.
func (e *Executor) Run(ctx context.Context, req Request) (Report, error) {
	r := &run{
		Executor: e, Request: req,
		report:  Report{Applied: map[UID]bool{}, Hashes: map[string]string{}},
		hashes:  map[string][]string{},
		patches: patchManagers(req.Pass, req.Owner),
	}
	r.answers.arrived = sync.NewCond(&r.answers.mu)
	tasks := req.Pass.Advance(ctx)
	for {
		if r.failure == nil {
			r.start(ctx, tasks)
		}
		if r.open == 0 {
			if tasks = req.Pass.Advance(ctx); len(tasks) == 0 || r.failure != nil {
				break
			}
			continue
		}
		r.answers.take()()
		r.open--
		tasks = req.Pass.Advance(ctx)
	}
	r.sumHashes()
	return r.report, r.failure
}

// start begins the tasks. What stands in order already is answered at once; the rest is sent.
func (r *run) start(ctx context.Context, tasks []engine.Task) {
	var writes []write
	for _, task := range tasks {
		switch {
		case task.Target != nil:
			r.read(ctx, task)
		case task.Node.Kind == graph.Patch:
			r.contribute(ctx, task)
		default:
			writes = append(writes, r.compare(ctx, task)...)
		}
	}
	r.begin(ctx, writes)
}

// begin sends writes, once the inventory names them.
func (r *run) begin(ctx context.Context, writes []write) {
	if len(writes) == 0 || r.failure != nil {
		return
	}
	if r.failure = r.Cover(ctx, r.reachOf(writes)); r.failure != nil {
		return
	}
	for _, w := range writes {
		r.send(ctx, w)
	}
}

// write is one object that has to be sent.
type write struct {
	node    *graph.Node
	item    int
	key     Key
	desired *unstructured.Unstructured
	hash    string
	manager string
	// observed is the object that a patch contributes to; nil when it has to be looked at.
	observed *unstructured.Unstructured
	// force takes fields over from other managers: right for objects that are ours, not for ones that may be another's.
	force bool
	// uid is that of the object that the caches show as one's own. It goes along with the apply: the object may have been replaced since.
	uid UID
}

// slot is where memory keeps what was applied.
func (w write) slot() slot {
	if w.node.Kind == graph.Patch {
		return slot{w.key, w.manager}
	}
	return slot{Key: w.key}
}

func (r *run) reachOf(writes []write) Reach {
	reach := Reach{GroupKinds: map[kschema.GroupKind]bool{}, Namespaces: map[string]bool{}}
	for _, w := range writes {
		gvk := w.desired.GroupVersionKind()
		if w.node.Kind == graph.Patch {
			reach.Contributions = append(reach.Contributions, Contribution{
				GVK: gvk, Namespace: w.key.Namespace, Name: w.key.Name, Subresource: w.node.Subresource, Manager: w.manager,
			})
			continue
		}
		reach.Objects = append(reach.Objects, Intent{Node: w.node, GVK: gvk, Namespace: w.key.Namespace, Name: w.key.Name})
		reach.GroupKinds[gvk.GroupKind()] = true
		if w.key.Namespace != "" {
			reach.Namespaces[w.key.Namespace] = true
		}
	}
	return reach
}

// compare answers the items of a task that are in order, and returns the writes that the others need.
func (r *run) compare(ctx context.Context, task engine.Task) []write {
	writes := make([]write, len(task.Objects))
	path := pathOf(task.Node)
	r.hashes[path] = make([]string, len(task.Objects))
	for item, desired := range task.Objects {
		w := write{
			node: task.Node, item: item, manager: r.Owner.Manager(task.Node),
			desired: r.Owner.Dress(task.Node, item, len(task.Objects), desired),
		}
		w.key = Key{GVR: desired.Resource, Namespace: w.desired.GetNamespace(), Name: w.desired.GetName()}
		w.observed, _ = r.Stores.Members(w.key.GVR).Get(w.key.Namespace, w.key.Name)
		r.leaveCeded(&w)
		w.keepVersion()
		w.hash = contentHash(w.desired)
		r.hashes[path][item] = w.hash
		writes[item] = w
	}
	trusted := r.Trusted[path] != "" && r.Trusted[path] == nodeHash(r.hashes[path])
	return slices.DeleteFunc(writes, func(w write) bool {
		observed := w.observed
		if observed == nil {
			return false
		}
		if err := r.Owner.Conflict(observed); err != nil {
			r.contest(ctx, w, err)
			return true
		}
		switch {
		case observed.GetDeletionTimestamp() != nil:
			r.Pass.Deleting(ctx, w.node, w.item)
			r.report.Applied[observed.GetUID()] = true
		case r.Memory.inOrder(r.Owner.Key(), w.slot(), w.desired, w.hash, observed, trusted):
			r.accept(ctx, w, observed)
		default:
			return false
		}
		return true
	})
}

func (r *run) accept(ctx context.Context, w write, observed *unstructured.Unstructured) {
	if w.node.Kind != graph.Patch {
		r.report.Applied[observed.GetUID()] = true
	}
	if observed.GetDeletionTimestamp() != nil {
		r.Pass.Deleting(ctx, w.node, w.item)
		return
	}
	r.Pass.Applied(ctx, w.node, w.item, observed.Object)
}

func (r *run) contest(ctx context.Context, w write, err error) {
	r.report.Contested = append(r.report.Contested, w.key)
	r.Pass.Refused(ctx, w.node, w.item, err)
}

// send applies one object in the background; the result is told to the pass by the pass' own goroutine.
func (r *run) send(ctx context.Context, w write) {
	r.open++
	r.report.Sent = append(r.report.Sent, Sent{Key: w.key, Desired: w.desired, Observed: w.observed})
	r.background(func() {
		answer, err := r.apply(ctx, &w)
		r.answers.put(func() {
			r.hashes[pathOf(w.node)][w.item] = w.hash // fields may have been given up
			switch {
			case err == nil:
				r.accept(ctx, w, answer)
			case errors.Is(err, errAbsent):
				r.Pass.Absent(ctx, w.node, w.item)
			case isOwnership(err):
				r.contest(ctx, w, err)
			case w.node.Kind == graph.Patch:
				r.Pass.Refused(ctx, w.node, w.item, err)
			default:
				// An object that exists and was refused a change is still wanted: it must not be pruned.
				if observed, found := r.Stores.Members(w.key.GVR).Get(w.key.Namespace, w.key.Name); found {
					r.report.Applied[observed.GetUID()] = true
				}
				r.Pass.Refused(ctx, w.node, w.item, err)
			}
		})
	})
}

// read answers a task that reads existing objects. A reference that is read for the first time is waited for a moment:
// its watch has to list first.
func (r *run) read(ctx context.Context, task engine.Task) {
	node, target := task.Node, *task.Target
	store := r.Stores.External(target.Resource, Target{Namespace: target.Namespace, Name: target.Name, Selector: target.Selector})
	r.open++
	r.background(func() {
		patience := r.patience(ctx)
		patience.await(store)
		patience.end()
		r.answers.put(func() { r.found(ctx, node, store) })
	})
}

// patience is how long a pass waits for caches that are read for the first time.
type patience struct {
	ctx   context.Context
	timer *time.Timer
	over  bool
}

func (r *run) patience(ctx context.Context) *patience {
	return &patience{ctx: ctx, timer: time.NewTimer(r.ReadPatience)}
}

func (p *patience) await(store Store) {
	if p.over || store.Synced() {
		return
	}
	select {
	case <-store.Done():
	case <-p.timer.C:
		p.over = true
	case <-p.ctx.Done():
		p.over = true
	}
}

func (p *patience) end() { p.timer.Stop() }

func (r *run) found(ctx context.Context, node *graph.Node, store Store) {
	err := store.Err()
	switch {
	case err != nil && apierrors.IsForbidden(err):
		r.Pass.Unreadable(node, err)
	case err != nil && !store.Synced():
		r.Pass.Unsettled(node, err.Error())
	case !store.Synced():
		r.Pass.Unsettled(node, "not read yet")
	default:
		listed := store.List()
		objects := make([]map[string]any, len(listed))
		for i, o := range listed {
			objects[i] = o.Object
		}
		r.Pass.Found(ctx, node, objects)
	}
}

// sumHashes keeps the hashes of the nodes that stand as they are wanted.
func (r *run) sumHashes() {
	for _, n := range r.Pass.Outcome().Nodes {
		if n.Phase == engine.Observed && (n.Node.Kind == graph.Template || n.Node.Kind == graph.Patch) {
			r.report.Hashes[pathOf(n.Node)] = nodeHash(r.hashes[pathOf(n.Node)])
		}
	}
}

// nodeHash is one short hash over the objects of a node.
func nodeHash(items []string) string {
	if len(items) == 0 {
		return ""
	}
	list := make([]any, len(items))
	for i, h := range items {
		list[i] = h
	}
	hash := apply.ContentHash(map[string]any{"items": list})
	if len(hash) > 16 {
		hash = hash[:16]
	}
	return hash
}

// Names returns the members of a set of namespaces, sorted.
func (r Reach) Names() []string {
	names := make([]string, 0, len(r.Namespaces))
	for n := range r.Namespaces {
		names = append(names, n)
	}
	sort.Strings(names)
	return names
}

var errNotAdopted = fmt.Errorf("an object of that name exists and belongs to nobody; adoption is off, so it is left alone: delete it, rename the resource, or allow adoption")

// inbox holds the answers that have arrived and not been told to the pass yet.
type inbox struct {
	mu      sync.Mutex
	arrived *sync.Cond
	list    []func()
}

func (i *inbox) put(answer func()) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.list = append(i.list, answer)
	i.arrived.Signal()
}

func (i *inbox) take() func() {
	i.mu.Lock()
	defer i.mu.Unlock()
	for len(i.list) == 0 {
		i.arrived.Wait()
	}
	first := i.list[0]
	i.list = i.list[1:]
	return first
}

func (e *Executor) background(f func()) {
	if e.Go != nil {
		e.Go(f)
		return
	}
	go f()
}
