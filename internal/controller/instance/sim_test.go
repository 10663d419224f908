package instance

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"
	clocktesting "k8s.io/utils/clock/testing"
	"pgregory.net/rapid"

	"kro.run/kro/api/v1alpha1"
	"kro.run/kro/graph"
	"kro.run/kro/internal/executor"
)

// sim is one controller at work on a simulated server.
type sim struct {
	t          failer
	server     *simServer
	caches     *simCaches
	controller *Controller
	queue      *simQueue
	clock      *clocktesting.FakeClock
	definition Definition
}

var simInstance = executor.Key{GVR: simsGVR, Namespace: "ns", Name: "one"}

// failer is a *testing.T or a *rapid.T.
type failer interface {
	Helper()
	Fatalf(format string, args ...any)
}

func newSim(t failer, program *graph.Program) *sim {
	s := &sim{t: t, server: newSimServer(), clock: clocktesting.NewFakeClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))}
	s.server.check = s.checkWrite
	s.definition = Definition{Name: "sim", UID: "def", Program: program, Revision: 1}
	s.restart()
	return s
}

// restart replaces the controller by a new one that knows nothing.
func (s *sim) restart() {
	s.server.dead = false
	s.caches, s.queue = newSimCaches(s.server), &simQueue{}
	s.controller = New(Deps{
		Client: simClient{s.server}, Caches: s.caches, Kinds: simMapper{}, Log: logr.Discard(), Clock: s.clock,
		Options: Options{StatusGraph: true},
	})
	s.controller.queue.ShutDown() // its own one has a goroutine
	s.controller.queue = s.queue
	s.controller.executor.Go = func(f func()) { f() }
	s.controller.executor.ReadPatience = 0
	s.serve(s.definition.Program)
}

// serve does what Serve does, without waiting for caches.
func (s *sim) serve(program *graph.Program) {
	if s.definition.Program != program {
		s.definition.Program = program
		s.definition.Revision++
	}
	source := instanceSource(simsGVR)
	k := &kind{definition: s.definition, gvk: program.Instance.GVK, namespaced: true, source: source, settled: true,
		store: s.caches.Ensure(source, definitionOwner("sim"), s.controller.instanceChanged)}
	s.controller.kinds[simsGVR] = k
	s.controller.wakeAll(simsGVR, k)
}

// checkWrite holds the properties that must hold at every write of a child.
func (s *sim) checkWrite(gvr kschema.GroupVersionResource, object *unstructured.Unstructured) {
	if gvr == simsGVR {
		return
	}
	parent := s.server.objects[simInstance]
	if parent == nil {
		return // deleted by force since; what the write makes is found by its labels
	}
	kinds := (&unstructured.Unstructured{Object: parent.live}).GetAnnotations()[v1alpha1.ApplySetGroupKindsAnnotation]
	if gk := object.GetKind() + ".sim.example.com"; !slices.Contains(strings.Split(kinds, ","), gk) {
		s.t.Fatalf("%s %s is written before the inventory names its kind: %q", object.GetKind(), object.GetName(), kinds)
	}
	existing := s.server.objects[executor.Key{GVR: gvr, Namespace: "ns", Name: object.GetName()}]
	if existing == nil {
		return
	}
	live := &unstructured.Unstructured{Object: existing.live}
	if owner := live.GetLabels()[v1alpha1.PartOfLabel]; owner != "" && owner != object.GetLabels()[v1alpha1.PartOfLabel] {
		s.t.Fatalf("%s belongs to %s and is taken by %s", object.GetName(), owner, object.GetLabels()[v1alpha1.PartOfLabel])
	}
}

// work lets the controller do what is due.
func (s *sim) work() {
	for s.queue.Len() > 0 && !s.server.dead {
		s.controller.work(context.Background())
	}
	if s.server.dead {
		s.restart()
	}
}

// settle lets everything happen that is going to, with objects becoming ready as they would, until nothing moves.
func (s *sim) settle() {
	s.server.fault = nil
	for range 400 {
		moved := s.kubelet()
		for _, store := range s.caches.order {
			for store.pending() {
				store.step(true)
				moved = true
			}
		}
		s.clock.Step(time.Minute)
		s.queue.elapse()
		moved = moved || s.queue.Len() > 0
		s.work()
		if !moved {
			return
		}
	}
	s.t.Fatalf("the instance does not come to rest:\n%s", s.dump())
}

// kubelet makes objects ready, and lets go of foreign finalizers.
func (s *sim) kubelet() (moved bool) {
	for _, key := range s.keys() {
		o := s.server.objects[key]
		if key.GVR == simsGVR {
			continue
		}
		live := &unstructured.Unstructured{Object: o.live}
		ready, _, _ := unstructured.NestedBool(o.live, "status", "ready")
		if ready && len(live.GetFinalizers()) == 0 {
			continue
		}
		moved = true
		s.server.edit(key, func(live *unstructured.Unstructured) {
			live.SetFinalizers(nil)
			live.Object["status"] = map[string]any{"ready": true}
		})
	}
	return moved
}

func (s *sim) keys() []executor.Key {
	var keys []executor.Key
	for k := range s.server.objects {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b executor.Key) int {
		return strings.Compare(a.GVR.Resource+a.Name, b.GVR.Resource+b.Name)
	})
	return keys
}

// spec is what the user asks for.
type simSpec struct {
	V     string
	A, B  bool
	Names []string
}

func drawSpec(t *rapid.T, label string) simSpec {
	return simSpec{
		V: rapid.SampledFrom([]string{"1", "2", "off"}).Draw(t, label+" v"),
		A: rapid.Bool().Draw(t, label+" a"), B: rapid.Bool().Draw(t, label+" b"),
		Names: rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"x", "y", "z"}), 0, 3, rapid.ID[string]).Draw(t, label+" names"),
	}
}

func (spec simSpec) object() map[string]any {
	names := make([]any, len(spec.Names))
	for i, n := range spec.Names {
		names[i] = n
	}
	return map[string]any{"v": spec.V, "a": spec.A, "b": spec.B, "names": names}
}

func (s *sim) create(spec simSpec) {
	s.server.create(simInstance, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "sim.example.com/v1alpha1", "kind": "Sim",
		"metadata": map[string]any{"name": "one", "namespace": "ns"}, "spec": spec.object(),
	}})
}

func (s *sim) update(spec simSpec) {
	s.server.edit(simInstance, func(live *unstructured.Unstructured) {
		if !equalJSON(live.Object["spec"], spec.object()) {
			live.Object["spec"] = spec.object()
			live.SetGeneration(live.GetGeneration() + 1)
		}
	})
}

func (s *sim) outside(i int, exists bool) {
	key := executor.Key{GVR: itemGVR, Namespace: "ns", Name: fmt.Sprintf("outside-%d", i)}
	switch {
	case exists && s.server.objects[key] == nil:
		s.server.create(key, &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "sim.example.com/v1", "kind": "Item",
			"metadata": map[string]any{"name": key.Name, "namespace": "ns", "labels": map[string]any{"outside": "yes"}},
			"spec":     map[string]any{"v": "from outside"},
		}})
	case !exists && s.server.objects[key] != nil:
		_ = s.server.delete(key, "")
	}
}

// children is the content of all objects but the instance, as far as it does not depend on the course of events.
func (s *sim) children() string {
	out := map[string]any{}
	for _, key := range s.keys() {
		if key.GVR == simsGVR {
			continue
		}
		live := (&unstructured.Unstructured{Object: s.server.objects[key].live}).DeepCopy()
		labels := live.GetLabels()
		delete(labels, v1alpha1.InstanceIDLabel)
		out[key.GVR.Resource+"/"+key.Name] = map[string]any{
			"spec": live.Object["spec"], "labels": labels, "annotations": live.GetAnnotations(), "deleting": live.GetDeletionTimestamp() != nil,
		}
	}
	text, _ := json.MarshalIndent(out, "", " ")
	return string(text)
}

// summary is what the status says, as far as it does not depend on the course of events.
func (s *sim) summary() string {
	o := s.server.objects[simInstance]
	if o == nil {
		return "gone"
	}
	status, _ := o.live["status"].(map[string]any)
	var b strings.Builder
	fmt.Fprintln(&b, status["state"], status["first"])
	for _, c := range []string{ready, instanceManaged, graphResolved, resourcesReady} {
		conditions, _ := status["conditions"].([]any)
		for _, entry := range conditions {
			if m := entry.(map[string]any); m["type"] == c {
				fmt.Fprintln(&b, c, m["status"], m["reason"], m["message"])
			}
		}
	}
	fmt.Fprintln(&b, (&unstructured.Unstructured{Object: o.live}).GetAnnotations()[v1alpha1.ApplySetGroupKindsAnnotation])
	return b.String()
}

func (s *sim) dump() string { return s.summary() + s.children() }

// TestAnyCourseOfEventsEndsInTheSameState runs generated graphs through generated histories with faults, and compares
// the end with that of an undisturbed run.
func TestAnyCourseOfEventsEndsInTheSameState(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		programs := []*graph.Program{drawProgram(t, "first"), drawProgram(t, "second")}
		s := newSim(t, programs[0])
		spec := drawSpec(t, "spec")
		outside := []bool{rapid.Bool().Draw(t, "outside 0"), rapid.Bool().Draw(t, "outside 1")}
		for i, exists := range outside {
			s.outside(i, exists)
		}
		s.create(spec)

		faults := rapid.SliceOfN(rapid.IntRange(0, 40), 0, 30).Draw(t, "faults")
		s.server.fault = func(string, *unstructured.Unstructured) simFault {
			if len(faults) == 0 {
				return noFault
			}
			next := faults[0]
			faults = faults[1:]
			if next > int(faultCrashAfter) {
				return noFault
			}
			return simFault(next)
		}
		for range rapid.IntRange(0, 25).Draw(t, "steps") {
			s.disturb(t, &spec, outside, programs)
		}

		// While a reference is missing, what was made before stays as it is, so the end depends on the past. It ends here.
		for i := range outside {
			outside[i] = true
			s.outside(i, true)
		}
		s.settle()
		reference := newSim(t, s.definition.Program)
		for i, exists := range outside {
			reference.outside(i, exists)
		}
		reference.create(spec)
		reference.settle()
		if got, want := s.children(), reference.children(); got != want {
			t.Fatalf("the objects differ from an undisturbed run:\n%s\nwant\n%s\nstatus\n%s", got, want, s.summary())
		}
		if got, want := s.summary(), reference.summary(); got != want {
			t.Fatalf("the status differs from an undisturbed run:\n%s\nwant\n%s", got, want)
		}
		s.expectQuiet("after settling")
		s.restart()
		s.settle()
		s.expectQuiet("after a restart")
		s.expectCleanDeletion()
	})
}

// expectQuiet wakes the instance and expects that nothing is written.
func (s *sim) expectQuiet(when string) {
	before := s.server.writes
	s.queue.Add(key(simInstance))
	s.settle()
	if s.server.writes != before {
		s.t.Fatalf("%d writes %s although nothing changed:\n%s", s.server.writes-before, when, s.dump())
	}
}

func (s *sim) expectCleanDeletion() {
	order := map[string]int{}
	for key, o := range s.server.objects {
		var n int
		_, _ = fmt.Sscan((&unstructured.Unstructured{Object: o.live}).GetAnnotations()[v1alpha1.ApplyOrderAnnotation], &n)
		order[key.GVR.Resource+"/"+key.Name] = n
	}
	from := len(s.server.history)
	if err := s.server.delete(simInstance, ""); err != nil {
		s.t.Fatalf("deleting the instance: %v", err)
	}
	s.settle()
	last := 1 << 30
	for _, e := range s.server.history[from:] {
		if !e.deleted || e.key.GVR == simsGVR {
			continue
		}
		n := order[e.key.GVR.Resource+"/"+e.key.Name]
		if n > last {
			s.t.Fatalf("%s of wave %d went after wave %d", e.key.Name, n, last)
		}
		last = n
	}
	for _, key := range s.keys() {
		if !strings.HasPrefix(key.Name, "outside-") {
			s.t.Fatalf("%s is left behind:\n%s", key.Name, s.dump())
		}
	}
}

// disturb does one thing that can happen: the controller works, a cache catches up a little, somebody changes something.
func (s *sim) disturb(t *rapid.T, spec *simSpec, outside []bool, programs []*graph.Program) {
	switch rapid.IntRange(0, 11).Draw(t, "step") {
	case 0, 1, 2:
		s.queue.elapse()
		s.work()
	case 3, 4:
		if len(s.caches.order) > 0 {
			store := rapid.SampledFrom(s.caches.order).Draw(t, "cache")
			for range rapid.IntRange(1, 5).Draw(t, "events") {
				if store.pending() {
					store.step(true)
				}
			}
		}
	case 5:
		*spec = drawSpec(t, "edit")
		s.update(*spec)
	case 6:
		s.kubelet()
	case 7:
		i := rapid.IntRange(0, 1).Draw(t, "which outside")
		outside[i] = !outside[i]
		s.outside(i, outside[i])
	case 8:
		if key, ok := s.drawChild(t); ok {
			_ = s.server.delete(key, "")
		}
	case 9:
		if key, ok := s.drawChild(t); ok {
			s.server.edit(key, func(live *unstructured.Unstructured) {
				_ = unstructured.SetNestedField(live.Object, "drifted", "spec", "v")
			})
		}
	case 10:
		if key, ok := s.drawChild(t); ok {
			s.server.edit(key, func(live *unstructured.Unstructured) {
				live.SetFinalizers([]string{"example.com/held"})
				live.Object["status"] = map[string]any{"ready": false}
			})
		}
	case 11:
		s.serve(rapid.SampledFrom(programs).Draw(t, "program"))
	}
	s.clock.Step(time.Second)
}

func (s *sim) drawChild(t *rapid.T) (executor.Key, bool) {
	var children []executor.Key
	for _, key := range s.keys() {
		if key.GVR != simsGVR && !strings.HasPrefix(key.Name, "outside-") {
			children = append(children, key)
		}
	}
	if len(children) == 0 {
		return executor.Key{}, false
	}
	return rapid.SampledFrom(children).Draw(t, "child"), true
}
