package graph

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"kro.run/kro/api/v1alpha1"
	"kro.run/kro/internal/conditions"
	"kro.run/kro/internal/executor"
)

const (
	// patience is how long a wave of a deletion may take before the Graph says what it waits for. Most waves are gone earlier, and then nobody would see the
	// write.
	patience = 300 * time.Millisecond
	// unseenAfter is when an object is looked at again that no watch shows.
	unseenAfter = time.Second
)

// teardown deletes the objects of a Graph by its status, dependents first, releases what it contributes, and lets the Graph go when nothing is left. It acts as
// the account that applied last. Each wave must have vanished before the next; the events of the vanishing objects drive it.
func (p *pass) teardown(ctx context.Context) (again, error) {
	if !slices.Contains(p.object.GetFinalizers(), v1alpha1.GraphFinalizer) {
		return again{}, nil
	}
	p.user = p.status.AppliedServiceAccount
	if p.user == "" {
		var spec v1alpha1.GraphSpec
		_ = decode(p.object.Object["spec"], &spec) // what cannot be read names no account, and has applied nothing
		p.user = userOf(p.key.Namespace, &spec)
	}
	if !strings.HasPrefix(p.user, User(p.key.Namespace, "")) || p.user == p.Options.Self {
		return p.undeleted(ctx, fmt.Errorf("status.appliedServiceAccount is %q, which is no ServiceAccount that a Graph of this namespace may act as", p.user))
	}
	var err error
	if p.client, err = p.clients.of(p.user); err != nil {
		return again{}, err
	}
	var after again
	blocked := p.settle(ctx)
	if blocked == nil {
		after, blocked, err = p.takeDown(ctx, p.status.ManagedResources, p.status.Contributions)
	}
	if apierrors.IsForbidden(blocked) && p.endsWithNamespace(ctx) {
		managed, contributions := p.outside()
		after, blocked, err = p.takeDown(ctx, managed, contributions)
	}
	if blocked != nil {
		return p.undeleted(ctx, blocked)
	}
	return after, err
}

// takeDown goes one step of a deletion, and tells what is in its way.
func (p *pass) takeDown(ctx context.Context, managed []v1alpha1.ManagedResource, contributions []v1alpha1.Contribution) (after again, blocked, err error) {
	left := p.locateAll(ctx, managed)
	if len(left.errs) > 0 {
		return again{}, errors.Join(left.errs...), nil
	}
	if left.waiting {
		return again{}, nil, nil
	}
	if len(left.members) > 0 {
		wave := executor.Wave(left.members)
		if err := p.retire(ctx, wave); err != nil {
			return again{}, err, nil
		}
		after, err = p.awaitWave(ctx, wave, left)
		return after, nil, err
	}
	if _, err := p.releaseAll(ctx, contributions); err != nil {
		return again{}, err, nil
	}
	p.dropAll(ctx)
	return again{}, nil, p.letGo(ctx)
}

var namespaceResource = kschema.GroupVersionResource{Version: "v1", Resource: "namespaces"}

// endsWithNamespace tells that the namespace of the Graph is being deleted. The rights of the account go with it, maybe before the Graph, and nobody can
// give them again: the Graph would hold its namespace up for ever.
func (p *pass) endsWithNamespace(ctx context.Context) bool {
	namespace, err := p.Client.Resource(namespaceResource).Get(ctx, p.key.Namespace, metav1.GetOptions{})
	return err == nil && namespace.GetDeletionTimestamp() != nil
}

// outside is what the namespace of the Graph does not take along when it goes.
func (p *pass) outside() (managed []v1alpha1.ManagedResource, contributions []v1alpha1.Contribution) {
	for _, m := range p.status.ManagedResources {
		if m.Namespace != p.key.Namespace {
			managed = append(managed, m)
		}
	}
	for _, c := range p.status.Contributions {
		if c.Namespace != p.key.Namespace {
			contributions = append(contributions, c)
		}
	}
	return managed, contributions
}

// undeleted tells why a deletion does not go on. The finalizer stays, and so does what is left.
func (p *pass) undeleted(ctx context.Context, err error) (again, error) {
	p.report.False(resourcesConverged, "DeleteFailed", conditions.Short(err.Error()))
	return again{failed: true}, p.writeStatus(ctx, p.status)
}

// awaitWave says what a deletion waits for, once it has waited for a while.
func (p *pass) awaitWave(ctx context.Context, wave []executor.Member, left located) (again, error) {
	now := p.Clock.Now()
	if names := executor.DescribeWave(wave); names != p.state.wave {
		p.state.wave, p.state.waveSince = names, now
	}
	next := left.next()
	if waited := now.Sub(p.state.waveSince); waited < patience {
		return again{after: patience - waited}, nil
	}
	p.report.Unknown(resourcesConverged, "Deleting", "deleting resources: waiting for "+p.state.wave)
	return next, p.writeStatus(ctx, p.status)
}

// hold puts the finalizer on the Graph, before anything is written for it.
func (p *pass) hold(ctx context.Context) error {
	const tries = 5
	for range tries {
		finalizers := p.object.GetFinalizers()
		if slices.Contains(finalizers, v1alpha1.GraphFinalizer) {
			return nil
		}
		add := []map[string]any{{"op": "test", "path": "/metadata/uid", "value": p.object.GetUID()}}
		if len(finalizers) == 0 {
			add = append(add, map[string]any{"op": "add", "path": "/metadata/finalizers", "value": []string{v1alpha1.GraphFinalizer}})
		} else {
			add = append(add, map[string]any{"op": "test", "path": "/metadata/finalizers", "value": finalizers},
				map[string]any{"op": "add", "path": "/metadata/finalizers/-", "value": v1alpha1.GraphFinalizer})
		}
		again, err := p.patch(ctx, add)
		if err != nil {
			return fmt.Errorf("adding the finalizer: %w", err)
		}
		if !again {
			return nil
		}
	}
	return errors.New("adding the finalizer: somebody else changes the finalizers at the same time")
}

// letGo removes the finalizer.
func (p *pass) letGo(ctx context.Context) error {
	const tries = 5
	for range tries {
		at := slices.Index(p.object.GetFinalizers(), v1alpha1.GraphFinalizer)
		if at < 0 {
			return nil
		}
		path := fmt.Sprintf("/metadata/finalizers/%d", at)
		again, err := p.patch(ctx, []map[string]any{
			{"op": "test", "path": "/metadata/uid", "value": p.object.GetUID()},
			{"op": "test", "path": path, "value": v1alpha1.GraphFinalizer},
			{"op": "remove", "path": path},
		})
		if err != nil {
			return fmt.Errorf("removing the finalizer: %w", err)
		}
		if !again {
			return nil
		}
	}
	return errors.New("removing the finalizer: somebody else changes the finalizers at the same time")
}

// patch sends a JSON patch for the Graph. When a test in it fails, because the Graph has changed, the Graph is read anew and again is true.
func (p *pass) patch(ctx context.Context, operations []map[string]any) (again bool, err error) {
	body, err := json.Marshal(operations)
	if err != nil {
		return false, err
	}
	client := p.Client.Resource(resource).Namespace(p.key.Namespace)
	defer p.store.Expect(p.key.Namespace, p.key.Name)()
	answer, err := client.Patch(ctx, p.key.Name, types.JSONPatchType, body, metav1.PatchOptions{})
	switch {
	case err == nil:
		p.keep(answer)
		return false, nil
	case apierrors.IsNotFound(err):
		return false, errGone
	case !apierrors.IsInvalid(err) && !apierrors.IsConflict(err):
		return false, err
	}
	live, err := client.Get(ctx, p.key.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) || err == nil && live.GetUID() != p.object.GetUID() {
		return false, errGone
	}
	if err != nil {
		return false, err
	}
	p.goOnWith(live)
	return true, nil
}
