package simulation

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"
	clocktesting "k8s.io/utils/clock/testing"

	"kro.run/kro/api/v1alpha1"
	"kro.run/kro/internal/executor"
)

// Door is a front door of kro: a controller at work in a World, and what is particular to its kind of owner.
type Door interface {
	// Restart replaces the controller by a new one that knows nothing, over the World's present caches.
	Restart()
	// Define puts nodes into force, as the author of the definition would.
	Define(Nodes)
	// Create makes the owner (the instance, or the Graph) as the user would, and Update gives it another input.
	Create(Input)
	Update(Input)
	// Due is how many owners are to be reconciled, and Work reconciles one.
	Due() int
	Work()
	// Elapse lets all delays run out, and Wake has the owner looked at.
	Elapse()
	Wake()
	// KindChanged tells that a kind went or came back.
	KindChanged(kschema.GroupKind)
	// Frames tells whether definitions may hold inline graphs.
	Frames() bool
	// Seen is the owner as the controller knows it, or nil.
	Seen() *unstructured.Unstructured
	// InForce are the nodes that the controller knows of: the last ones, or older ones when its cache is behind.
	InForce() Nodes
	// Owner is the key of the owner.
	Owner() executor.Key
	// Owns tells that an object belongs to the owner.
	Owns(object *unstructured.Unstructured) bool
	// Covers says why a write must not happen yet: what is on the server does not name it. It is empty when all is well.
	Covers(Request) string
	// Left tells what else is there of owners that have gone; it is empty when all is well.
	Left() string
	// Summary is what the status says, as far as it does not depend on the course of events.
	Summary() string
}

// Failer is a *testing.T or a *rapid.T.
type Failer interface {
	Helper()
	Fatalf(format string, args ...any)
}

// World is a server, the caches of the present controller, and everybody else who writes.
type World struct {
	T      Failer
	Server *Server
	Caches *Caches
	Clock  *clocktesting.FakeClock
	Door   Door

	nodes Nodes
	input Input
	// incarnation counts the owners of the name.
	incarnation int
	// released are the objects that were let go of, by key: they stay.
	released map[executor.Key]bool
	// refusing is the kind whose writes a webhook refuses.
	refusing string
	// failed tells that a request failed since the present reconcile began.
	failed bool
	// inForce are the nodes that the present reconcile is about, and missing what they need from outside and its caches did not show when it began.
	inForce Nodes
	missing []string
	// looked are the objects that were there when the reconcile looked at the server, or wrote to it.
	looked map[executor.Key]bool
	// deleting tells that the reconcile knows of the owner's deletion.
	deleting bool
	blame    string
}

// NewWorld returns an empty world. The door is made over it.
func NewWorld(t Failer, door func(*World) Door, nodes Nodes) *World {
	w := &World{
		T: t, Server: NewServer(), Clock: clocktesting.NewFakeClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)),
		nodes: nodes, released: map[executor.Key]bool{}, looked: map[executor.Key]bool{},
	}
	w.Server.Check = w.check
	w.Server.onFault = w.onFault
	w.Door = door(w)
	w.Restart()
	return w
}

// Nodes are the nodes in force.
func (w *World) Nodes() Nodes { return w.nodes }

// Restart replaces the controller by a new one that knows nothing.
func (w *World) Restart() {
	w.Server.Dead = false
	w.Server.note("the controller starts")
	w.Caches = NewCaches(w.Server)
	w.Door.Restart()
}

// Work lets the controller do what is due.
func (w *World) Work() {
	for w.Door.Due() > 0 && !w.Server.Dead {
		w.begin()
		w.Server.note("a reconcile begins")
		w.Door.Work()
		if w.blame != "" {
			w.T.Fatalf("%s\n%s", w.blame, w.Dump())
		}
	}
	if w.Server.Dead {
		w.Restart()
	}
}

// begin notes what a reconcile begins with.
func (w *World) begin() {
	w.failed, w.inForce, w.missing, w.looked = false, w.Door.InForce(), nil, map[executor.Key]bool{}
	seen := w.Door.Seen()
	w.deleting = seen != nil && seen.GetDeletionTimestamp() != nil
	for _, name := range w.inForce.needed() {
		if !w.shows(outsideKey(name)) {
			w.missing = append(w.missing, name)
		}
	}
}

// accuse notes what the controller did wrong. A reconcile turns panics into errors, so the test fails when it is over.
func (w *World) accuse(format string, args ...any) {
	if w.blame == "" {
		w.blame = fmt.Sprintf(format, args...)
	}
}

// Settle lets everything happen that is going to, with objects becoming ready as they would, until nothing moves.
func (w *World) Settle() {
	w.Server.Fault = nil
	for range 400 {
		moved := w.kubelet()
		moved = w.Caches.CatchUp() || moved
		w.Clock.Step(time.Minute)
		w.Door.Elapse()
		moved = moved || w.Door.Due() > 0
		w.Work()
		if !moved {
			return
		}
	}
	w.T.Fatalf("the owner does not come to rest:\n%s", w.Dump())
}

// kubelet makes objects ready, and lets go of foreign finalizers.
func (w *World) kubelet() (moved bool) {
	for _, key := range w.Server.Keys() {
		live := w.Server.Live(key)
		ready, _, _ := unstructured.NestedBool(live.Object, "status", "ready")
		if key == w.Door.Owner() || ready && len(live.GetFinalizers()) == 0 {
			continue
		}
		moved = true
		w.Server.Edit(key, "kubelet", func(live *unstructured.Unstructured) {
			live.SetFinalizers(nil)
			_ = unstructured.SetNestedField(live.Object, true, "status", "ready")
		})
	}
	return moved
}

// Create makes the owner, with a UID that tells which of its name it is.
func (w *World) Create(in Input) {
	w.input = in
	w.incarnation++
	w.Door.Create(in)
}

// ownerPrefix is what the UIDs of owners begin with.
const ownerPrefix = "owner-"

// OwnerUID is the UID that the next owner gets.
func (w *World) OwnerUID() string { return fmt.Sprintf("%s%d", ownerPrefix, w.incarnation) }

// Update gives the owner another input.
func (w *World) Update(in Input) {
	w.input = in
	w.Door.Update(in)
}

// Define puts other nodes into force.
func (w *World) Define(nodes Nodes) {
	w.nodes = nodes
	w.Door.Define(nodes)
}

// Outside says whether one of the objects of others exists.
func (w *World) Outside(name string, exists bool) {
	key := outsideKey(name)
	switch {
	case w.Server.gone[Items]:
	case exists && w.Server.Live(key) == nil:
		w.Server.Create(key, &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": Group + "/v1", "kind": "Item",
			"metadata": map[string]any{"name": key.Name, "namespace": Namespace, "labels": map[string]any{"outside": "yes"}},
			"spec":     map[string]any{"v": "from outside"},
		}})
	case !exists && w.Server.Live(key) != nil:
		w.Server.Delete(key)
	}
}

func outsideKey(name string) executor.Key {
	return executor.Key{GVR: Items, Namespace: Namespace, Name: "outside-" + name}
}

func isOutside(key executor.Key) bool { return strings.HasPrefix(key.Name, "outside-") }

// children are the keys of what kro made, and those of what it let go of.
func (w *World) children() (owned, others []executor.Key) {
	for _, key := range w.Server.Keys() {
		switch {
		case key == w.Door.Owner() || isOutside(key):
		case w.Door.Owns(w.Server.Live(key)):
			owned = append(owned, key)
		default:
			others = append(others, key)
		}
	}
	return owned, others
}

// isMarked tells that an object carries anything of kro.
func isMarked(o *unstructured.Unstructured) bool {
	for _, entries := range []map[string]string{o.GetLabels(), o.GetAnnotations()} {
		for key, value := range entries {
			if strings.Contains(key, "kro.run/") || strings.HasPrefix(key, "applyset.") || key == v1alpha1.ManagedByLabel && value == v1alpha1.ManagedByValue {
				return true
			}
		}
	}
	return false
}

// needed are the objects from outside that the graph needs whatever its input is.
func (nodes Nodes) needed() []string {
	var out []string
	for _, n := range nodes.Flat() {
		if n.Include == "" && n.Reads == "" && (n.Form == Ref || n.Form == Patch || n.Form == PatchStatus) && !slices.Contains(out, n.Target) {
			out = append(out, n.Target)
		}
	}
	return out
}
