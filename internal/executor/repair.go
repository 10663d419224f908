package executor

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kro.run/kro/internal/apply"
)

// Somebody changes the port of a Service by hand. In a list whose entries have a key, that is another entry, of another manager: server-side apply adds
// ours beside it, the two have one name, and the server refuses the object for ever. What was applied before and is refused now, though nothing of it
// changed, is put right by replacing the lists that were changed, once; then applied, so that the fields belong to the manager of children again.

// repairManager is the manager of the patch that replaces lists. It owns nothing when the repair is done.
const repairManager = "kro.run/repair"

// repair brings a drifted object back whose apply the server refused as invalid. Without a way it returns the refusal.
func (r *run) repair(ctx context.Context, w *write, refusal error) (*unstructured.Unstructured, error) {
	if !apierrors.IsInvalid(refusal) || !w.force || !r.Memory.appliedBefore(r.Owner.Key(), w.slot(), w.hash) {
		return nil, refusal
	}
	live, err := r.server().Get(ctx, w.key.GVR, w.key.Namespace, w.key.Name)
	if err != nil || w.uid != "" && live.GetUID() != w.uid {
		return nil, refusal
	}
	ops := []map[string]any{{"op": "test", "path": "/metadata/resourceVersion", "value": live.GetResourceVersion()}}
	replaced := changedLists("", w.desired.Object, live.Object)
	if len(replaced) == 0 {
		return nil, refusal
	}
	for _, path := range slices.Sorted(maps.Keys(replaced)) {
		ops = append(ops, map[string]any{"op": "replace", "path": path, "value": replaced[path]})
	}
	if _, err := r.server().Patch(ctx, w.key.GVR, live, repairManager, ops); err != nil {
		return nil, refusal
	}
	answer, err := r.server().Apply(ctx, w.key.GVR, w.desired, ApplyOptions{Manager: w.manager, Force: true, UID: live.GetUID()})
	if err != nil {
		return nil, err
	}
	return r.disown(ctx, w, answer), nil
}

// disown takes the ownership of the repair away, so that a field which the template gives up later goes. Should it fail, the repair stands all the same.
func (r *run) disown(ctx context.Context, w *write, answer *unstructured.Unstructured) *unstructured.Unstructured {
	at := slices.IndexFunc(answer.GetManagedFields(), func(e metav1.ManagedFieldsEntry) bool { return e.Manager == repairManager })
	if at < 0 {
		return answer
	}
	path := "/metadata/managedFields/" + strconv.Itoa(at)
	after, err := r.server().Patch(ctx, w.key.GVR, answer, repairManager, []map[string]any{
		{"op": "test", "path": path + "/manager", "value": repairManager},
		{"op": "remove", "path": path},
	})
	if err != nil {
		return answer
	}
	return after
}

// changedLists finds the lists of the desired object that do not stand in the live one, by JSON pointer.
func changedLists(path string, desired, live map[string]any) map[string]any {
	out := map[string]any{}
	for name, want := range desired {
		at := path + "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
		switch want := want.(type) {
		case map[string]any:
			if there, ok := live[name].(map[string]any); ok {
				maps.Copy(out, changedLists(at, want, there))
			}
		case []any:
			if there, ok := live[name].([]any); ok && !apply.Contains(there, want) {
				out[at] = want
			}
		}
	}
	return out
}
