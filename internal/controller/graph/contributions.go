package graph

import (
	"context"
	"errors"
	"fmt"
	"slices"

	kschema "k8s.io/apimachinery/pkg/runtime/schema"

	"kro.run/kro/api/v1alpha1"
	"kro.run/kro/engine"
	"kro.run/kro/graph"
	"kro.run/kro/internal/executor"
	"kro.run/kro/schema"
)

// contributionEntry is a contribution as it stands in the status.
func contributionEntry(c executor.Contribution) v1alpha1.Contribution {
	return v1alpha1.Contribution{
		APIVersion: c.GVK.GroupVersion().String(), Kind: c.GVK.Kind, Namespace: c.Namespace, Name: c.Name,
		Subresource: c.Subresource, FieldManager: c.Manager,
	}
}

// releaseUnwanted gives up what no patch contributes any more, and puts into the status what is still held. Like pruning it needs a pass in which nothing is
// open.
func (p *pass) releaseUnwanted(ctx context.Context, outcome engine.Outcome, status *v1alpha1.GraphStatus) error {
	status.Contributions = p.status.Contributions
	if len(p.status.Contributions) == 0 || !outcome.Prunable {
		return nil
	}
	wanted := map[v1alpha1.Contribution]bool{}
	for _, n := range outcome.Nodes {
		if n.Node.Kind != graph.Patch {
			continue
		}
		for _, d := range n.Desired {
			wanted[contributionEntry(executor.Contribution{
				GVK: d.GVK, Namespace: d.Identity.Namespace, Name: d.Identity.Name,
				Subresource: n.Node.Subresource, Manager: p.owner().Manager(n.Node),
			})] = true
		}
	}
	unwanted := slices.DeleteFunc(slices.Clone(p.status.Contributions), func(c v1alpha1.Contribution) bool { return wanted[c] })
	held, err := p.releaseAll(ctx, unwanted)
	status.Contributions = slices.DeleteFunc(slices.Clone(p.status.Contributions), func(c v1alpha1.Contribution) bool {
		return !wanted[c] && !slices.Contains(held, c)
	})
	return err
}

// releaseAll gives contributions up, and returns those that could not be.
func (p *pass) releaseAll(ctx context.Context, contributions []v1alpha1.Contribution) (held []v1alpha1.Contribution, err error) {
	var errs []error
	for _, c := range contributions {
		if err := p.releaseOne(ctx, c); err != nil {
			held = append(held, c)
			errs = append(errs, fmt.Errorf("releasing what is contributed to %s %s/%s: %w", c.Kind, c.Namespace, c.Name, err))
		}
	}
	return held, errors.Join(errs...)
}

func (p *pass) releaseOne(ctx context.Context, c v1alpha1.Contribution) error {
	gvk := kschema.FromAPIVersionAndKind(c.APIVersion, c.Kind)
	gvr, _, err := p.Kinds.Mapping(gvk.GroupKind())
	var gone *schema.NotFoundError
	if errors.As(err, &gone) {
		return nil
	}
	if err != nil {
		return err
	}
	gvk.Version = gvr.Version // the one of the entry may not be served any more; the server converts
	return p.executor.Release(ctx, executor.Live{Client: p.client}, string(p.state.uid), gvr, executor.Contribution{
		GVK: gvk, Namespace: c.Namespace, Name: c.Name, Subresource: c.Subresource, Manager: c.FieldManager,
	})
}
