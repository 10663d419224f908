package definition

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kro.run/kro/api/v1alpha1"
	"kro.run/kro/internal/metrics"
	"kro.run/kro/internal/programs"
)

// conclude puts what the pass has found out into the status.
func (c *Controller) conclude(_ context.Context, p *pass) error {
	status := &p.rgd.Status
	status.Conditions = p.List()
	status.State = v1alpha1.ResourceGraphDefinitionInactive
	if p.Is(graphAccepted) && p.Is(kindReady) && p.Is(controllerReady) {
		status.State = v1alpha1.ResourceGraphDefinitionActive
	}
	verdict, _ := p.Get(graphAccepted)
	switch {
	case verdict.Status == "False":
		status.TopologicalOrder, status.Resources = nil, nil
	case p.document.Program != nil:
		status.TopologicalOrder, status.Resources = programs.Topology(p.document.Program, &p.rgd.Spec)
	}
	return nil
}

// write stores the status when it differs from the stored one.
func (c *Controller) write(ctx context.Context, p *pass) error {
	if p.hush || equality.Semantic.DeepEqual(p.stored.Status, p.rgd.Status) {
		return nil
	}
	from, to := p.stored.Status.State, p.rgd.Status.State
	if err := c.Client.Status().Patch(ctx, p.rgd, client.MergeFrom(p.stored)); err != nil {
		return fmt.Errorf("writing the status of ResourceGraphDefinition %s: %w", p.rgd.Name, err)
	}
	if from != to {
		metrics.DefinitionStateChanged(p.rgd.Name, string(from), string(to))
	}
	c.remember(p)
	return nil
}
