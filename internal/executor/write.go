package executor

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"slices"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kro.run/kro/graph"
	"kro.run/kro/internal/apply"
)

// apply sends one object. What may belong to somebody else is sent without force first: if another manager objects, the
// object is looked at before anything is taken over. The lock keeps two instances that want the same new object apart.
func (r *run) apply(ctx context.Context, w *write) (answer *unstructured.Unstructured, err error) {
	defer func() {
		if p := recover(); p != nil {
			answer, err = nil, fmt.Errorf("panic while applying %s %s/%s: %v", w.key.GVR.Resource, w.key.Namespace, w.key.Name, p)
		}
	}()
	select {
	case r.Slots <- struct{}{}:
		defer func() { <-r.Slots }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer r.locks.lock(w.key)()
	if w.node.Kind == graph.Patch {
		return r.applyContribution(ctx, *w)
	}
	members := r.Stores.Members(w.key.GVR)
	if observed, found := members.Get(w.key.Namespace, w.key.Name); found {
		if err := r.Owner.Conflict(observed); err != nil {
			return nil, err
		}
		w.force, w.uid = true, observed.GetUID()
		if in, err := r.yield(ctx, w, observed); in || err != nil {
			return observed, err
		}
	}
	defer members.Expect(w.key.Namespace, w.key.Name)()
	if answer, err = r.attempt(ctx, w); err != nil {
		answer, err = r.repair(ctx, w, err)
	}
	if err != nil {
		if uncertain(err) {
			r.Memory.doubt(r.Owner.Key(), w.key)
		}
		return nil, err
	}
	answer.SetManagedFields(nil)
	members.Record(answer)
	r.Memory.record(r.Owner.Key(), w.slot(), w.hash, answer)
	return answer, nil
}

func (r *run) attempt(ctx context.Context, w *write) (*unstructured.Unstructured, error) {
	if w.uid != "" {
		answer, err := r.applyOwn(ctx, w)
		if !Replaced(err) {
			return answer, err
		}
		// The caches are behind: what they show is gone, and what stands there now, if anything, may be another's.
		w.force, w.uid = false, ""
	}
	options := ApplyOptions{Manager: w.manager, Force: w.force}
	if !w.force && !r.Owner.MayAdopt() {
		if err := r.mayTake(ctx, w); err != nil {
			return nil, err
		}
	}
	answer, err := r.server().Apply(ctx, w.key.GVR, w.desired, options)
	if err == nil || w.force || !isManagerConflict(err) {
		return answer, err
	}
	if err := r.mayTake(ctx, w); err != nil {
		return nil, err
	}
	options.Force = true
	return r.server().Apply(ctx, w.key.GVR, w.desired, options)
}

// applyOwn applies an object that the caches know as kro's. One with external fields is sent without force first: the caches may not show yet that somebody has
// just written such a field, and it is his from then on.
func (r *run) applyOwn(ctx context.Context, w *write) (*unstructured.Unstructured, error) {
	options := ApplyOptions{Manager: w.manager, Force: len(w.node.ExternalFields) == 0, UID: w.uid}
	answer, err := r.server().Apply(ctx, w.key.GVR, w.desired, options)
	if options.Force || !isManagerConflict(err) {
		return answer, err
	}
	live, err := r.server().Get(ctx, w.key.GVR, w.key.Namespace, w.key.Name)
	if err != nil && !apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("looking for who writes the external fields: %w", err)
	}
	if err == nil && live.GetUID() == w.uid {
		r.cede(w, live)
	}
	options.Force = true
	return r.server().Apply(ctx, w.key.GVR, w.desired, options)
}

// mayTake looks at an object that the caches do not know as kro's, live, before it is taken over.
func (r *run) mayTake(ctx context.Context, w *write) error {
	existing, err := r.server().Get(ctx, w.key.GVR, w.key.Namespace, w.key.Name)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("looking at the existing object before taking it over: %w", err)
	}
	if err := r.Owner.Conflict(existing); err != nil {
		return err
	}
	if !r.Owner.MayAdopt() && !r.Owner.Owns(existing) && !r.made(w, existing) {
		return &notAdoptedError{key: w.key}
	}
	r.cede(w, existing)
	return nil
}

// made tells that an object without kro's labels is one's own nevertheless: it was applied for this owner, as memory or the status know, and its fields
// say so. Somebody took the labels off. An object that was let go of has such fields too, but is remembered no more.
func (r *run) made(w *write, existing *unstructured.Unstructured) bool {
	_, known := r.Memory.lookup(r.Owner.Key(), w.slot())
	if !known && r.Trusted[pathOf(w.node)] == "" {
		return false
	}
	return IsAppliedBy(existing, w.manager)
}

// IsAppliedBy tells that a manager has applied an object, as its managedFields have it. The caches show none.
func IsAppliedBy(object *unstructured.Unstructured, manager string) bool {
	return slices.ContainsFunc(object.GetManagedFields(), func(e metav1.ManagedFieldsEntry) bool {
		return e.Manager == manager && e.Operation == metav1.ManagedFieldsOperationApply && e.Subresource == ""
	})
}

type notAdoptedError struct{ key Key }

func (e *notAdoptedError) Error() string {
	name := e.key.Name
	if e.key.Namespace != "" {
		name = e.key.Namespace + "/" + name
	}
	return fmt.Sprintf("%s %s: %v", e.key.GVR.Resource, name, errNotAdopted)
}

func isOwnership(err error) bool {
	var owned *apply.OwnershipError
	var foreign *ForeignError
	var unowned *notAdoptedError
	return errors.As(err, &owned) || errors.As(err, &foreign) || errors.As(err, &unowned)
}

// keyedLocks are locks by object, striped so that they need no bookkeeping.
type keyedLocks struct {
	stripes [256]sync.Mutex
}

var lockSeed = maphash.MakeSeed()

func (l *keyedLocks) lock(key Key) (unlock func()) {
	m := &l.stripes[maphash.Comparable(lockSeed, key)%uint64(len(l.stripes))]
	m.Lock()
	return m.Unlock
}
