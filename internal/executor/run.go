package executor

import (
	"context"
	"fmt"
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
	// Trusted are the content hashes of what each node applied last, from the status of the instance: memory after a
	// restart. See NodeHash.
	Trusted map[string]string
	// Cover writes the inventory so that it names the given kinds and namespaces. It is called before an object is
	// created that the inventory may not name yet, and must be cheap when nothing is missing.
	Cover func(ctx context.Context, reach Reach) error
}

// Reach is what kinds and namespaces the objects of an instance are in.
type Reach struct {
	GroupKinds map[kschema.GroupKind]bool
	Namespaces map[string]bool
}

// Report is what a pass did on the server.
type Report struct {
	// Applied are the objects that the instance wants and that stand on the server, by UID.
	Applied map[UID]bool
	// Hashes are the content hashes of what each node applied, by node id; only nodes that applied everything.
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
}

// Run drives the pass until nothing more can be done now. An error means that the inventory could not be written: then
// nothing that it does not name was created.
func (e *Executor) Run(ctx context.Context, req Request) (Report, error) {
	r := &run{
		Executor: e, Request: req,
		report: Report{Applied: map[UID]bool{}, Hashes: map[string]string{}},
		hashes: map[string][]string{},
	}
	r.answers.arrived = sync.NewCond(&r.answers.mu)
	var failure error
	tasks := req.Pass.Advance(ctx)
	for {
		if failure == nil {
			failure = r.start(ctx, tasks)
		}
		if r.open == 0 {
			if tasks = req.Pass.Advance(ctx); len(tasks) == 0 || failure != nil {
				break
			}
			continue
		}
		r.answers.take()()
		r.open--
		tasks = req.Pass.Advance(ctx)
	}
	r.sumHashes()
	return r.report, failure
}

// start begins the tasks. What stands in order already is answered at once; the rest is sent.
func (r *run) start(ctx context.Context, tasks []engine.Task) error {
	var writes []write
	for _, task := range tasks {
		if task.Target != nil {
			r.read(ctx, task)
			continue
		}
		writes = append(writes, r.compare(ctx, task)...)
	}
	if len(writes) == 0 {
		return nil
	}
	if err := r.Cover(ctx, reachOf(writes)); err != nil {
		return err
	}
	for _, w := range writes {
		r.send(ctx, w)
	}
	return nil
}

// write is one object that has to be sent.
type write struct {
	node    *graph.Node
	item    int
	key     Key
	desired *unstructured.Unstructured
	hash    string
	// force takes fields over from other managers: right for objects that are ours, not for ones that may be another's.
	force bool
}

func reachOf(writes []write) Reach {
	reach := Reach{GroupKinds: map[kschema.GroupKind]bool{}, Namespaces: map[string]bool{}}
	for _, w := range writes {
		reach.GroupKinds[w.desired.GroupVersionKind().GroupKind()] = true
		if w.key.Namespace != "" {
			reach.Namespaces[w.key.Namespace] = true
		}
	}
	return reach
}

// compare answers the items of a task that are in order, and returns the writes that the others need.
func (r *run) compare(ctx context.Context, task engine.Task) []write {
	var writes []write
	r.hashes[task.Node.ID] = make([]string, len(task.Objects))
	dressed := make([]*unstructured.Unstructured, len(task.Objects))
	for item, desired := range task.Objects {
		dressed[item] = r.Owner.Dress(task.Node, item, len(task.Objects), desired)
		r.hashes[task.Node.ID][item] = apply.ContentHash(dressed[item].Object)
	}
	trusted := r.Trusted[task.Node.ID] != "" && r.Trusted[task.Node.ID] == nodeHash(r.hashes[task.Node.ID])
	for item, desired := range dressed {
		key := Key{GVR: task.Objects[item].Resource, Namespace: desired.GetNamespace(), Name: desired.GetName()}
		w := write{node: task.Node, item: item, key: key, desired: desired, hash: r.hashes[task.Node.ID][item]}
		observed, found := r.Stores.Members(key.GVR).Get(key.Namespace, key.Name)
		switch {
		case !found:
			writes = append(writes, w)
		case apply.Conflict(observed, r.Owner.SetID) != nil:
			r.contest(ctx, w, apply.Conflict(observed, r.Owner.SetID))
		case observed.GetDeletionTimestamp() != nil:
			r.Pass.Deleting(ctx, w.node, w.item)
			r.report.Applied[observed.GetUID()] = true
		case r.Memory.inOrder(r.Owner.Key(), key, desired, w.hash, observed, trusted):
			r.accept(ctx, w, observed)
		default:
			w.force = true
			writes = append(writes, w)
		}
	}
	return writes
}

func (r *run) accept(ctx context.Context, w write, observed *unstructured.Unstructured) {
	r.report.Applied[observed.GetUID()] = true
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
	observed, _ := r.Stores.Members(w.key.GVR).Get(w.key.Namespace, w.key.Name)
	r.report.Sent = append(r.report.Sent, Sent{Key: w.key, Desired: w.desired, Observed: observed})
	r.background(func() {
		answer, err := r.apply(ctx, w)
		r.answers.put(func() {
			switch {
			case err == nil:
				r.accept(ctx, w, answer)
			case isOwnership(err):
				r.contest(ctx, w, err)
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
		if !store.Synced() {
			timer := time.NewTimer(r.ReadPatience)
			defer timer.Stop()
			select {
			case <-store.Done():
			case <-timer.C:
			case <-ctx.Done():
			}
		}
		r.answers.put(func() { r.found(ctx, node, store) })
	})
}

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
		if n.Phase == engine.Observed && n.Node.Kind == graph.Template {
			r.report.Hashes[n.Node.ID] = nodeHash(r.hashes[n.Node.ID])
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
