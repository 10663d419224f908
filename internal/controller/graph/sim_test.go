package graph

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	internalv1alpha1 "kro.run/kro/api/internal.kro.run/v1alpha1"
	"kro.run/kro/api/v1alpha1"
	"kro.run/kro/graph"
	"kro.run/kro/internal/executor"
	"kro.run/kro/internal/programs"
	"kro.run/kro/internal/simulation"
	"kro.run/kro/internal/watch"
)

// sim is the controller of Graphs at work in a simulation: the door of a Graph named one.
type sim struct {
	*simulation.World
	controller *Controller
	queue      *simulation.Queue[types.NamespacedName]
	revisions  *simRevisions
	nodes      simulation.Nodes
	input      simulation.Input
	// written are the nodes of each spec that the Graph has had.
	written map[string]simulation.Nodes
}

var (
	_         simulation.Door = (*sim)(nil)
	simKey                    = types.NamespacedName{Namespace: simulation.Namespace, Name: "one"}
	simSource                 = watch.Source{GVR: resource, Anew: true}
	simOwner                  = executor.Key{GVR: resource, Namespace: simKey.Namespace, Name: simKey.Name}
)

func simDoor(w *simulation.World) simulation.Door {
	return &sim{World: w, revisions: &simRevisions{server: w.Server, items: map[string]*internalv1alpha1.GraphRevision{}}, written: map[string]simulation.Nodes{}}
}

// Restart implements simulation.Door.
func (s *sim) Restart() {
	ended, end := context.WithCancel(context.Background())
	end()
	kinds := simulation.Kinds{Server: s.Server}
	store := programs.New(graph.Env{Kinds: kinds}, logr.Discard())
	_ = store.Start(ended) // its queue has goroutines; KindChanged does its work
	s.queue = &simulation.Queue[types.NamespacedName]{}
	s.controller = New(Deps{
		Client: simulation.Client{Server: s.Server}, As: func(string) (dynamic.Interface, error) { return simulation.Client{Server: s.Server}, nil },
		Revisions: s.revisions, Caches: s.Caches, Kinds: kinds, Programs: store, Log: logr.Discard(), Clock: s.Clock,
		Options: Options{MaxRevisions: 3},
	})
	s.controller.queue.ShutDown() // its own one has a goroutine
	s.controller.queue = s.queue
	s.controller.executor.Go = func(f func()) { f() }
	s.controller.executor.ReadPatience = 0
	s.controller.store = s.Caches.Ensure(simSource, "graphs", func(e watch.Event) {
		s.queue.Add(types.NamespacedName{Namespace: e.Object().GetNamespace(), Name: e.Object().GetName()})
	})
	if s.Seen() != nil {
		s.Wake()
	}
	s.controller.sweepLeft(context.Background())
}

// Define implements simulation.Door.
func (s *sim) Define(nodes simulation.Nodes) {
	s.nodes = nodes
	s.edit()
}

// Update implements simulation.Door.
func (s *sim) Update(in simulation.Input) {
	s.input = in
	s.edit()
}

// edit gives the Graph the spec of the present nodes and input.
func (s *sim) edit() {
	spec := s.spec()
	s.Server.Edit(simOwner, "user", func(live *unstructured.Unstructured) {
		if text(live.Object["spec"]) != text(spec) {
			live.Object["spec"] = spec
			live.SetGeneration(live.GetGeneration() + 1)
		}
	})
}

// spec is that of a Graph of the present nodes and input. The author of a Graph finds out at once when it does not compile.
func (s *sim) spec() map[string]any {
	raw, err := yaml.YAMLToJSON([]byte(s.nodes.Graph(s.input)))
	if err != nil {
		s.T.Fatalf("%v\n%s", err, s.nodes.Graph(s.input))
	}
	var typed v1alpha1.GraphSpec
	if err := json.Unmarshal(raw, &typed); err != nil {
		s.T.Fatalf("%v\n%s", err, raw)
	}
	if _, faults := graph.Compile(graph.FromGraph(simKey.Name, simKey.Namespace, &typed), graph.Env{Kinds: simulation.Kinds{Server: simulation.NewServer()}}); len(faults) > 0 {
		s.T.Fatalf("%v\n%s", faults, s.nodes.Graph(s.input))
	}
	object := &unstructured.Unstructured{}
	if err := object.UnmarshalJSON([]byte(`{"apiVersion":"kro.run/v1alpha1","kind":"Graph","spec":` + string(raw) + `}`)); err != nil {
		s.T.Fatalf("%v", err)
	}
	spec := object.Object["spec"].(map[string]any)
	s.written[text(spec)] = s.nodes
	return spec
}

func text(value any) string {
	raw, _ := json.Marshal(value)
	return string(raw)
}

// InForce implements simulation.Door.
func (s *sim) InForce() simulation.Nodes {
	if seen := s.Seen(); seen != nil {
		return s.written[text(seen.Object["spec"])]
	}
	return nil
}

// Seen implements simulation.Door.
func (s *sim) Seen() *unstructured.Unstructured {
	o, _ := s.controller.store.Get(simKey.Namespace, simKey.Name)
	return o
}

// Create implements simulation.Door.
func (s *sim) Create(in simulation.Input) {
	s.input = in
	g := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": v1alpha1.GroupVersion.String(), "kind": v1alpha1.GraphKind,
		"metadata": map[string]any{"name": simKey.Name, "namespace": simKey.Namespace}, "spec": s.spec(),
	}}
	g.SetUID(types.UID(s.OwnerUID()))
	s.Server.Create(simOwner, g)
}

// Due implements simulation.Door.
func (s *sim) Due() int { return s.queue.Len() }

// Work implements simulation.Door.
func (s *sim) Work() { s.controller.work(context.Background()) }

// Elapse implements simulation.Door.
func (s *sim) Elapse() { s.queue.Elapse() }

// Wake implements simulation.Door.
func (s *sim) Wake() { s.queue.Add(simKey) }

// KindChanged implements simulation.Door.
func (s *sim) KindChanged(gk kschema.GroupKind) {
	s.controller.Programs.KindChanged(gk)
	s.controller.KindChanged(gk)
	if state := s.controller.states[simKey]; state != nil {
		if known := (programs.Key{Definition: simKey.String(), Hash: state.compiled}); s.controller.Programs.Known(known) {
			s.controller.Programs.CompileSource(known, nil) // whoever subscribes is told when the result is another one
		}
	}
}

// Frames implements simulation.Door.
func (s *sim) Frames() bool { return true }

// Owner implements simulation.Door.
func (s *sim) Owner() executor.Key { return simOwner }

// Owns implements simulation.Door.
func (s *sim) Owns(o *unstructured.Unstructured) bool {
	live := s.Server.Live(simOwner)
	return live != nil && owner{uid: live.GetUID()}.Owns(o)
}

// status is that of the Graph on the server.
func (s *sim) status() v1alpha1.GraphStatus {
	var status v1alpha1.GraphStatus
	if live := s.Server.Live(simOwner); live != nil {
		if err := decode(live.Object["status"], &status); err != nil {
			s.T.Fatalf("%v", err)
		}
	}
	return status
}

// Covers implements simulation.Door.
func (s *sim) Covers(r simulation.Request) string {
	status := s.status()
	if strings.HasPrefix(r.Manager, v1alpha1.PatchManagerPrefix) {
		if !slices.ContainsFunc(status.Contributions, func(c v1alpha1.Contribution) bool {
			return c.FieldManager == r.Manager && c.Name == r.Key.Name && c.Subresource == r.Subresource
		}) {
			return fmt.Sprintf("a contribution that the status does not name: %v", status.Contributions)
		}
		return ""
	}
	if !slices.ContainsFunc(status.ManagedResources, func(m v1alpha1.ManagedResource) bool {
		return m.Kind == r.Object.GetKind() && m.Namespace == r.Key.Namespace && m.Name == r.Key.Name
	}) {
		return fmt.Sprintf("written before the status names it: %v", status.ManagedResources)
	}
	return ""
}

// Left implements simulation.Door.
func (s *sim) Left() string {
	return strings.Join(slices.Sorted(maps.Keys(s.revisions.items)), ", ")
}

// Summary implements simulation.Door.
func (s *sim) Summary() string {
	if s.Server.Live(simOwner) == nil {
		return "gone"
	}
	status := s.status()
	var b strings.Builder
	for _, kind := range []string{accepted, resourcesConverged, ready} { // they stand in the order of their last change
		for _, c := range status.Conditions {
			if c.Type == kind {
				fmt.Fprintln(&b, c.Type, c.Status, c.Reason, c.Message)
			}
		}
	}
	for _, n := range status.Nodes {
		fmt.Fprintln(&b, n.ID, n.State, n.Message)
	}
	for _, m := range status.ManagedResources {
		fmt.Fprintln(&b, m.NodeID, m.Kind, m.Name, m.UID != "")
	}
	var contributions []string
	for _, c := range status.Contributions { // in the order in which they were first made
		contributions = append(contributions, fmt.Sprintln(c))
	}
	slices.Sort(contributions)
	b.WriteString(strings.Join(contributions, ""))
	fmt.Fprintln(&b, status.AppliedServiceAccount)
	return b.String()
}

// simRevisions holds the GraphRevisions of a simulation. The controller's cache of them is not behind: see revisions_test.go for that.
type simRevisions struct {
	client.Client // what kro does not use would panic
	server        *simulation.Server
	items         map[string]*internalv1alpha1.GraphRevision
	issued        int
}

// List implements client.Client.
func (r *simRevisions) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	into := list.(*internalv1alpha1.GraphRevisionList)
	for _, name := range slices.Sorted(maps.Keys(r.items)) {
		into.Items = append(into.Items, *r.items[name].DeepCopy())
	}
	return nil
}

// Create implements client.Client.
func (r *simRevisions) Create(_ context.Context, o client.Object, _ ...client.CreateOption) error {
	return r.server.Other("create revision", o.GetName(), func() (bool, error) {
		if r.items[o.GetName()] != nil {
			return false, apierrors.NewAlreadyExists(kschema.GroupResource{Resource: "graphrevisions"}, o.GetName())
		}
		r.issued++
		o.SetUID(types.UID(fmt.Sprint("revision-", r.issued)))
		r.items[o.GetName()] = o.(*internalv1alpha1.GraphRevision).DeepCopy()
		return true, nil
	})
}

// Delete implements client.Client.
func (r *simRevisions) Delete(_ context.Context, o client.Object, _ ...client.DeleteOption) error {
	return r.server.Other("delete revision", o.GetName(), func() (bool, error) {
		if live := r.items[o.GetName()]; live == nil || live.UID != o.GetUID() {
			return false, apierrors.NewNotFound(kschema.GroupResource{Resource: "graphrevisions"}, o.GetName())
		}
		delete(r.items, o.GetName())
		return true, nil
	})
}

// Status implements client.Client.
func (r *simRevisions) Status() client.SubResourceWriter { return simRevisionStatus{revisions: r} }

type simRevisionStatus struct {
	client.SubResourceWriter
	revisions *simRevisions
}

// Patch implements client.SubResourceWriter.
func (s simRevisionStatus) Patch(_ context.Context, o client.Object, _ client.Patch, _ ...client.SubResourcePatchOption) error {
	return s.revisions.server.Other("judge revision", o.GetName(), func() (bool, error) {
		live := s.revisions.items[o.GetName()]
		if live == nil {
			return false, apierrors.NewNotFound(kschema.GroupResource{Resource: "graphrevisions"}, o.GetName())
		}
		o.(*internalv1alpha1.GraphRevision).Status.DeepCopyInto(&live.Status)
		return true, nil
	})
}

// TestAnyCourseOfEventsEndsInTheSameState runs generated Graphs through generated histories with faults.
func TestAnyCourseOfEventsEndsInTheSameState(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { simulation.Check(t, simDoor) })
}
