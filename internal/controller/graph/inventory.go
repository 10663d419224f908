package graph

import (
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"kro.run/kro/api/v1alpha1"
	"kro.run/kro/engine"
	"kro.run/kro/graph"
	"kro.run/kro/internal/executor"
	"kro.run/kro/schema"
)

// maxObjects is how many objects the status can name.
const maxObjects = 5000

// cover writes down what is about to be written, before it is. An object is named without UID first: it has none yet.
func (p *pass) cover(ctx context.Context, reach executor.Reach) error {
	status := p.status
	status.AppliedServiceAccount = p.user
	status.ManagedResources = slices.Clone(status.ManagedResources)
	known := map[identity]bool{}
	for _, m := range status.ManagedResources {
		known[identityOf(m)] = true
	}
	for _, o := range reach.Objects {
		m := v1alpha1.ManagedResource{
			NodeID: o.Node.Path, APIVersion: o.GVK.GroupVersion().String(), Kind: o.GVK.Kind, Namespace: o.Namespace, Name: o.Name,
		}
		if !known[identityOf(m)] {
			known[identityOf(m)] = true
			status.ManagedResources = append(status.ManagedResources, m)
		}
	}
	status.Contributions = slices.Clone(status.Contributions)
	for _, c := range reach.Contributions {
		if entry := contributionEntry(c); !slices.Contains(status.Contributions, entry) {
			status.Contributions = append(status.Contributions, entry)
		}
	}
	if len(status.ManagedResources) > maxObjects || len(status.Contributions) > maxObjects {
		return fmt.Errorf("the Graph wants more than %d objects; nothing more is written: make several Graphs of it", maxObjects)
	}
	if len(status.ManagedResources) == len(p.status.ManagedResources) && len(status.Contributions) == len(p.status.Contributions) &&
		status.AppliedServiceAccount == p.status.AppliedServiceAccount {
		return nil
	}
	return p.writeStatus(ctx, status)
}

// identity is an object on the server, whatever the version that it is written in.
type identity struct {
	kind            kschema.GroupKind
	namespace, name string
}

func identityOf(m v1alpha1.ManagedResource) identity {
	return identity{kschema.FromAPIVersionAndKind(m.APIVersion, m.Kind).GroupKind(), m.Namespace, m.Name}
}

// wanted lists the objects that the nodes want, dependencies first. One that is not there (refused, say) has no UID, or keeps the one that it is known by.
func (p *pass) wanted(program *graph.Program, outcome engine.Outcome) []v1alpha1.ManagedResource {
	standing := map[identity]string{}
	for _, m := range p.status.ManagedResources {
		standing[identityOf(m)] = m.UID
	}
	var out []v1alpha1.ManagedResource
	for _, index := range program.Order {
		n := outcome.Nodes[index]
		if n.Node.Kind != graph.Template {
			continue
		}
		for item, d := range n.Desired {
			m := v1alpha1.ManagedResource{
				NodeID: n.Node.Path, APIVersion: d.GVK.GroupVersion().String(), Kind: d.GVK.Kind,
				Namespace: d.Identity.Namespace, Name: d.Identity.Name,
			}
			uid, noted := standing[identityOf(m)]
			m.UID = uid
			if item < len(n.Observed) && n.Observed[item] != nil {
				m.UID = uidOf(n.Observed[item])
			} else if !noted {
				continue
			}
			out = append(out, m)
		}
	}
	return out
}

func uidOf(object map[string]any) string {
	metadata, _ := object["metadata"].(map[string]any)
	uid, _ := metadata["uid"].(string)
	return uid
}

// prune deletes the objects that no node wants any more, wave by wave, and puts into the status what the Graph owns after that. It only deletes when every
// node is resolved and applied: otherwise an object might be wanted after all.
func (p *pass) prune(ctx context.Context, outcome engine.Outcome, wanted []v1alpha1.ManagedResource, status *v1alpha1.GraphStatus) (again, error) {
	named := map[identity]bool{}
	for _, m := range wanted {
		named[identityOf(m)] = true
	}
	var rest []v1alpha1.ManagedResource
	for _, m := range p.status.ManagedResources {
		if !named[identityOf(m)] {
			rest = append(rest, m)
		}
	}
	status.ManagedResources = append(wanted, rest...)
	if len(rest) == 0 {
		clear(p.state.followed)
		clear(p.state.deleted)
	}
	if !outcome.Prunable || len(rest) == 0 {
		return again{}, nil
	}
	if err := p.settle(ctx); err != nil {
		return again{}, fmt.Errorf("prune failed: %w", err)
	}
	left := p.locateAll(ctx, rest)
	status.ManagedResources = append(slices.Clip(wanted), left.entries...)
	if len(left.errs) > 0 {
		return again{}, fmt.Errorf("prune failed: %w", errors.Join(left.errs...))
	}
	if left.waiting {
		return again{}, nil
	}
	if err := p.retire(ctx, executor.Wave(left.members)); err != nil {
		return again{}, fmt.Errorf("prune failed: %w", err)
	}
	return left.next(), nil
}

// retire deletes the objects of a wave, or lets go of them. What the server has agreed to delete is not deleted again because the cache does not show it yet.
func (p *pass) retire(ctx context.Context, wave []executor.Member) error {
	wave = slices.DeleteFunc(slices.Clone(wave), func(m executor.Member) bool { return p.state.deleted[m.Object.GetUID()] })
	if err := p.executor.RetireWave(ctx, executor.Live{Client: p.client}, string(p.state.uid), wave); err != nil {
		return err
	}
	for _, m := range wave {
		if m.Object.GetAnnotations()[v1alpha1.DeletionPolicyAnnotation] != string(v1alpha1.DeletionPolicyOrphaned) {
			p.state.deleted[m.Object.GetUID()] = true
		}
	}
	return nil
}

// settle finds out what became of the writes whose answers were lost, before objects are removed as the caches show them.
func (p *pass) settle(ctx context.Context) error {
	return p.executor.Settle(ctx, executor.Live{Client: p.client}, string(p.state.uid), p.stores)
}

// located is what is left of a list of objects.
type located struct {
	entries []v1alpha1.ManagedResource
	members []executor.Member
	errs    []error
	// waiting tells that a cache has not been read yet; the Graph is woken when it has.
	waiting bool
	// unseen tells that an object is there which no watch shows, so that no event will tell of its end.
	unseen bool
}

// next says when to look again at objects that were deleted.
func (l located) next() again {
	if l.unseen {
		return again{after: unseenAfter}
	}
	return again{}
}

// locateAll finds the objects that are still there. Those that are gone, or have been replaced by another of their name, are left out.
func (p *pass) locateAll(ctx context.Context, entries []v1alpha1.ManagedResource) located {
	var l located
	for _, m := range entries {
		member, seen, err := p.locate(ctx, m)
		var unsynced *executor.UnsyncedError
		switch {
		case errors.As(err, &unsynced):
			p.wakeWhen(unsynced.Done)
			l.waiting = true
		case err != nil:
			l.errs = append(l.errs, err)
		case member == nil:
			continue
		default:
			l.members = append(l.members, *member)
			l.unseen = l.unseen || !seen
		}
		l.entries = append(l.entries, m)
	}
	return l
}

// locate finds one object: in the cache, and when it is not there by asking the server, because nothing may be concluded from an absence that a cache
// merely has not heard of. An object that the cache has shown before, or that the server once said is gone, is not asked for: its absence is its end. Seen tells
// that the cache shows it.
func (p *pass) locate(ctx context.Context, m v1alpha1.ManagedResource) (member *executor.Member, seen bool, err error) {
	gvk := kschema.FromAPIVersionAndKind(m.APIVersion, m.Kind)
	gvr, _, err := p.Kinds.Mapping(gvk.GroupKind())
	var gone *schema.NotFoundError
	if errors.As(err, &gone) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("finding the resource of %s: %w", gvk.GroupKind(), err)
	}
	store := p.stores.Members(gvr)
	if !store.Synced() && store.Err() == nil {
		return nil, false, &executor.UnsyncedError{GVR: gvr, Done: store.Done()}
	}
	if store.Err() == nil {
		if object, found := store.Get(m.Namespace, m.Name); found {
			switch own, err := p.isOwn(ctx, gvr, m, object); {
			case err != nil:
				return nil, true, err
			case !own:
				return nil, true, nil
			}
			p.state.followed[object.GetUID()] = true
			return &executor.Member{GVR: gvr, Object: object}, true, nil
		}
		if p.state.followed[types.UID(m.UID)] {
			return nil, true, nil
		}
	}
	live, err := executor.Live{Client: p.client}.Get(ctx, gvr, m.Namespace, m.Name)
	switch {
	case apierrors.IsNotFound(err):
		if m.UID != "" { // without one it may be on its way
			p.state.followed[types.UID(m.UID)] = true
		}
		return nil, false, nil
	case err != nil:
		return nil, false, fmt.Errorf("looking for %s %s/%s: %w", m.Kind, m.Namespace, m.Name, err)
	}
	if own, err := p.isOwn(ctx, gvr, m, live); err != nil || !own {
		return nil, false, err
	}
	return &executor.Member{GVR: gvr, Object: live}, false, nil
}

// isOwn tells that an object is the one that an entry of the status means, and still the Graph's. An entry without UID is an intent whose outcome is not
// known. An object whose label is gone has been released (deletionPolicy), or somebody took it away from the Graph; either way it is left alone. So is one that
// somebody made anew under the name with the labels that it had, from a backup say; but one that the Graph itself made anew, and could not write down any more,
// is its own. Who made it, its managers tell.
func (p *pass) isOwn(ctx context.Context, gvr kschema.GroupVersionResource, m v1alpha1.ManagedResource, object *unstructured.Unstructured) (bool, error) {
	if !p.owner().Owns(object) {
		return false, nil
	}
	if m.UID == "" || m.UID == string(object.GetUID()) {
		return true, nil
	}
	live := object
	if len(live.GetManagedFields()) == 0 { // the caches have none
		var err error
		if live, err = (executor.Live{Client: p.client}).Get(ctx, gvr, m.Namespace, m.Name); apierrors.IsNotFound(err) {
			return false, nil
		} else if err != nil {
			return false, fmt.Errorf("looking who made %s %s/%s: %w", m.Kind, m.Namespace, m.Name, err)
		}
	}
	return live.GetUID() == object.GetUID() && executor.IsAppliedBy(live, executor.TemplateManager(p.state.uid)), nil
}
