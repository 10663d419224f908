package simulation

import (
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"
	"pgregory.net/rapid"

	"kro.run/kro/api/v1alpha1"
	"kro.run/kro/internal/executor"
)

// drawFaults makes the next requests fail as drawn.
func (w *World) drawFaults(t *rapid.T, label string) {
	drawn := rapid.SliceOfN(rapid.IntRange(0, 50), 0, 40).Draw(t, label)
	w.Server.Fault = func(op string, object *unstructured.Unstructured) Fault {
		if op == "apply" && object.GetKind() == w.refusing && w.refusing != "" {
			return Denied
		}
		if len(drawn) == 0 {
			return NoFault
		}
		next := Fault(drawn[0])
		drawn = drawn[1:]
		if next >= faults {
			return NoFault
		}
		return next
	}
}

// step is one thing that can happen.
type step func(*World, *rapid.T)

// steps are weighted by how often they stand here.
var steps = []step{
	work, work, work, work, catchUp, catchUp, catchUp,
	func(w *World, _ *rapid.T) { w.kubelet() },
	loseWatch, edit, redefine, redefine, outside, deleteChild, driftChild, holdChild, unready, takeField, scale, usurp, refuse, dropKind, end, restart,
}

// disturb does one thing that can happen.
func (w *World) disturb(t *rapid.T, among []step) {
	rapid.SampledFrom(among).Draw(t, "step")(w, t)
	w.Clock.Step(time.Second)
}

func work(w *World, _ *rapid.T) {
	w.Door.Elapse()
	w.Work()
}

func restart(w *World, _ *rapid.T) { w.Restart() }

func (w *World) drawCache(t *rapid.T) *store {
	if len(w.Caches.order) == 0 {
		return nil
	}
	return w.Caches.order[rapid.IntRange(0, len(w.Caches.order)-1).Draw(t, "cache")]
}

func catchUp(w *World, t *rapid.T) {
	s := w.drawCache(t)
	for range rapid.IntRange(1, 5).Draw(t, "events") {
		if s != nil && s.pending() {
			s.step(true)
		}
	}
}

func loseWatch(w *World, t *rapid.T) {
	if s := w.drawCache(t); s != nil {
		s.lose()
	}
}

func edit(w *World, t *rapid.T) { w.Update(drawInput(t, "edit")) }

func redefine(w *World, t *rapid.T) {
	w.Define(w.nodes.Mutate(t, "redefined", w.Door.Frames()))
}

func outside(w *World, t *rapid.T) {
	name := rapid.SampledFrom(Targets).Draw(t, "which outside")
	w.Outside(name, w.Server.Live(outsideKey(name)) == nil)
}

func (w *World) onChild(t *rapid.T, do func(executor.Key)) {
	if owned, _ := w.children(); len(owned) > 0 {
		do(rapid.SampledFrom(owned).Draw(t, "child"))
	}
}

func deleteChild(w *World, t *rapid.T) { w.onChild(t, w.Server.Delete) }

func driftChild(w *World, t *rapid.T) { w.onChild(t, w.drift) }

func holdChild(w *World, t *rapid.T) {
	w.onChild(t, func(key executor.Key) {
		w.Server.Edit(key, "somebody", func(live *unstructured.Unstructured) { live.SetFinalizers([]string{"example.com/held"}) })
	})
}

func unready(w *World, t *rapid.T) {
	w.onChild(t, func(key executor.Key) {
		w.Server.Edit(key, "kubelet", func(live *unstructured.Unstructured) {
			_ = unstructured.SetNestedField(live.Object, false, "status", "ready")
		})
	})
}

// autoscaled is what the autoscaler sets.
const autoscaled int64 = 7

// scale is an autoscaler.
func scale(w *World, t *rapid.T) { w.onChild(t, w.scale) }

func (w *World) scale(key executor.Key) {
	w.Server.Edit(key, "autoscaler", func(live *unstructured.Unstructured) {
		if _, has, _ := unstructured.NestedFieldNoCopy(live.Object, "spec", "scale"); has {
			_ = unstructured.SetNestedField(live.Object, autoscaled, "spec", "scale")
		}
	})
}

// takeField is somebody who takes a field over that kro contributes, and gives it up when he has it already.
func takeField(w *World, t *rapid.T) {
	key := outsideKey(rapid.SampledFrom(Targets).Draw(t, "whose field"))
	o := w.Server.objects[key]
	if o == nil {
		return
	}
	flat := w.nodes.Flat()
	for _, path := range slices.Sorted(maps.Keys(flat)) {
		n := flat[path]
		if live, has, _ := unstructured.NestedString(o.live, "spec", n.Object); n.Form == Patch && has && live != "taken" {
			w.Server.Edit(key, "somebody", func(live *unstructured.Unstructured) {
				_ = unstructured.SetNestedField(live.Object, "taken", "spec", n.Object)
			})
			return
		}
	}
	w.giveFieldsBack()
}

func (w *World) giveFieldsBack() {
	for _, name := range Targets {
		w.Server.Edit(outsideKey(name), "somebody", func(live *unstructured.Unstructured) {
			spec, _ := live.Object["spec"].(map[string]any)
			maps.DeleteFunc(spec, func(_ string, v any) bool { return v == "taken" })
		})
	}
}

// usurp is another owner who makes an object of a name that the graph wants.
func usurp(w *World, t *rapid.T) {
	flat := w.nodes.Flat()
	path := rapid.SampledFrom(slices.Sorted(maps.Keys(flat))).Draw(t, "usurped")
	n := flat[path]
	key := executor.Key{GVR: resourcesByKind[n.Kind], Namespace: Namespace, Name: "one-" + n.Object}
	if n.Form != Template || w.Server.Live(key) != nil || w.Server.gone[key.GVR] {
		return
	}
	w.Server.Create(key, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": Group + "/v1", "kind": n.Kind, "spec": map[string]any{"v": "another's"},
		"metadata": map[string]any{"name": key.Name, "namespace": Namespace, "labels": map[string]any{
			v1alpha1.OwnedLabel: "true", v1alpha1.PartOfLabel: "applyset-of-another-v1", v1alpha1.InstanceIDLabel: "another",
		}},
	}})
}

func (w *World) endUsurpation() {
	for _, key := range w.Server.Keys() {
		if w.Server.Live(key).GetLabels()[v1alpha1.PartOfLabel] == "applyset-of-another-v1" {
			w.Server.Delete(key)
		}
	}
}

// refuse is a webhook that refuses a kind from now on, or no longer.
func refuse(w *World, t *rapid.T) {
	w.refusing = rapid.SampledFrom([]string{"", "Thing", "Item"}).Draw(t, "refused")
}

// dropKind is a CRD that is deleted, or comes back.
func dropKind(w *World, t *rapid.T) {
	if rapid.IntRange(0, 2).Draw(t, "really") > 0 && len(w.Server.gone) == 0 {
		return
	}
	kind := rapid.SampledFrom([]string{"Thing", "Item"}).Draw(t, "kind")
	w.serveKind(kind, w.Server.gone[resourcesByKind[kind]])
}

func (w *World) serveKind(kind string, serve bool) {
	gvr := resourcesByKind[kind]
	if serve {
		w.Server.ServeAgain(gvr)
	} else {
		w.Server.Unserve(gvr)
	}
	w.Door.KindChanged(kschema.GroupKind{Group: Group, Kind: kind})
}

// end is the user who deletes the owner; when it has gone, he makes another of the name.
func end(w *World, t *rapid.T) {
	if w.Server.Live(w.Door.Owner()) == nil {
		w.again()
		return
	}
	if rapid.IntRange(0, 2).Draw(t, "deletes") == 0 {
		w.Server.Delete(w.Door.Owner())
	}
}

func (w *World) again() { w.Create(w.input) }
