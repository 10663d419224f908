package graph

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kro.run/kro/internal/executor"
	"kro.run/kro/internal/simulation"
)

// What the simulation has found, and the story of a Graph from its birth to its end, each request counted.

var (
	owned  = simulation.Node{ID: "owned", Object: "owned", Form: simulation.Template, Kind: "Thing"}
	second = simulation.Node{ID: "second", Object: "second", Form: simulation.Template, Kind: "Item", Reads: "owned"}
	given  = simulation.Node{ID: "given", Object: "given", Form: simulation.Patch, Target: "p", Reads: "value"}
	value  = simulation.Node{ID: "value", Form: simulation.Def}
)

// newSim is a simulation of a Graph of the nodes, with all that is outside of it there.
func newSim(t simulation.Failer, nodes ...simulation.Node) *sim {
	s := simulation.NewWorld(t, simDoor, nodes).Door.(*sim)
	s.Define(nodes)
	for _, name := range simulation.Targets {
		s.Outside(name, true)
	}
	return s
}

func thing(name string) executor.Key {
	return executor.Key{GVR: simulation.Things, Namespace: simulation.Namespace, Name: "one-" + name}
}

// on makes the requests of an operation meet with a fault, the first few of them.
func on(op string, times int, fault simulation.Fault) func(string, *unstructured.Unstructured) simulation.Fault {
	return func(is string, _ *unstructured.Unstructured) simulation.Fault {
		if is != op || times == 0 {
			return simulation.NoFault
		}
		times--
		return fault
	}
}

// step lets the caches see everything and the controller do what is due, and returns how many requests changed something.
func (s *sim) step() int {
	before := s.Server.Writes
	s.Caches.CatchUp()
	s.World.Work()
	return s.Server.Writes - before
}

func TestGraphFromBirthToEnd(t *testing.T) {
	s := newSim(t, value, owned, second, given)
	s.World.Create(simulation.Input{V: "1"})
	// The revision and its verdict, the finalizer; each of three nodes, named in the status before it is written; the status.
	if n := s.step(); n != 10 {
		t.Errorf("the birth takes %d writes, want 10:\n%s", n, s.Dump())
	}
	s.Settle()
	s.ExpectQuiet("when nothing changed")
	if v, _, _ := unstructured.NestedString(s.Server.Live(executor.Key{GVR: simulation.Items, Namespace: simulation.Namespace, Name: "outside-p"}).Object, "spec", "given"); v != "1" {
		t.Errorf("the contribution is %q, want 1", v)
	}
	if text := s.Summary(); !strings.Contains(text, "Ready True") {
		t.Errorf("the Graph is not ready:\n%s", text)
	}

	s.World.Define(simulation.Nodes{value, owned})
	s.Settle()
	if live := s.Server.Live(executor.Key{GVR: simulation.Items, Namespace: simulation.Namespace, Name: "one-second"}); live != nil {
		t.Errorf("what no node wants any more is there: %v", live.Object)
	}
	if status := s.status(); len(status.ManagedResources) != 1 || len(status.Contributions) != 0 || status.AppliedRevision != 2 {
		t.Errorf("the status is %+v", status)
	}

	s.Server.Delete(simOwner)
	s.ExpectGone()
}

// Whether the account may watch what a node reads could not be asked. No event tells when that has passed, so it is asked again.
func TestUnansweredQuestionAboutRightsIsAskedAgain(t *testing.T) {
	reads := simulation.Node{ID: "reads", Form: simulation.Ref, Target: "p"}
	for _, fault := range []simulation.Fault{simulation.Conflict, simulation.Internal, simulation.Throttled, simulation.Lost, simulation.Denied} {
		s := newSim(t, reads)
		s.World.Create(simulation.Input{})
		s.Server.Fault = on("review", 1, fault)
		s.step()
		s.Settle()
		if text := s.Summary(); !strings.Contains(text, "Ready True") {
			t.Errorf("after fault %d the Graph is not ready:\n%s", fault, text)
		}
	}
}

// What the account may not watch is read, and looked at again: no event would tell that it has come.
func TestWhatMayNotBeWatchedIsLookedAtAgain(t *testing.T) {
	s := newSim(t, simulation.Node{ID: "reads", Form: simulation.Ref, Target: "p"})
	s.Outside("p", false)
	s.World.Create(simulation.Input{})
	s.Server.Fault = on("review", 4, simulation.Denied)
	s.step()
	s.Outside("p", true)
	if s.step(); strings.Contains(s.Summary(), "Ready True") {
		t.Fatal("the object was noticed at once: it is watched")
	}
	s.Elapse()
	s.step()
	if text := s.Summary(); !strings.Contains(text, "Ready True") {
		t.Errorf("the object has not been noticed:\n%s", text)
	}
}

// An object is deleted by somebody and made anew by the Graph, whose status then cannot be written: it names the former object. The Graph is deleted before
// it can be. The new object goes with it all the same.
func TestObjectMadeAnewIsDeletedThoughTheStatusNamesTheFormerOne(t *testing.T) {
	s := newSim(t, owned)
	s.World.Create(simulation.Input{V: "1"})
	s.Settle()
	former := s.Server.Live(thing("owned")).GetUID()
	s.Server.Delete(thing("owned"))
	s.Server.Fault = on("patch", 1, simulation.Internal)
	s.step()
	if uid := s.status().ManagedResources[0].UID; uid != string(former) || s.Server.Live(thing("owned")) == nil {
		t.Fatalf("the status names %s, want %s:\n%s", uid, former, s.Dump())
	}
	s.Server.Delete(simOwner)
	s.ExpectGone()
}

// An object of the name that somebody else made, with all the labels that the Graph's own had, stays.
func TestObjectRestoredBySomebodyElseStays(t *testing.T) {
	s := newSim(t, owned)
	s.World.Create(simulation.Input{V: "1"})
	s.Settle()
	copied := s.Server.Live(thing("owned")).DeepCopy()
	copied.SetUID("")
	copied.SetManagedFields(nil)
	s.Server.Delete(simOwner)
	s.Server.Delete(thing("owned"))
	s.Server.Create(thing("owned"), copied)
	s.Settle()
	if s.Server.Live(simOwner) != nil || s.Server.Live(thing("owned")) == nil {
		t.Errorf("the Graph should be gone, and the object there:\n%s", s.Dump())
	}
}

// The answer to an apply is lost, and before the cache shows the object no node wants it any more. What became of the request is found out before the status
// forgets the object.
func TestDoubtIsSettledBeforeAnythingIsForgotten(t *testing.T) {
	s := newSim(t, owned)
	s.World.Create(simulation.Input{V: "1"})
	s.Server.Fault = func(op string, object *unstructured.Unstructured) simulation.Fault {
		if op == "apply" && object.GetKind() == "Thing" {
			return simulation.Lost
		}
		return simulation.NoFault
	}
	s.step()
	s.Server.Fault = nil
	if s.Server.Live(thing("owned")) == nil {
		t.Fatal("the lost request was not carried out")
	}
	s.World.Define(simulation.Nodes{value})
	s.queue.Add(simKey)
	graphs := s.Caches.Ensure(simSource, "test", nil)
	graphs.Record(s.Server.Live(simOwner).DeepCopy()) // the cache of Graphs is ahead of the one of objects
	s.World.Work()
	s.Settle()
	if s.Server.Live(thing("owned")) != nil {
		t.Errorf("the object is left behind:\n%s", s.Dump())
	}
}

// A deletion whose answer is a conflict, as an admission webhook may give, is tried again.
func TestDeletionRefusedWithAConflictIsTriedAgain(t *testing.T) {
	s := newSim(t, owned)
	s.World.Create(simulation.Input{V: "1"})
	s.Settle()
	s.Server.Fault = on("delete", 2, simulation.Conflict)
	s.Server.Delete(simOwner)
	s.step()
	if text := s.Summary(); !strings.Contains(text, "DeleteFailed") {
		t.Errorf("the status does not tell of the refusal:\n%s", text)
	}
	s.ExpectGone()
}

// The spec is edited between the pass's look at the Graph and its first write, which therefore fails, and succeeds with what is there by now. The pass goes on
// with the spec that it began with; another one follows.
func TestEditDuringTheFirstWriteIsNotLost(t *testing.T) {
	s := newSim(t, value) // no object, whose events would bring another pass too
	s.World.Create(simulation.Input{V: "1"})
	s.Caches.CatchUp()
	s.World.Update(simulation.Input{V: "2"})
	s.Server.Fault = on("patch", 1, simulation.Conflict)
	s.World.Work()
	s.Settle()
	if n := s.status().AppliedRevision; n != 2 {
		t.Errorf("revision %d is applied, want 2:\n%s", n, s.Dump())
	}
}

// A revision that could not be written, and one of a Graph that went while no controller was there, do not stay wrong.
func TestRevisionsOfASimulatedGraph(t *testing.T) {
	s := newSim(t, owned)
	s.World.Create(simulation.Input{V: "1"})
	s.Server.Fault = on("create revision", 2, simulation.Internal)
	s.step()
	if s.Left() != "" || s.Server.Live(thing("owned")) == nil {
		t.Errorf("a Graph whose revision cannot be written goes on, and has none: %s", s.Left())
	}
	s.Settle()
	if names := strings.Split(s.Left(), ", "); !slices.Equal(names, []string{"ns.one-g00001"}) {
		t.Errorf("the revisions are %v", names)
	}
	s.Server.Delete(simOwner)
	s.Server.Fault = on("delete revision", 1, simulation.CrashBefore)
	s.Caches.CatchUp()
	s.World.Work()
	s.Server.Edit(simOwner, "somebody", func(live *unstructured.Unstructured) { live.SetFinalizers(nil) })
	s.World.Restart()
	s.ExpectGone()
}
