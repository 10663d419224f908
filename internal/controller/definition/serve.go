package definition

import (
	"context"
	"fmt"

	"kro.run/kro/api/v1alpha1"
	"kro.run/kro/graph"
	"kro.run/kro/internal/conditions"
	"kro.run/kro/internal/controller/instance"
)

// serve hands the chosen program to the instances. It costs nothing when they run it already.
func (c *Controller) serve(ctx context.Context, p *pass) error {
	if p.unserved {
		return nil
	}
	definition := instance.Definition{Name: p.rgd.Name, UID: p.rgd.UID, Adopt: p.rgd.Annotations[v1alpha1.AdoptAnnotation]}
	if p.chosen == nil {
		kind, named := graph.KindOf(&p.rgd.Spec)
		if _, exists := c.Catalog.CRD(kind.Resource.Resource + "." + kind.Resource.Group); !named || !exists {
			return nil // nothing was ever served, so there are no instances to tell
		}
		definition.Kind = kind
		definition.Reason = conditions.Short(fmt.Sprintf("no revision of ResourceGraphDefinition %s compiles: %s", p.rgd.Name, p.without))
		return c.Instances.Serve(ctx, definition)
	}
	definition.Program, definition.Revision = p.chosen.program, p.chosen.revision
	if err := c.Instances.Serve(ctx, definition); err != nil {
		p.False(controllerReady, reasonFailedToStart, conditions.Short(err.Error()))
		return fmt.Errorf("serving %s: %w", p.chosen.program.Instance.Resource, err)
	}
	p.memory.served = p.chosen
	// An older revision that goes on running says nothing new about the present generation, but must not be hidden either.
	if p.isServed() || !p.Is(controllerReady) {
		p.True(controllerReady, reasonRunning, messageRunning)
	}
	return nil
}

// isServed says that the instances run the document.
func (p *pass) isServed() bool {
	return p.revision != nil && p.chosen != nil && p.chosen.revision == p.revision.Spec.Revision
}
