package executor

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"

	"kro.run/kro/api/v1alpha1"
	"kro.run/kro/engine"
	"kro.run/kro/graph"
	"kro.run/kro/internal/apply"
)

// A patch contributes fields to an object of somebody else. Each patch node of each owner has a field manager of its own, so that the fields can be
// released again: the manager applies nothing, and the server drops what nobody else holds. kro neither creates such an object nor deletes it.

// managerHash is the part of a field manager's name that stands for something longer.
func managerHash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])[:12]
}

// TemplateManager is the field manager of the objects of a Graph. All nodes share it, so that renaming a node gives no field up.
func TemplateManager(uid UID) string {
	return v1alpha1.TemplateManagerPrefix + managerHash(string(uid))
}

// PatchManager is the field manager of the contributions of one patch node.
func PatchManager(uid UID, path string) string {
	return patchManagersOf(uid) + managerHash(string(uid)+"/"+path)
}

func patchManagersOf(uid UID) string {
	return v1alpha1.PatchManagerPrefix + managerHash(string(uid)) + "."
}

// IsPatchManagerOf tells that a field manager is that of a patch of this owner, be the node there or not.
func IsPatchManagerOf(uid UID, manager string) bool {
	return strings.HasPrefix(manager, patchManagersOf(uid))
}

// ManagerConflictError says that another field manager holds a field which a patch contributes. It is not taken away from that one.
type ManagerConflictError struct {
	Object   string
	Managers []string
	Err      error
}

// Error names the object and the managers.
func (e *ManagerConflictError) Error() string {
	return fmt.Sprintf("field manager conflict: a field that the patch contributes to %s is held by %s: %v", e.Object, strings.Join(e.Managers, ", "), e.Err)
}

// Unwrap returns the server's answer.
func (e *ManagerConflictError) Unwrap() error { return e.Err }

// manyTargets is the number of items of a patch from which on their kind is watched as a whole instead of each target.
const manyTargets = 8

// contribute begins a task of a patch node. Whether the targets exist must be known first; that is waited for as for a reference.
func (r *run) contribute(ctx context.Context, task engine.Task) {
	stores := make([]Store, len(task.Objects))
	for item, desired := range task.Objects {
		target := Target{Namespace: desired.Identity.Namespace, Name: desired.Identity.Name}
		if len(task.Objects) >= manyTargets {
			target = Target{}
		}
		stores[item] = r.Stores.External(desired.Resource, target)
	}
	r.open++
	r.background(func() {
		patience := r.patience(ctx)
		for _, store := range stores {
			patience.await(store)
		}
		patience.end()
		r.answers.put(func() { r.begin(ctx, r.compareContributions(ctx, task, stores)) })
	})
}

// compareContributions answers the items whose fields stand as they are wanted, or whose target is not there, and returns the writes that the others
// need.
func (r *run) compareContributions(ctx context.Context, task engine.Task, stores []Store) []write {
	var writes []write
	path := pathOf(task.Node)
	hashes := make([]string, len(task.Objects))
	for item, desired := range task.Objects {
		hashes[item] = apply.ContentHash(desired.Object)
	}
	r.hashes[path] = hashes
	trusted := r.Trusted[path] != "" && r.Trusted[path] == nodeHash(hashes)
	for item, desired := range task.Objects {
		key := Key{GVR: desired.Resource, Namespace: desired.Identity.Namespace, Name: desired.Identity.Name}
		w := write{
			node: task.Node, item: item, key: key, hash: hashes[item], manager: r.Owner.Manager(task.Node),
			desired: &unstructured.Unstructured{Object: desired.Object},
		}
		observed, found := stores[item].Get(key.Namespace, key.Name)
		reads := stores[item].Synced() && stores[item].Err() == nil
		switch {
		case !found && reads:
			r.Pass.Absent(ctx, w.node, w.item)
		case found && observed.GetDeletionTimestamp() != nil:
			r.Pass.Deleting(ctx, w.node, w.item)
		case found && r.Memory.inOrder(r.Owner.Key(), w.slot(), w.desired, w.hash, observed, trusted):
			r.Pass.Applied(ctx, w.node, w.item, observed.Object)
		default:
			w.observed = observed
			writes = append(writes, w)
		}
	}
	return writes
}

var errAbsent = errors.New("the object does not exist")

// applyContribution sends the fields of one item. The UID makes the server refuse it instead of creating an object.
func (r *run) applyContribution(ctx context.Context, w write) (*unstructured.Unstructured, error) {
	target := w.observed
	if target == nil {
		live, err := r.server().Get(ctx, w.key.GVR, w.key.Namespace, w.key.Name)
		if apierrors.IsNotFound(err) {
			return nil, errAbsent
		}
		if err != nil {
			return nil, fmt.Errorf("looking at the object to contribute to: %w", err)
		}
		target = live
	}
	options := ApplyOptions{Manager: w.manager, Subresource: w.node.Subresource, Force: w.node.Subresource != "", UID: target.GetUID()}
	answer, err := r.server().Apply(ctx, w.key.GVR, w.desired, options)
	if managers := conflictingManagers(err); len(managers) > 0 {
		if slices.ContainsFunc(managers, func(m string) bool { return !r.reclaims(m) }) {
			return nil, &ManagerConflictError{Object: Describe(w.desired), Managers: managers, Err: err}
		}
		options.Force = true
		answer, err = r.server().Apply(ctx, w.key.GVR, w.desired, options)
	}
	switch {
	case apierrors.IsNotFound(err):
		return nil, errAbsent
	case err != nil:
		return nil, err
	}
	answer.SetManagedFields(nil)
	r.Memory.record(r.Owner.Key(), w.slot(), w.hash, answer)
	return answer, nil
}

// reclaims tells that a manager is a patch of this owner that its graph no longer has: after a node was renamed, say. Two patches of one graph that
// want the same field are not to take it from each other for ever.
func (r *run) reclaims(manager string) bool {
	return r.Owner.Reclaims(manager) && !r.patches[manager]
}

// patchManagers are the managers of the patch nodes that the graph has.
func patchManagers(pass *engine.Pass, owner Owner) map[string]bool {
	managers := map[string]bool{}
	for _, n := range pass.Outcome().Nodes {
		if n.Node.Kind == graph.Patch {
			managers[owner.Manager(n.Node)] = true
		}
	}
	return managers
}

var conflictText = regexp.MustCompile(`conflict with "((?:[^"\\]|\\.)*)"`)

// conflictingManagers are the managers that an apply was refused for.
func conflictingManagers(err error) []string {
	if !isManagerConflict(err) {
		return nil
	}
	var status apierrors.APIStatus
	_ = errors.As(err, &status) // isManagerConflict has seen it
	var managers []string
	for _, cause := range status.Status().Details.Causes {
		if cause.Type != metav1.CauseTypeFieldManagerConflict {
			continue
		}
		name := "another manager"
		if m := conflictText.FindStringSubmatch(cause.Message); m != nil {
			name = m[1]
		}
		if !slices.Contains(managers, name) {
			managers = append(managers, name)
		}
	}
	return managers
}

// Contribution names what a patch holds in an object of somebody else.
type Contribution struct {
	GVK             kschema.GroupVersionKind
	Namespace, Name string
	// Subresource is "status" or empty.
	Subresource string
	Manager     string
}

// Release gives the fields of a contribution up. It neither creates the object nor touches fields of others; an object that is gone is no error. It
// refuses managers that are not patches of kro: the record of a contribution may have been tampered with.
func (e *Executor) Release(ctx context.Context, server Server, owner string, gvr kschema.GroupVersionResource, c Contribution) error {
	if !strings.HasPrefix(c.Manager, v1alpha1.PatchManagerPrefix) {
		return fmt.Errorf("field manager %q is not one of kro's patches (%s…): it is not released", c.Manager, v1alpha1.PatchManagerPrefix)
	}
	select {
	case e.Slots <- struct{}{}:
		defer func() { <-e.Slots }()
	case <-ctx.Done():
		return ctx.Err()
	}
	key := Key{GVR: gvr, Namespace: c.Namespace, Name: c.Name}
	e.Memory.drop(owner, slot{key, c.Manager})
	if server == nil {
		server = e.Server
	}
	live, err := server.Get(ctx, gvr, c.Namespace, c.Name)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("looking at the object: %w", err)
	}
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(c.GVK)
	object.SetNamespace(c.Namespace)
	object.SetName(c.Name)
	_, err = server.Apply(ctx, gvr, object, ApplyOptions{Manager: c.Manager, Subresource: c.Subresource, Force: true, UID: live.GetUID()})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
