package instance

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kro.run/kro/api/v1alpha1"
	"kro.run/kro/graph"
	"kro.run/kro/internal/executor"
	"kro.run/kro/internal/simulation"
)

const simSchema = `
schema:
  apiVersion: v1alpha1
  kind: Sim
  group: sim.example.com
  spec: {v: string, a: boolean, names: "[]string"}
  status: {first: "%s"}
resources:
`

// newSim is a simulation of instances of a program.
func newSim(t simulation.Failer, program *graph.Program) *sim {
	s := simulation.NewWorld(t, simDoor, nil).Door.(*sim)
	s.serve(program)
	return s
}

// simThings is a definition of things, each with a body of its own.
func simThings(bodies ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, simSchema, "${schema.spec.v}")
	for _, body := range bodies {
		b.WriteString("- " + body + "\n")
	}
	return b.String()
}

const (
	thingA = `{id: a, template: {apiVersion: sim.example.com/v1, kind: Thing, metadata: {name: "${schema.metadata.name}-a"}, spec: {v: "${schema.spec.v}"}}}`
	itemB  = `{id: b, template: {apiVersion: sim.example.com/v1, kind: Item, metadata: {name: "${schema.metadata.name}-b"}, spec: {v: "${a.spec.v}"}}}`
)

// The apply of an object succeeds, its answer is lost, and before the cache shows the object the definition drops it.
// The inventory must not forget its kind meanwhile, or nothing would ever delete it.
func TestObjectWhoseAnswerWasLostIsNotLeftBehind(t *testing.T) {
	with, without := simProgram(t, simThings(thingA)), simProgram(t, simThings(itemB2()))
	s := newSim(t, with)
	s.World.Create(simulation.Input{V: "1"})
	s.Caches.CatchUp()
	s.Server.Fault = func(op string, object *unstructured.Unstructured) simulation.Fault {
		if op == "apply" && object.GetKind() == "Thing" {
			return simulation.Lost
		}
		return simulation.NoFault
	}
	s.World.Work() // the thing is made; the controller does not know
	s.Server.Fault = nil
	s.serve(without)
	s.World.Work() // nothing of the thing is in the cache
	s.Settle()
	if s.Server.Live(executor.Key{GVR: simulation.Things, Namespace: "ns", Name: "one-a"}) != nil {
		t.Fatalf("the thing is left behind:\n%s", s.Dump())
	}
}

func itemB2() string { return strings.ReplaceAll(itemB, "${a.spec.v}", "${schema.spec.v}") }

// A new instance of a chain costs one metadata patch, one apply a child and one status write.
func TestCreationTakesTheFewestRequests(t *testing.T) {
	s := newSim(t, simProgram(t, simThings(thingA, itemB)))
	s.World.Create(simulation.Input{V: "1"})
	s.Caches.CatchUp()
	before := s.Server.Writes
	s.World.Work()
	if got := s.Server.Writes - before; got != 4 {
		t.Fatalf("%d requests for two children, want 4:\n%s", got, s.Dump())
	}
	s.ExpectQuiet("after the first pass")
}

// Two graphs, or a graph and another controller, that rewrite each other's fields are slowed down, and the condition
// says which object and which field.
func TestFightOverAFieldIsSlowedDownAndNamed(t *testing.T) {
	s := newSim(t, simProgram(t, simThings(thingA)))
	s.World.Create(simulation.Input{V: "1"})
	s.Settle()
	key := executor.Key{GVR: simulation.Things, Namespace: "ns", Name: "one-a"}
	before := s.Server.Writes
	for range 100 {
		s.Server.Edit(key, "somebody", func(live *unstructured.Unstructured) {
			_ = unstructured.SetNestedField(live.Object, "drifted", "spec", "v")
		})
		s.Caches.CatchUp()
		s.World.Work()
	}
	if got := s.Server.Writes - before; got > executor.RewriteBudget+5 {
		t.Fatalf("%d writes in no time, want the brake on after %d", got, executor.RewriteBudget)
	}
	if text := s.Summary(); !strings.Contains(text, "Thrashing") || !strings.Contains(text, "Thing ns/one-a") || !strings.Contains(text, "spec.v") {
		t.Fatalf("the condition does not name the object and the field:\n%s", text)
	}
	s.Settle()
	if text := s.Summary(); !strings.Contains(text, "ACTIVE") {
		t.Fatalf("the instance does not recover when the fight is over:\n%s", text)
	}
}

// A child is deleted, another owner makes an object of that name, and the cache still shows the child: what is there now is not taken over.
func TestObjectOfAnotherBehindAStaleCacheIsNotTaken(t *testing.T) {
	s := newSim(t, simProgram(t, simThings(thingA)))
	s.World.Create(simulation.Input{V: "1"})
	s.Settle()
	foreign := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "sim.example.com/v1", "kind": "Thing", "metadata": map[string]any{"name": "one-a", "namespace": "ns"}, "spec": map[string]any{"v": "another's"},
	}}
	foreign.SetLabels(map[string]string{v1alpha1.OwnedLabel: "true", v1alpha1.PartOfLabel: "applyset-of-another-v1"})
	key := executor.Key{GVR: simulation.Things, Namespace: "ns", Name: "one-a"}
	s.Server.Delete(key)
	s.Server.Create(key, foreign)
	s.serve(simProgram(t, simThings(strings.ReplaceAll(thingA, "${schema.spec.v}", "changed"))))
	s.World.Work() // the change of the definition is known, what became of the child is not
	if v, _, _ := unstructured.NestedString(s.Server.Live(key).Object, "spec", "v"); v != "another's" {
		t.Fatalf("the object of another has v=%q:\n%s", v, s.Dump())
	}
	if text := s.Summary(); !strings.Contains(text, "belongs to") {
		t.Fatalf("want a refusal that says who owns the object:\n%s", text)
	}
}

// An object that belongs to another instance is refused, and taken over as soon as that one lets go of it.
func TestContestedObjectIsTakenOverWhenItIsFree(t *testing.T) {
	s := newSim(t, simProgram(t, simThings(thingA)))
	foreign := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "sim.example.com/v1", "kind": "Thing", "metadata": map[string]any{"name": "one-a", "namespace": "ns"},
	}}
	foreign.SetLabels(map[string]string{v1alpha1.OwnedLabel: "true", v1alpha1.PartOfLabel: "applyset-of-another-v1"})
	key := executor.Key{GVR: simulation.Things, Namespace: "ns", Name: "one-a"}
	s.Server.Create(key, foreign)
	s.World.Create(simulation.Input{V: "1"})
	s.Caches.CatchUp()
	s.World.Work()
	if text := s.Summary(); !strings.Contains(text, "ERROR") || !strings.Contains(text, "belongs to") {
		t.Fatalf("want a refusal that says who owns the object:\n%s", text)
	}
	s.Server.Delete(key)
	s.queue.Forget() // what happens must come from the event, not from a retry
	s.Caches.CatchUp()
	s.World.Work()
	if text := s.Summary(); !strings.Contains(text, "ACTIVE") {
		t.Fatalf("the freed object is not taken:\n%s", text)
	}
}

// An instance that waited for an object of another, and is deleted meanwhile, is not woken for it any more.
func TestDeletedInstanceFollowsNoObjectsOfOthers(t *testing.T) {
	s := newSim(t, simProgram(t, simThings(thingA, itemB)))
	key := executor.Key{GVR: simulation.Things, Namespace: "ns", Name: "one-a"}
	foreign := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "sim.example.com/v1", "kind": "Thing", "metadata": map[string]any{"name": "one-a", "namespace": "ns"}}}
	foreign.SetLabels(map[string]string{v1alpha1.OwnedLabel: "true", v1alpha1.PartOfLabel: "applyset-of-another-v1"})
	s.Server.Create(key, foreign)
	s.World.Create(simulation.Input{V: "1"})
	s.Caches.CatchUp()
	s.World.Work()
	s.Server.Delete(simOwner)
	s.Settle()
	s.Server.Delete(key)
	s.ExpectGone()
}

// An instance that was restored from a backup has another UID. The children of its former self are its members all the
// same, and what becomes of them wakes it.
func TestFormerChildrenOfARestoredInstanceAreWaitedFor(t *testing.T) {
	s := newSim(t, simProgram(t, simThings(thingA)))
	s.World.Create(simulation.Input{V: "1"})
	s.Settle()
	former := executor.Key{GVR: simulation.Things, Namespace: "ns", Name: "one-former"}
	object := (s.Server.Live(executor.Key{GVR: simulation.Things, Namespace: "ns", Name: "one-a"})).DeepCopy()
	object.SetName(former.Name)
	object.SetFinalizers([]string{"example.com/held"})
	labels := object.GetLabels()
	labels[v1alpha1.InstanceIDLabel] = "uid-of-before"
	object.SetLabels(labels)
	s.Server.Create(former, object)
	s.Server.Delete(simOwner)
	s.Caches.CatchUp()
	s.World.Work()
	s.Clock.Step(time.Minute)
	s.Elapse()
	s.World.Work()
	if text := s.Summary(); !strings.Contains(text, "one-former (held by finalizer example.com/held)") {
		t.Fatalf("the condition does not name what the deletion waits for:\n%s", text)
	}
	s.Caches.CatchUp()
	s.World.Work()
	s.queue.Forget() // what happens must come from the event, not from a retry
	s.Server.Edit(former, "somebody", func(live *unstructured.Unstructured) { live.SetFinalizers(nil) })
	for range 3 {
		s.Caches.CatchUp()
		s.World.Work()
	}
	if text := s.Summary(); text != "gone" {
		t.Fatalf("the instance does not go with its former children:\n%s", s.Dump())
	}
}

// The policy of an object changes, and the answer is lost. What becomes of the object in the end is decided by what stands on the server, not by the cache
// that has not heard of it.
func TestLostAnswerDoesNotDecideWhetherAnObjectStays(t *testing.T) {
	orphan := strings.Replace(thingA, "{id: a,", "{id: a, deletionPolicy: Orphaned,", 1)
	for name, programs := range map[string][2]string{"stays from now on": {thingA, orphan}, "no longer stays": {orphan, thingA}} {
		t.Run(name, func(t *testing.T) {
			s := newSim(t, simProgram(t, simThings(programs[0])))
			s.World.Create(simulation.Input{V: "1"})
			s.Settle()
			s.Server.Fault = func(op string, object *unstructured.Unstructured) simulation.Fault {
				if op == "apply" && object.GetKind() == "Thing" {
					return simulation.Lost
				}
				return simulation.NoFault
			}
			s.serve(simProgram(t, simThings(programs[1])))
			s.World.Work() // the policy is on the object; the controller does not know
			s.Server.Fault = nil
			s.Server.Delete(simOwner)
			s.Wake()
			s.ExpectGone() // what is deleted although it says that it stays is found at the request
		})
	}
}

// A deferred field that reads a value which is computed later does not come and go with every pass.
func TestDeferredFieldDoesNotFlap(t *testing.T) {
	for name, bodies := range map[string][]string{
		"of a later value":    {`{id: a, template: {apiVersion: sim.example.com/v1, kind: Thing, metadata: {name: "${schema.metadata.name}-a"}, spec: {peer: "${defer(d.v)}"}}}`, `{id: d, def: {v: "${schema.spec.v}"}}`},
		"of one that read it": {`{id: a, template: {apiVersion: sim.example.com/v1, kind: Thing, metadata: {name: "${schema.metadata.name}-a"}, spec: {v: "${schema.spec.v}", peer: "${defer(d.v)}"}}}`, `{id: d, def: {v: "${a.spec.v}"}}`},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSim(t, simProgram(t, simThings(bodies...)))
			s.World.Create(simulation.Input{V: "1"})
			s.Settle()
			s.ExpectQuiet("when nothing changed")
			live := s.Server.Live(executor.Key{GVR: simulation.Things, Namespace: "ns", Name: "one-a"})
			if peer, _, _ := unstructured.NestedString(live.Object, "spec", "peer"); peer != "1" {
				t.Errorf("the deferred field is %q, want 1", peer)
			}
		})
	}
}

// A deletion that the server refuses with a conflict, as an admission webhook may, is tried again. Only an object of another UID is taken for replaced.
func TestDeletionRefusedWithAConflictIsTriedAgain(t *testing.T) {
	s := newSim(t, simProgram(t, simThings(thingA)))
	s.World.Create(simulation.Input{V: "1"})
	s.Settle()
	refusals := 2
	s.Server.Fault = func(op string, _ *unstructured.Unstructured) simulation.Fault {
		if op == "delete" && refusals > 0 {
			refusals--
			return simulation.Conflict
		}
		return simulation.NoFault
	}
	s.Server.Delete(simOwner)
	s.Caches.CatchUp()
	s.World.Work()
	if refusals != 1 {
		t.Fatalf("%d refusals are left, want 1", refusals)
	}
	if text := s.Summary(); !strings.Contains(text, "injected") {
		t.Errorf("the status does not tell of the refusal:\n%s", text)
	}
	s.ExpectGone()
}
