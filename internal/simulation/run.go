package simulation

import (
	"encoding/json"
	"strings"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"pgregory.net/rapid"

	"kro.run/kro/api/v1alpha1"
	"kro.run/kro/internal/executor"
)

// Check runs one generated graph through one generated history with faults, compares the end with that of an undisturbed run, and deletes everything in a
// history with faults.
func Check(t *rapid.T, door func(*World) Door) {
	w := NewWorld(t, door, nil)
	w.nodes = DrawNodes(t, "first", w.Door.Frames())
	w.Door.Define(w.nodes)
	for _, name := range Targets {
		w.Outside(name, rapid.Bool().Draw(t, "outside "+name))
	}
	w.Create(drawInput(t, "spec"))
	w.drawFaults(t, "faults")
	for range rapid.IntRange(0, 30).Draw(t, "steps") {
		w.disturb(t, steps)
	}
	w.calm()
	w.Settle()
	w.compare(door)
	w.ExpectQuiet("after settling")
	w.Restart()
	w.Settle()
	w.ExpectQuiet("after a restart")
	w.expectExternalFieldsLeftAlone()
	w.expectCleanDeletion(t)
}

// calm ends what others do. While something that the graph needs is missing, what was made before stays as it is, so the end depends on the past.
func (w *World) calm() {
	w.Server.Fault, w.refusing = nil, ""
	for kind, gvr := range resourcesByKind {
		if w.Server.gone[gvr] {
			w.serveKind(kind, true)
		}
	}
	for _, name := range Targets {
		w.Outside(name, true)
	}
	w.giveFieldsBack()
	w.endUsurpation()
	if owner := w.Server.Live(w.Door.Owner()); owner != nil && owner.GetDeletionTimestamp() != nil {
		w.Settle()
	}
	if w.Server.Live(w.Door.Owner()) == nil {
		w.again()
	}
}

// compare holds the world against one in which nothing ever went wrong.
func (w *World) compare(door func(*World) Door) {
	other := NewWorld(w.T, door, w.nodes)
	other.Door.Define(w.nodes)
	for _, name := range Targets {
		other.Outside(name, true)
	}
	other.incarnation = w.incarnation - 1
	other.Create(w.input)
	other.Settle()
	if got, want := w.content(other), other.content(w); got != want {
		w.T.Fatalf("the objects differ from an undisturbed run (-want +got):\n%s\n%s", cmp.Diff(want, got), w.Dump())
	}
	if got, want := w.Door.Summary(), other.Door.Summary(); got != want {
		w.T.Fatalf("the status differs from an undisturbed run (-want +got):\n%s\n%s", cmp.Diff(want, got), w.Dump())
	}
}

// content is what stands on the server besides the owner, as far as it does not depend on the course of events. What kro let go of stays, and what it is
// like is nobody's business, but it must not look like kro's.
func (w *World) content(other *World) string {
	var out []string
	for _, key := range w.Server.Keys() {
		live := w.Server.Live(key).DeepCopy()
		if key == w.Door.Owner() {
			continue
		}
		wasReleased := w.released[key] || other.released[key]
		if wasReleased && !w.Door.Owns(live) && !isMarked(live) && live.GetDeletionTimestamp() == nil && other.Server.Live(key) == nil {
			continue
		}
		entry := map[string]any{"labels": live.GetLabels(), "annotations": live.GetAnnotations(), "deleting": live.GetDeletionTimestamp() != nil}
		unstructured.RemoveNestedField(live.Object, "spec", "scale")
		if wasReleased { // taken up again, by another manager perhaps: what the former one wanted besides stays
			unstructured.RemoveNestedField(live.Object, "spec", "more")
			unstructured.RemoveNestedField(live.Object, "spec", "peer")
		}
		unstructured.RemoveNestedField(live.Object, "status", "ready")
		entry["spec"], entry["status"] = live.Object["spec"], live.Object["status"]
		if isOutside(key) {
			entry["contributions"] = w.contributions(key)
		}
		text, _ := json.Marshal(entry)
		out = append(out, key.GVR.Resource+"/"+key.Name+" "+string(text))
	}
	return strings.Join(out, "\n")
}

// contributions are the fields that patches hold on an object of others, by manager.
func (w *World) contributions(key executor.Key) map[string][]string {
	out := map[string][]string{}
	for manager, owned := range w.Server.objects[key].owners {
		if strings.HasPrefix(manager, v1alpha1.PatchManagerPrefix) {
			for path := range owned {
				out[manager] = append(out[manager], strings.ReplaceAll(path, "\x00", "."))
			}
		}
	}
	return out
}

// Dump is all there is to see.
func (w *World) Dump() string {
	return strings.Join([]string{w.Door.Summary(), w.nodes.Graph(w.input), strings.Join(w.Server.Log, "\n")}, "\n")
}

// ExpectQuiet wakes the owner and expects that nothing is written.
func (w *World) ExpectQuiet(when string) {
	w.T.Helper()
	before := w.Server.Writes
	w.Door.Wake()
	w.Settle()
	if w.Server.Writes != before {
		w.T.Fatalf("%d writes %s although nothing changed:\n%s", w.Server.Writes-before, when, w.Dump())
	}
}

// expectExternalFieldsLeftAlone has an autoscaler set the fields that are his, and expects that they stay, also when the controller has forgotten all.
func (w *World) expectExternalFieldsLeftAlone() {
	external := map[string]bool{}
	for _, n := range w.nodes.Flat() {
		if n.External && (n.Form == Template || n.Form == Collection) {
			external["one-"+n.Object] = true
		}
	}
	var scaled []executor.Key
	owned, _ := w.children()
	for _, key := range owned {
		if external[key.Name] || external[strings.TrimSuffix(key.Name, "-"+key.Name[len(key.Name)-1:])] {
			w.scale(key)
			scaled = append(scaled, key)
		}
	}
	for _, when := range []string{"at work", "after a restart"} {
		w.Settle()
		for _, key := range scaled {
			if is, has, _ := unstructured.NestedInt64(w.Server.Live(key).Object, "spec", "scale"); has && is != autoscaled {
				w.T.Fatalf("the field of %s that belongs to another is set back %s: %d", key.Name, when, is)
			}
		}
		w.ExpectQuiet("after the autoscaler, " + when)
		w.Restart()
	}
}

// whileDeleting is what happens during a deletion.
var whileDeleting = []step{
	work, work, work, work, catchUp, catchUp, catchUp, loseWatch, holdChild, driftChild, deleteChild, unready, outside, redefine, restart, dropKind, refuse,
	func(w *World, _ *rapid.T) { w.kubelet() },
}

// expectCleanDeletion deletes the owner, and expects that nothing of it is left but what stays by its own word.
func (w *World) expectCleanDeletion(t *rapid.T) {
	w.drawFaults(t, "faults of the deletion")
	edit(w, t) // what the edit made is in the inventory when the deletion begins, or was never made
	for range rapid.IntRange(0, 4).Draw(t, "steps before the deletion") {
		w.disturb(t, whileDeleting)
	}
	w.Server.Delete(w.Door.Owner())
	for range rapid.IntRange(0, 20).Draw(t, "steps of the deletion") {
		w.disturb(t, whileDeleting)
	}
	w.Server.Fault, w.refusing = nil, ""
	w.ExpectGone()
}

// ExpectGone lets a deletion end, and expects that nothing is left of the owner, neither on the server nor in the controller's caches.
func (w *World) ExpectGone() {
	w.T.Helper()
	w.Settle()
	for _, key := range w.Server.Keys() {
		live := w.Server.Live(key)
		switch {
		case isOutside(key):
			if left := w.contributions(key); len(left) > 0 {
				w.T.Fatalf("%s holds contributions still: %v", key.Name, left)
			}
			if own := live.Object["spec"]; !equal(own, map[string]any{"v": "from outside"}) {
				w.T.Fatalf("%s is not what it was: %v", key.Name, own)
			}
		case key == w.Door.Owner():
			w.T.Fatalf("the owner does not go:\n%s", w.Dump())
		case !w.released[key] || isMarked(live):
			w.T.Fatalf("%s is left behind: %v %v\n%s", key.Name, live.GetLabels(), live.GetAnnotations(), w.Dump())
		}
	}
	if left := w.Door.Left(); left != "" {
		w.T.Fatalf("the owner has gone, and leaves %s\n%s", left, w.Dump())
	}
	if left := w.Caches.followedBy(ownerPrefix); len(left) > 0 {
		w.T.Fatalf("the owner has gone, and is followed for still: %v", left)
	}
}
