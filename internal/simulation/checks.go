package simulation

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kro.run/kro/api/v1alpha1"
	"kro.run/kro/internal/executor"
)

// check holds the properties that must hold at every write of a child.
func (w *World) check(r Request) {
	if r.Live != nil {
		w.looked[r.Key] = true
	}
	if r.Key == w.Door.Owner() || r.Op == "get" || r.Op == "review" {
		return
	}
	if w.Server.Live(w.Door.Owner()) == nil {
		return // taken away by force since; what the write makes is found by its labels
	}
	switch r.Op {
	case "apply":
		w.checkApply(r)
	case "delete":
		if r.meetsAnother() {
			return
		}
		if stays(r.Live) {
			w.accuse("%s is deleted although it says that it stays", r.Key.Name)
		}
		w.checkRemoval(r)
	case "merge":
		if r.meetsAnother() {
			return
		}
		if !stays(r.Live) && isMarked(r.Live) {
			w.accuse("%s is let go of although it does not say that it stays", r.Key.Name)
		}
		w.released[r.Key] = true
		w.checkRemoval(r)
	}
}

// meetsAnother tells that there is no object of the UID in the request, so that the server refuses it.
func (r Request) meetsAnother() bool { return r.Live == nil || r.Live.GetUID() != r.Object.GetUID() }

func (w *World) checkApply(r Request) {
	if isRelease(r) {
		return // of what a stale cache shows as contributed still, perhaps: it takes nothing away from others
	}
	if why := w.Door.Covers(r); why != "" {
		w.accuse("%s %s: %s", r.Object.GetKind(), r.Key.Name, why)
	}
	if isContribution(r) {
		if r.Live == nil && r.Object.GetUID() == "" {
			w.accuse("a contribution would create %s", r.Key.Name)
		}
		return
	}
	refused := r.Live != nil && r.Object.GetUID() != "" && r.Object.GetUID() != r.Live.GetUID()
	if r.Live != nil && isMarked(r.Live) && !w.Door.Owns(r.Live) && !refused && (r.Force || !w.Server.conflicts(r)) {
		w.accuse("%s belongs to another and is taken: %v", r.Key.Name, r.Live.GetLabels())
	}
	if isOutside(r.Key) {
		w.accuse("%s is applied as an object of its own", r.Key.Name)
	}
	if is, wanted := scaleOf(r.Live), scaleOf(r.Object); r.Force && is == autoscaled && wanted != 0 && wanted != is && w.isExternal(r.Key) {
		w.accuse("the scale of %s, which an autoscaler has set, is taken back", r.Key.Name)
	}
}

// isExternal tells that the present reconcile is about a node whose objects have a field for others, and this is one of them.
func (w *World) isExternal(key executor.Key) bool {
	for _, n := range w.inForce.Flat() {
		if n.External && (n.Form == Template && key.Name == "one-"+n.Object || n.Form == Collection && strings.HasPrefix(key.Name, "one-"+n.Object+"-")) {
			return true
		}
	}
	return false
}

// scaleOf is the field for others of an object; 0 when it has none.
func scaleOf(o *unstructured.Unstructured) int64 {
	if o == nil {
		return 0
	}
	n, _, _ := unstructured.NestedInt64(o.Object, "spec", "scale")
	return n
}

func isContribution(r Request) bool { return strings.HasPrefix(r.Manager, v1alpha1.PatchManagerPrefix) }

// isRelease tells that a contribution without fields gives up what was contributed before.
func isRelease(r Request) bool {
	return isContribution(r) && r.Object.Object["spec"] == nil && r.Object.Object["status"] == nil
}

func stays(o *unstructured.Unstructured) bool {
	return o.GetAnnotations()[v1alpha1.DeletionPolicyAnnotation] == string(v1alpha1.DeletionPolicyOrphaned)
}

// checkRemoval holds what must hold when an object is deleted or let go of.
func (w *World) checkRemoval(r Request) {
	if !w.Door.Owns(r.Live) {
		if r.Op == "delete" || isMarked(r.Live) {
			w.accuse("%s is removed and does not belong to the owner: %v", r.Key.Name, r.Live.GetLabels())
		}
		return
	}
	if !w.deleting {
		if w.failed {
			w.accuse("%s is pruned in a pass in which a request failed", r.Key.Name)
		}
		for _, name := range w.missing {
			if key := outsideKey(name); !w.shows(key) && !w.looked[key] {
				w.accuse("%s is pruned while outside-%s is missing, which the graph needs", r.Key.Name, name)
			}
		}
		return
	}
	owned, _ := w.children()
	for _, key := range owned {
		if other := w.Server.Live(key); order(other) > order(r.Live) {
			w.accuse("%s of wave %d goes before %s of wave %d", r.Key.Name, order(r.Live), key.Name, order(other))
		}
	}
}

// shows tells that the controller can know of an object: one of its caches shows it.
func (w *World) shows(key executor.Key) bool {
	for _, s := range w.Caches.order {
		if _, found := s.Get(key.Namespace, key.Name); found && s.source.GVR == key.GVR && s.source.Selector == "" {
			return true
		}
	}
	return false
}

func order(o *unstructured.Unstructured) (n int) {
	_, _ = fmt.Sscan(o.GetAnnotations()[v1alpha1.ApplyOrderAnnotation], &n)
	return n
}

// onFault carries out the part of a fault that others have in it, and notes that requests fail.
func (w *World) onFault(f Fault, r Request) {
	key := r.Key
	switch f {
	case Deleted:
		if w.isChild(key) {
			w.Server.Delete(key)
		}
	case Edited:
		if w.isChild(key) {
			w.drift(key)
		}
	case Overtaken:
		w.Caches.CatchUp()
	default:
		w.failed = w.failed || r.Op == "apply" && key != w.Door.Owner()
	}
}

func (w *World) isChild(key executor.Key) bool {
	live := w.Server.Live(key)
	return live != nil && key != w.Door.Owner() && !isOutside(key) && w.Door.Owns(live)
}

// drift is somebody who changes a field that kro wants otherwise.
func (w *World) drift(key executor.Key) {
	w.Server.Edit(key, "somebody", func(live *unstructured.Unstructured) {
		_ = unstructured.SetNestedField(live.Object, "drifted", "spec", "v")
	})
}
