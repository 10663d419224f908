package instance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kro.run/kro/api/v1alpha1"
	"kro.run/kro/internal/apply"
	"kro.run/kro/internal/executor"
)

// patience is how long a wave of a deletion may take before the instance says what it waits for. Most waves are gone
// earlier, and then nobody would see the write.
const patience = 300 * time.Millisecond

// teardown deletes the objects of an instance by its inventory, dependents first, and lets the instance go when nothing
// is left. Each wave must have vanished before the next; the events of the vanishing objects drive it.
func (p *pass) teardown(ctx context.Context) (again, error) {
	if !slices.Contains(p.instance.GetFinalizers(), v1alpha1.Finalizer) {
		return again{}, nil
	}
	members, err := p.members(ctx)
	var unsynced *executor.UnsyncedError
	if errors.As(err, &unsynced) {
		p.wakeWhen(unsynced.Done)
		return again{}, nil
	}
	if err != nil {
		return p.blocked(ctx, err)
	}
	if len(members) == 0 {
		if err := p.releaseAll(ctx); err != nil {
			return p.blocked(ctx, err)
		}
		if err := p.release(ctx); err != nil {
			return p.blocked(ctx, err)
		}
		return again{}, nil
	}
	wave, err := p.executor.Retire(ctx, string(p.state.uid), members, nil)
	if err != nil {
		return p.blocked(ctx, err)
	}
	return p.awaitWave(ctx, wave)
}

// blocked says what keeps the deletion from going on, and has it tried again.
func (p *pass) blocked(ctx context.Context, err error) (again, error) {
	p.report.Unknown(resourcesReady, "UnderDeletion", "deletion blocked: "+err.Error())
	return again{failed: true}, p.writeStatus(ctx, stateDeleting, nil)
}

// members lists what the inventory names. An instance without any inventory was never managed, or was restored without
// it: then whatever of the present graph's kinds is marked as its own counts.
func (p *pass) members(ctx context.Context) ([]executor.Member, error) {
	if err := p.executor.Settle(ctx, nil, string(p.state.uid), p.stores); err != nil {
		return nil, err
	}
	inventory, err := apply.ReadInventory(p.instance)
	switch {
	case err == nil:
	case apply.HasInventory(p.instance):
		return nil, fmt.Errorf("validate deletion inventory: %w", err)
	default:
		inventory = apply.Inventory{ID: p.owner().SetID}
		if program := p.kind.definition.Program; program != nil {
			inventory.GroupKinds = program.GroupKinds
		}
	}
	resources, err := p.resources(inventory.GroupKinds)
	if err != nil {
		return nil, err
	}
	return p.allMembers(ctx, resources, inventory.ID)
}

// awaitWave says what a deletion waits for, once it has waited for a while.
func (p *pass) awaitWave(ctx context.Context, wave []executor.Member) (again, error) {
	now := p.Clock.Now()
	if names := executor.DescribeWave(wave); names != p.state.wave {
		p.state.wave, p.state.waveSince = names, now
	}
	if waited := now.Sub(p.state.waveSince); waited < patience && !held(wave) {
		return again{after: patience - waited}, nil
	}
	p.report.Unknown(resourcesReady, "UnderDeletion", "deleting resources: waiting for "+p.state.wave)
	return again{}, p.writeStatus(ctx, stateDeleting, nil)
}

// held tells that somebody's finalizer keeps an object of the wave, so that it is not going to be gone in a moment.
func held(wave []executor.Member) bool {
	return slices.ContainsFunc(wave, func(m executor.Member) bool {
		return slices.ContainsFunc(m.Object.GetFinalizers(), func(f string) bool { return f != v1alpha1.Finalizer })
	})
}

// release removes the finalizer. The tests in the patch make sure that it is this object's and still ours.
func (p *pass) release(ctx context.Context) error {
	const tries = 5
	var err error
	for range tries {
		at := slices.Index(p.instance.GetFinalizers(), v1alpha1.Finalizer)
		if at < 0 {
			return nil
		}
		path := fmt.Sprintf("/metadata/finalizers/%d", at)
		patch, marshalErr := json.Marshal([]map[string]any{
			{"op": "test", "path": "/metadata/uid", "value": p.instance.GetUID()},
			{"op": "test", "path": path, "value": v1alpha1.Finalizer},
			{"op": "remove", "path": path},
		})
		if marshalErr != nil {
			return marshalErr
		}
		_, err = p.client().Patch(ctx, p.key.Name, types.JSONPatchType, patch, metav1.PatchOptions{})
		if err == nil || apierrors.IsNotFound(err) {
			return nil
		}
		if !apierrors.IsInvalid(err) && !apierrors.IsConflict(err) {
			break
		}
		live, getErr := p.client().Get(ctx, p.key.Name, metav1.GetOptions{})
		if apierrors.IsNotFound(getErr) || getErr == nil && live.GetUID() != p.instance.GetUID() {
			return nil
		}
		if getErr != nil {
			return fmt.Errorf("reading the instance to remove its finalizer: %w", getErr)
		}
		p.instance = live
	}
	return fmt.Errorf("removing the finalizer: %w", err)
}
