package graph

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	internalv1alpha1 "kro.run/kro/api/internal.kro.run/v1alpha1"
	"kro.run/kro/api/v1alpha1"
	"kro.run/kro/internal/conditions"
	"kro.run/kro/internal/controller/definition"
	"kro.run/kro/internal/metrics"
	"kro.run/kro/internal/revision"
	"kro.run/kro/internal/version"
)

// The conditions of a revision, the same as those of a revision of a definition.
const (
	verified        = "GraphVerified"
	reasonVerified  = "Verified"
	reasonInvalid   = "InvalidGraph"
	messageVerified = "graph revision compiled and verified"
)

var revisionConditions = conditions.Types{Root: ready, Dependents: []string{verified}}

// history is what is remembered of the revisions of one Graph.
type history struct {
	// present is the revision of the spec of that generation, without its content; nil before the first look. Its number, UID and status count.
	present    *internalv1alpha1.GraphRevision
	hash       string
	generation int64
	// dropped tells that all have been deleted, whatever the cache still shows.
	dropped bool
}

// number finds the revision of the spec, or issues it. It looks once a generation, so that a pass without a new spec costs nothing. A revision that cannot be
// written is no reason to stop the Graph: it is tried again.
func (p *pass) number(ctx context.Context, spec *v1alpha1.GraphSpec) {
	if h := p.state.history; h.present == nil || h.generation != p.object.GetGeneration() {
		now, err := p.look(ctx, spec)
		if err != nil {
			p.unkept = err
			return
		}
		p.state.history = now
	}
	p.revision = p.state.history.present
	p.status.LastIssuedRevision = max(p.status.LastIssuedRevision, p.revision.Spec.Revision)
}

// look finds the revision of the spec as it stands, and drops those that are no longer kept.
func (p *pass) look(ctx context.Context, spec *v1alpha1.GraphSpec) (history, error) {
	hash, err := revision.HashGraph(spec)
	if err != nil {
		return history{}, err
	}
	all, err := p.revisionsOf(ctx, p.key, p.state.history.present)
	if err != nil {
		return history{}, err
	}
	own, others := split(all, p.state.uid)
	latest := revision.Latest(own)
	if p.hashOf(latest) != hash {
		if latest, err = p.issue(ctx, hash, revision.Next(p.status.LastIssuedRevision, all)); err != nil {
			return history{}, err
		}
		own = append(own, latest)
	}
	applied := func(number int64) bool { return number == p.status.AppliedRevision }
	_ = p.drop(ctx, append(others, revision.Retire(own, p.Options.MaxRevisions, applied)...)) // has been told; the next generation tries again
	present := latest.DeepCopy()
	present.Spec.Graph.Spec.Raw = nil
	return history{present: present, hash: hash, generation: p.object.GetGeneration()}, nil
}

// hashOf is the hash of a revision's spec. It is computed, and not read from the label, which anybody may edit.
func (p *pass) hashOf(r *internalv1alpha1.GraphRevision) string {
	if known := p.state.history.present; known != nil && r != nil && known.UID == r.UID {
		return p.state.history.hash
	}
	return revision.HashOfGraph(r)
}

// issue creates a revision.
func (p *pass) issue(ctx context.Context, hash string, number int64) (*internalv1alpha1.GraphRevision, error) {
	content, _ := p.object.Object["spec"].(map[string]any)
	next, err := revision.NewGraph(p.key, types.UID(p.state.uid), p.object.GetGeneration(), content, hash, number, version.Label())
	if err != nil {
		return nil, err
	}
	if err := p.Revisions.Create(ctx, next); err != nil {
		return nil, fmt.Errorf("creating graph revision %q: %w", next.Name, err)
	}
	return next, nil
}

// split tells the living revisions of a Graph from those of earlier Graphs of its name.
func split(all []*internalv1alpha1.GraphRevision, uid types.UID) (own, others []*internalv1alpha1.GraphRevision) {
	for _, r := range all {
		switch {
		case r.DeletionTimestamp != nil:
		case r.Spec.Graph != nil && r.Spec.Graph.UID == uid:
			own = append(own, r)
		default:
			others = append(others, r)
		}
	}
	return own, others
}

// revisionsOf lists the revisions of all Graphs that have had a name, from the cache, and the one that was issued last if the cache does not show it yet.
func (c *Controller) revisionsOf(ctx context.Context, k types.NamespacedName, issued *internalv1alpha1.GraphRevision) ([]*internalv1alpha1.GraphRevision, error) {
	list := &internalv1alpha1.GraphRevisionList{}
	if err := c.Revisions.List(ctx, list, client.MatchingFields{definition.ByDefinition: revision.GraphLineage(k)}); err != nil {
		return nil, fmt.Errorf("listing the revisions: %w", err)
	}
	var all []*internalv1alpha1.GraphRevision
	for i := range list.Items {
		r := &list.Items[i]
		if r.Spec.Graph == nil {
			continue
		}
		if issued != nil && r.UID == issued.UID {
			issued = nil
		}
		all = append(all, r)
	}
	if issued != nil {
		all = append(all, issued)
	}
	return all, nil
}

// drop deletes revisions. Nobody is worse off for one too many, so that failures are told and left to the next time.
func (c *Controller) drop(ctx context.Context, revisions []*internalv1alpha1.GraphRevision) (failed error) {
	for _, r := range revisions {
		if r.DeletionTimestamp != nil {
			continue
		}
		err := client.IgnoreNotFound(c.Revisions.Delete(ctx, r, client.Preconditions{UID: &r.UID}))
		if err != nil {
			failed = fmt.Errorf("deleting graph revision %q: %w", r.Name, err)
			c.Log.Error(failed, "Could not delete graph revision", "graphRevision", r.Name)
		}
	}
	return failed
}

// judge puts the verdict about the spec on its revision: that it compiles, or why it does not.
func (p *pass) judge(ctx context.Context, problem string) {
	if p.revision == nil {
		return
	}
	ledger := revisionConditions.Open(p.revision.Status.Conditions, conditions.Of(p.revision), p.Clock.Now())
	if problem == "" {
		ledger.True(verified, reasonVerified, messageVerified)
	} else {
		ledger.False(verified, reasonInvalid, conditions.Short(fmt.Sprintf("failed to compile graph revision %q: %s", p.revision.Name, problem)))
	}
	judged := p.revision.DeepCopy()
	judged.Status.Conditions = ledger.List()
	if equality.Semantic.DeepEqual(judged.Status, p.revision.Status) {
		return
	}
	err := p.Revisions.Status().Patch(ctx, judged, client.MergeFrom(p.revision))
	if apierrors.IsNotFound(err) {
		return // somebody deleted it
	}
	if err != nil {
		metrics.RevisionStatusFailed()
		p.unkept = fmt.Errorf("writing the status of GraphRevision %s: %w", p.revision.Name, err)
		return
	}
	judged.Spec.Graph = p.revision.Spec.Graph // the answer has the content again
	p.state.history.present, p.revision = judged, judged
}

// dropAll deletes the revisions of a Graph that goes.
func (p *pass) dropAll(ctx context.Context) {
	all, err := p.revisionsOf(ctx, p.key, p.state.history.present)
	if err == nil {
		own, others := split(all, p.state.uid)
		err = p.drop(ctx, append(own, others...))
	}
	if err == nil {
		p.state.history = history{dropped: true}
	}
}

// sweep deletes the revisions of a Graph that is gone: one that never had a finalizer, or lost it, or went while no controller was there. The caches may lag behind
// each other, so the server is asked whether it is gone, when there is anything to delete.
func (c *Controller) sweep(ctx context.Context, k types.NamespacedName, issued *internalv1alpha1.GraphRevision) error {
	all, err := c.revisionsOf(ctx, k, issued)
	if err != nil || len(all) == 0 {
		return err
	}
	_, err = c.Client.Resource(resource).Namespace(k.Namespace).Get(ctx, k.Name, metav1.GetOptions{})
	if err == nil {
		return nil // it is there, or another one of its name, whose own pass looks after the revisions
	}
	if !apierrors.IsNotFound(err) {
		return fmt.Errorf("looking whether the Graph is gone: %w", err)
	}
	return c.drop(ctx, all)
}

// sweepLeft looks at the start for revisions whose Graph went while no controller was there.
func (c *Controller) sweepLeft(ctx context.Context) {
	select {
	case <-c.store.Done():
	case <-ctx.Done():
		return
	}
	list := &internalv1alpha1.GraphRevisionList{}
	if err := c.Revisions.List(ctx, list); err != nil {
		c.Log.Error(err, "Could not list graph revisions")
		return
	}
	for i := range list.Items {
		if of := list.Items[i].Spec.Graph; of != nil {
			if _, found := c.store.Get(of.Namespace, of.Name); !found {
				c.queue.Add(types.NamespacedName{Namespace: of.Namespace, Name: of.Name})
			}
		}
	}
}
