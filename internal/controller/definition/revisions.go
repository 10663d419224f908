package definition

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kro.run/kro/api/v1alpha1"
	"kro.run/kro/internal/metrics"
	"kro.run/kro/internal/revision"
	"kro.run/kro/internal/version"

	internalv1alpha1 "kro.run/kro/api/internal.kro.run/v1alpha1"
)

// ByDefinition is the index of GraphRevisions by the name of their definition.
const ByDefinition = "spec.snapshot.name"

// gather finds the revisions of the definition, and takes those over that belong to an earlier definition of this name.
func (c *Controller) gather(ctx context.Context, p *pass) error {
	cached, err := revisionsOf(ctx, c.Client, p.rgd.Name)
	if err != nil {
		return err
	}
	p.lineage = newLineage(c.notes.withIssued(p.rgd.Name, cached))
	for i, r := range p.lineage.live {
		adopted, err := c.adopt(ctx, p.rgd, r)
		if apierrors.IsNotFound(err) {
			continue
		}
		if apierrors.IsConflict(err) { // it has changed, which its event tells too; but admission may answer so as well
			p.failure = errors.Join(p.failure, err)
			continue
		}
		if err != nil {
			return err
		}
		p.lineage.live[i] = adopted
	}
	return nil
}

func (c *Controller) adopt(ctx context.Context, rgd *v1alpha1.ResourceGraphDefinition, r *internalv1alpha1.GraphRevision) (*internalv1alpha1.GraphRevision, error) {
	refs, changed := revision.Adopt(r.OwnerReferences, revision.Owner(rgd.Name, rgd.UID))
	if !changed {
		return r, nil
	}
	adopted := r.DeepCopy()
	adopted.OwnerReferences = refs
	if err := c.Client.Patch(ctx, adopted, client.MergeFromWithOptions(r, client.MergeFromWithOptimisticLock{})); err != nil {
		return nil, fmt.Errorf("taking over GraphRevision %s: %w", r.Name, err)
	}
	c.Log.Info("Took over graph revision", "name", rgd.Name, "graphRevision", r.Name)
	return adopted, nil
}

// revisionsOf lists the revisions of a definition.
func revisionsOf(ctx context.Context, reader client.Reader, definition string) ([]*internalv1alpha1.GraphRevision, error) {
	list := &internalv1alpha1.GraphRevisionList{}
	if err := reader.List(ctx, list, client.MatchingFields{ByDefinition: definition}); err != nil {
		return nil, fmt.Errorf("listing the GraphRevisions of %s: %w", definition, err)
	}
	revisions := make([]*internalv1alpha1.GraphRevision, len(list.Items))
	for i := range list.Items {
		revisions[i] = &list.Items[i]
	}
	return revisions, nil
}

// hashOf is the hash of a revision's spec, computed and not read from its label, which anybody may edit. It is empty for a spec that has none.
func (p *pass) hashOf(r *internalv1alpha1.GraphRevision) string {
	hash, known := p.hashes[r.UID]
	if !known {
		hash, _ = revision.Hash(&r.Spec.Snapshot.Spec)
		p.hashes[r.UID] = hash
	}
	return hash
}

// isDocument says whether a revision has the spec of the document.
func (p *pass) isDocument(r *internalv1alpha1.GraphRevision) bool {
	return r != nil && p.hash != "" && p.hashOf(r) == p.hash
}

// attempts bounds how often the next number is looked for. One is enough unless another controller numbers revisions of the same definition.
const attempts = 3

// issue creates the next revision of the definition. When its name is taken the cache is behind: the revisions are read from the server, and the one
// that is there may be the very one wanted.
func (c *Controller) issue(ctx context.Context, p *pass) (*internalv1alpha1.GraphRevision, error) {
	why := metrics.IssueSpecChanged
	if p.lineage.latest() == nil {
		why = metrics.IssueNoRevision
	}
	var taken error
	for range attempts {
		next, err := revision.New(p.rgd, revision.Next(p.rgd.Status.LastIssuedRevision, p.lineage.all()), version.Label())
		if err != nil {
			return nil, err
		}
		err = c.Client.Create(ctx, next)
		if err == nil {
			c.notes.issue(next)
			metrics.RevisionIssued(why)
			return next, nil
		}
		taken = fmt.Errorf("creating graph revision %q: %w", next.Name, err)
		if !apierrors.IsAlreadyExists(err) {
			return nil, taken
		}
		revisions, err := revisionsOf(ctx, c.Live, p.rgd.Name)
		if err != nil {
			return nil, err
		}
		p.lineage = newLineage(revisions)
		p.rgd.Status.LastIssuedRevision = revision.HighWater(p.rgd.Status.LastIssuedRevision+1, p.lineage.all())
		if latest := p.lineage.latest(); p.isDocument(latest) && !p.lineage.settling() {
			return latest, nil
		}
	}
	return nil, taken
}

// retire deletes the revisions that are no longer kept. Failures are counted and left to the next pass: no definition is worse off for a revision
// too many.
func (c *Controller) retire(ctx context.Context, p *pass) error {
	if p.revision == nil || p.hush {
		return nil
	}
	inUse := func(number int64) bool { return p.memory.served != nil && p.memory.served.revision == number }
	for _, r := range revision.Retire(p.lineage.live, c.Options.MaxRevisions, inUse) {
		err := client.IgnoreNotFound(c.Client.Delete(ctx, r, client.Preconditions{UID: &r.UID}))
		metrics.RevisionRetired(err)
		if err != nil {
			c.Log.Error(err, "Could not delete graph revision", "name", p.rgd.Name, "graphRevision", r.Name)
		}
	}
	return nil
}
