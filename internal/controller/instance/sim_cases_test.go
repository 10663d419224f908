package instance

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kro.run/kro/api/v1alpha1"
	"kro.run/kro/internal/executor"
)

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
	s.create(simSpec{V: "1"})
	s.stepAll()
	s.server.fault = func(op string, object *unstructured.Unstructured) simFault {
		if op == "apply" && object.GetKind() == "Thing" {
			return faultLost
		}
		return noFault
	}
	s.work() // the thing is made; the controller does not know
	s.server.fault = nil
	s.serve(without)
	s.work() // nothing of the thing is in the cache
	s.settle()
	if _, there := s.server.objects[executor.Key{GVR: thingGVR, Namespace: "ns", Name: "one-a"}]; there {
		t.Fatalf("the thing is left behind:\n%s", s.dump())
	}
}

func itemB2() string { return strings.ReplaceAll(itemB, "${a.spec.v}", "${schema.spec.v}") }

// stepAll lets every cache catch up.
func (s *sim) stepAll() {
	for _, store := range s.caches.order {
		for store.pending() {
			store.step(true)
		}
	}
}

// A new instance of a chain costs one metadata patch, one apply a child and one status write.
func TestCreationTakesTheFewestRequests(t *testing.T) {
	s := newSim(t, simProgram(t, simThings(thingA, itemB)))
	s.create(simSpec{V: "1"})
	s.stepAll()
	before := s.server.writes
	s.work()
	if got := s.server.writes - before; got != 4 {
		t.Fatalf("%d requests for two children, want 4:\n%s", got, s.dump())
	}
	s.expectQuiet("after the first pass")
}

// Two graphs, or a graph and another controller, that rewrite each other's fields are slowed down, and the condition
// says which object and which field.
func TestFightOverAFieldIsSlowedDownAndNamed(t *testing.T) {
	s := newSim(t, simProgram(t, simThings(thingA)))
	s.create(simSpec{V: "1"})
	s.settle()
	key := executor.Key{GVR: thingGVR, Namespace: "ns", Name: "one-a"}
	before := s.server.writes
	for range 100 {
		s.server.edit(key, func(live *unstructured.Unstructured) {
			_ = unstructured.SetNestedField(live.Object, "drifted", "spec", "v")
		})
		s.stepAll()
		s.work()
	}
	if got := s.server.writes - before; got > executor.RewriteBudget+5 {
		t.Fatalf("%d writes in no time, want the brake on after %d", got, executor.RewriteBudget)
	}
	if text := s.summary(); !strings.Contains(text, "Thrashing") || !strings.Contains(text, "Thing ns/one-a") || !strings.Contains(text, "spec.v") {
		t.Fatalf("the condition does not name the object and the field:\n%s", text)
	}
	s.settle()
	if text := s.summary(); !strings.Contains(text, "ACTIVE") {
		t.Fatalf("the instance does not recover when the fight is over:\n%s", text)
	}
}

// An object that belongs to another instance is refused, and taken over as soon as that one lets go of it.
func TestContestedObjectIsTakenOverWhenItIsFree(t *testing.T) {
	s := newSim(t, simProgram(t, simThings(thingA)))
	foreign := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "sim.example.com/v1", "kind": "Thing", "metadata": map[string]any{"name": "one-a", "namespace": "ns"},
	}}
	foreign.SetLabels(map[string]string{v1alpha1.OwnedLabel: "true", v1alpha1.PartOfLabel: "applyset-of-another-v1"})
	key := executor.Key{GVR: thingGVR, Namespace: "ns", Name: "one-a"}
	s.server.create(key, foreign)
	s.create(simSpec{V: "1"})
	s.stepAll()
	s.work()
	if text := s.summary(); !strings.Contains(text, "ERROR") || !strings.Contains(text, "belongs to") {
		t.Fatalf("want a refusal that says who owns the object:\n%s", text)
	}
	_ = s.server.delete(key, "")
	s.queue.delayed = nil // what happens must come from the event, not from a retry
	s.stepAll()
	s.work()
	if text := s.summary(); !strings.Contains(text, "ACTIVE") {
		t.Fatalf("the freed object is not taken:\n%s", text)
	}
}

// An instance that was restored from a backup has another UID. The children of its former self are its members all the
// same, and what becomes of them wakes it.
func TestFormerChildrenOfARestoredInstanceAreWaitedFor(t *testing.T) {
	s := newSim(t, simProgram(t, simThings(thingA)))
	s.create(simSpec{V: "1"})
	s.settle()
	former := executor.Key{GVR: thingGVR, Namespace: "ns", Name: "one-former"}
	object := (&unstructured.Unstructured{Object: s.server.objects[executor.Key{GVR: thingGVR, Namespace: "ns", Name: "one-a"}].live}).DeepCopy()
	object.SetName(former.Name)
	object.SetFinalizers([]string{"example.com/held"})
	labels := object.GetLabels()
	labels[v1alpha1.InstanceIDLabel] = "uid-of-before"
	object.SetLabels(labels)
	s.server.create(former, object)
	_ = s.server.delete(simInstance, "")
	s.stepAll()
	s.work()
	s.clock.Step(time.Minute)
	s.queue.elapse()
	s.work()
	if text := s.summary(); !strings.Contains(text, "one-former (held by finalizer example.com/held)") {
		t.Fatalf("the condition does not name what the deletion waits for:\n%s", text)
	}
	s.stepAll()
	s.work()
	s.queue.delayed = nil // what happens must come from the event, not from a retry
	s.server.edit(former, func(live *unstructured.Unstructured) { live.SetFinalizers(nil) })
	for range 3 {
		s.stepAll()
		s.work()
	}
	if text := s.summary(); text != "gone" {
		t.Fatalf("the instance does not go with its former children:\n%s", s.dump())
	}
}
