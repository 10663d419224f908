package definition

import (
	"context"

	"kro.run/kro/internal/conditions"
	"kro.run/kro/internal/metrics"
	"kro.run/kro/internal/programs"
	"kro.run/kro/internal/revision"

	internalv1alpha1 "kro.run/kro/api/internal.kro.run/v1alpha1"
)

// number finds the revision of the document, or issues it, and says in GraphRevisionsResolved how the newest revision is.
func (c *Controller) number(ctx context.Context, p *pass) error {
	latest := p.lineage.latest()
	switch {
	case p.isDocument(latest) && !p.lineage.settling():
		p.revision = latest
	case !p.document.Valid():
	case p.lineage.settling():
		p.Unknown(revisionsResolved, reasonWaitSettlement, messageWaitSettlement)
		metrics.RevisionAwaited(metrics.WaitSettling)
		metrics.RevisionResolved(metrics.ResolutionWait)
		return nil
	default:
		issued, err := c.issue(ctx, p)
		if err != nil {
			p.False(revisionsResolved, reasonFailed, conditions.Short(err.Error()))
			return err
		}
		p.revision, latest = issued, issued
		if p.lineage.latest() != issued {
			p.lineage.live = append(p.lineage.live, issued)
		}
		metrics.RevisionResolved(metrics.ResolutionIssue)
	}
	p.rgd.Status.LastIssuedRevision = revision.HighWater(p.rgd.Status.LastIssuedRevision, p.lineage.all())
	if latest != nil {
		c.resolved(p, latest)
	}
	return nil
}

// resolved says how the newest revision is.
func (c *Controller) resolved(p *pass, latest *internalv1alpha1.GraphRevision) {
	result := c.compile(p, latest)
	switch {
	case result.Valid(), result.Err != nil && result.Program != nil:
		p.True(revisionsResolved, reasonResolved, messageResolved(latest.Spec.Revision))
		metrics.RevisionResolved(metrics.ResolutionServe)
	case result.Err != nil:
		p.Unknown(revisionsResolved, reasonSchemaUnknown, conditions.Short(result.Error()))
		metrics.RevisionResolved(metrics.ResolutionWait)
	default:
		p.False(revisionsResolved, reasonFailed, messageLatestFailed(latest.Spec.Revision))
		metrics.RevisionResolved(metrics.ResolutionFailed)
	}
}

// compile compiles a revision; that of the document has been compiled with it.
func (c *Controller) compile(p *pass, r *internalv1alpha1.GraphRevision) programs.Result {
	if p.isDocument(r) {
		return p.document
	}
	return c.Programs.Compile(programs.Key{Definition: p.rgd.Name, Hash: p.hashOf(r)}, &r.Spec.Snapshot.Spec)
}
