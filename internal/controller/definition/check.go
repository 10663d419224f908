package definition

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kro.run/kro/internal/conditions"
	"kro.run/kro/internal/programs"
	"kro.run/kro/internal/revision"
)

// A document that lacks a kind is tried again within these bounds. The arrival of a CRD is an event; that of an aggregated API is not.
const (
	retryMissingMin = 5 * time.Second
	retryMissingMax = 5 * time.Minute
)

// retryMissing grows with the time that the kind has been missing for, so that an API which is installed together with the definition is found at once and
// one that never comes costs next to nothing. It needs no memory, and survives a restart.
func retryMissing(missing time.Duration) time.Duration {
	return min(max(missing/2, retryMissingMin), retryMissingMax)
}

// check compiles the document and says in GraphAccepted what came of it.
func (c *Controller) check(_ context.Context, p *pass) error {
	spec := &p.rgd.Spec
	hash, err := revision.Hash(spec)
	if err != nil {
		p.False(graphAccepted, reasonInvalid, conditions.Short("computing the hash of the spec: "+err.Error()))
		return nil
	}
	p.hash = hash
	p.document = c.Programs.Compile(programs.Key{Definition: p.rgd.Name, Hash: hash}, spec.DeepCopy())
	switch {
	case p.document.Valid():
		p.True(graphAccepted, reasonValid, messageValid)
	case p.document.Err != nil:
		// Nothing has been found out, so a verdict about this very spec stands.
		if stands, _ := p.Get(graphAccepted); stands.ObservedGeneration != p.rgd.Generation || stands.Status == metav1.ConditionUnknown {
			p.Unknown(graphAccepted, reasonSchemaUnknown, conditions.Short(p.document.Error()))
		}
	default:
		p.False(graphAccepted, reasonInvalid, conditions.Short(p.rejection()))
		c.lookForMissing(p, graphAccepted, p.document)
	}
	return nil
}

// lookForMissing has the definition tried again when what was compiled lacks a kind. The condition tells since when.
func (c *Controller) lookForMissing(p *pass, condition string, result programs.Result) {
	if len(result.Diagnostics.Missing()) == 0 {
		return
	}
	stands, _ := p.Get(condition)
	if after := retryMissing(c.now().Sub(stands.LastTransitionTime.Time)); p.after == 0 || after < p.after {
		p.after = after
	}
}

// rejection is the text of GraphAccepted for a document that does not compile. When it did, and was numbered, the cluster has changed since.
func (p *pass) rejection() string {
	text := p.document.Error()
	if latest := p.lineage.latest(); p.isDocument(latest) {
		return messageLatestFailed(latest.Spec.Revision) + ": " + text
	}
	return text
}
