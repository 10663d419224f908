package instance

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"
	"sigs.k8s.io/yaml"

	"kro.run/kro/api/v1alpha1"
	"kro.run/kro/graph"
	"kro.run/kro/internal/apply"
	"kro.run/kro/internal/controller/follow"
	"kro.run/kro/internal/executor"
	"kro.run/kro/internal/simulation"
)

// sim is the controller of instances at work in a simulation: the door of an instance named one.
type sim struct {
	*simulation.World
	controller *Controller
	queue      *simulation.Queue[key]
	definition Definition
	nodes      simulation.Nodes
}

var (
	_        simulation.Door = (*sim)(nil)
	simsGVR                  = kschema.GroupVersionResource{Group: simulation.Group, Version: "v1alpha1", Resource: "sims"}
	simOwner                 = executor.Key{GVR: simsGVR, Namespace: simulation.Namespace, Name: "one"}
)

func simDoor(w *simulation.World) simulation.Door { return &sim{World: w} }

// Restart implements simulation.Door.
func (s *sim) Restart() {
	s.queue = &simulation.Queue[key]{}
	s.controller = New(Deps{
		Client: simulation.Client{Server: s.Server}, Caches: s.Caches, Kinds: simulation.Kinds{Server: s.Server}, Log: logr.Discard(), Clock: s.Clock,
		Options: Options{StatusGraph: true},
	})
	s.controller.queue.ShutDown() // its own one has a goroutine
	s.controller.queue = s.queue
	s.controller.executor.Go = func(f func()) { f() }
	s.controller.executor.ReadPatience = 0
	if s.definition.Program != nil {
		s.serve(s.definition.Program)
	}
}

// Define implements simulation.Door.
func (s *sim) Define(nodes simulation.Nodes) {
	s.nodes = nodes
	s.serve(simProgram(s.T, nodes.Definition()))
}

// InForce implements simulation.Door. A definition is served at once.
func (s *sim) InForce() simulation.Nodes { return s.nodes }

// Seen implements simulation.Door.
func (s *sim) Seen() *unstructured.Unstructured {
	o, _ := s.controller.kinds[simsGVR].store.Get(simOwner.Namespace, simOwner.Name)
	return o
}

// serve does what Serve does, without waiting for caches.
func (s *sim) serve(program *graph.Program) {
	if s.definition.Program != program {
		s.definition = Definition{Name: "sim", UID: "def", Program: program, Revision: s.definition.Revision + 1}
	}
	source := instanceSource(simsGVR)
	k := &kind{definition: s.definition, gvk: program.Instance.GVK, namespaced: true, source: source, settled: true,
		store: s.Caches.Ensure(source, definitionOwner("sim"), s.controller.instanceChanged)}
	for _, member := range memberResources(program) {
		s.Caches.EnsureFor(follow.Members(member), definitionOwner("sim"), nobody, nil)
	}
	s.controller.kinds[simsGVR] = k
	s.controller.wakeAll(simsGVR, k)
}

// Create implements simulation.Door.
func (s *sim) Create(in simulation.Input) {
	instance := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "sim.example.com/v1alpha1", "kind": "Sim",
		"metadata": map[string]any{"name": simOwner.Name, "namespace": simOwner.Namespace}, "spec": in.Object(),
	}}
	instance.SetUID(types.UID(s.OwnerUID()))
	s.Server.Create(simOwner, instance)
}

// Update implements simulation.Door.
func (s *sim) Update(in simulation.Input) {
	s.Server.Edit(simOwner, "user", func(live *unstructured.Unstructured) {
		if before := fmt.Sprint(live.Object["spec"]); before != fmt.Sprint(in.Object()) {
			live.Object["spec"] = in.Object()
			live.SetGeneration(live.GetGeneration() + 1)
		}
	})
}

// Due implements simulation.Door.
func (s *sim) Due() int { return s.queue.Len() }

// Work implements simulation.Door.
func (s *sim) Work() { s.controller.work(context.Background()) }

// Elapse implements simulation.Door.
func (s *sim) Elapse() { s.queue.Elapse() }

// Wake implements simulation.Door.
func (s *sim) Wake() { s.queue.Add(key(simOwner)) }

// KindChanged implements simulation.Door. What compiled before is served on while a kind is gone.
func (s *sim) KindChanged(kschema.GroupKind) {}

// Frames implements simulation.Door.
func (s *sim) Frames() bool { return false }

// Owner implements simulation.Door.
func (s *sim) Owner() executor.Key { return simOwner }

// Owns implements simulation.Door.
func (s *sim) Owns(o *unstructured.Unstructured) bool {
	return o.GetLabels()[v1alpha1.PartOfLabel] == apply.SetID(simOwner.Name, simOwner.Namespace, "Sim", simulation.Group)
}

// Covers implements simulation.Door.
func (s *sim) Covers(r simulation.Request) string {
	instance := s.Server.Live(simOwner)
	if strings.HasPrefix(r.Manager, v1alpha1.PatchManagerPrefix) {
		noted := readContributions(instance)
		if !slices.ContainsFunc(noted, func(c executor.Contribution) bool {
			return c.Manager == r.Manager && c.Name == r.Key.Name && c.Subresource == r.Subresource
		}) {
			return fmt.Sprintf("a contribution that is not noted: %v", noted)
		}
		return ""
	}
	kinds := instance.GetAnnotations()[v1alpha1.ApplySetGroupKindsAnnotation]
	if gk := r.Object.GetKind() + "." + simulation.Group; !slices.Contains(strings.Split(kinds, ","), gk) {
		return fmt.Sprintf("written before the inventory names its kind: %q", kinds)
	}
	return ""
}

// Left implements simulation.Door.
func (s *sim) Left() string { return "" }

// Summary implements simulation.Door.
func (s *sim) Summary() string {
	o := s.Server.Live(simOwner)
	if o == nil {
		return "gone"
	}
	status, _ := o.Object["status"].(map[string]any)
	var b strings.Builder
	fmt.Fprintln(&b, status["state"], status["first"], status["second"])
	for _, c := range []string{ready, instanceManaged, graphResolved, resourcesReady} {
		conditions, _ := status["conditions"].([]any)
		for _, entry := range conditions {
			if m := entry.(map[string]any); m["type"] == c {
				fmt.Fprintln(&b, c, m["status"], m["reason"], m["message"])
			}
		}
	}
	fmt.Fprintln(&b, o.GetAnnotations()[v1alpha1.ApplySetGroupKindsAnnotation])
	fmt.Fprintln(&b, o.GetAnnotations()[v1alpha1.PatchContributionsAnnotation])
	return b.String()
}

// simProgram compiles the text of a definition.
func simProgram(t simulation.Failer, text string) *graph.Program {
	t.Helper()
	var spec v1alpha1.ResourceGraphDefinitionSpec
	if err := yaml.UnmarshalStrict([]byte(text), &spec); err != nil {
		t.Fatalf("definition: %v\n%s", err, text)
	}
	program, faults := graph.Compile(graph.FromDefinition("sim", &spec), graph.Env{Kinds: simulation.Kinds{Server: simulation.NewServer()}})
	if len(faults) > 0 {
		t.Fatalf("definition: %v\n%s", faults, text)
	}
	return program
}

// TestAnyCourseOfEventsEndsInTheSameState runs generated definitions through generated histories with faults.
func TestAnyCourseOfEventsEndsInTheSameState(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { simulation.Check(t, simDoor) })
}
