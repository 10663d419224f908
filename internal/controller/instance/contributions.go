package instance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"

	"kro.run/kro/api/v1alpha1"
	"kro.run/kro/engine"
	"kro.run/kro/graph"
	"kro.run/kro/internal/executor"
	"kro.run/kro/internal/watch"
)

// What the patches of an instance hold in objects of others is noted on the instance before it is applied, so that it is released whatever happens: when
// the patch goes, when includeWhen turns false, when a target leaves a forEach, and when the instance is deleted.

// noted is a contribution as it stands in the annotation.
type noted struct {
	APIVersion  string `json:"apiVersion"`
	Kind        string `json:"kind"`
	Namespace   string `json:"namespace,omitempty"`
	Name        string `json:"name"`
	Subresource string `json:"subresource,omitempty"`
	Manager     string `json:"fieldManager"`
}

// readContributions reads the note. One that cannot be read names nothing: it may come from anybody who may write the instance.
func readContributions(instance *unstructured.Unstructured) []executor.Contribution {
	var list []noted
	if json.Unmarshal([]byte(instance.GetAnnotations()[v1alpha1.PatchContributionsAnnotation]), &list) != nil {
		return nil
	}
	var out []executor.Contribution
	for _, n := range list {
		if strings.HasPrefix(n.Manager, v1alpha1.PatchManagerPrefix) {
			out = append(out, executor.Contribution{
				GVK: kschema.FromAPIVersionAndKind(n.APIVersion, n.Kind), Namespace: n.Namespace, Name: n.Name,
				Subresource: n.Subresource, Manager: n.Manager,
			})
		}
	}
	return out
}

// writeContributions gives the note, in a fixed order; it is empty when there is nothing to note.
func writeContributions(contributions []executor.Contribution) string {
	if len(contributions) == 0 {
		return ""
	}
	list := make([]noted, len(contributions))
	for i, c := range contributions {
		list[i] = noted{
			APIVersion: c.GVK.GroupVersion().String(), Kind: c.GVK.Kind, Namespace: c.Namespace, Name: c.Name,
			Subresource: c.Subresource, Manager: c.Manager,
		}
	}
	slices.SortFunc(list, func(a, b noted) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	text, _ := json.Marshal(list) // strings only
	return string(text)
}

// unionOf is what stands in either list. Of the versions of one kind the later list's counts.
func unionOf(standing, added []executor.Contribution) []executor.Contribution {
	out := slices.Clone(added)
	for _, c := range standing {
		if !slices.ContainsFunc(out, func(o executor.Contribution) bool { return sameContribution(o, c) }) {
			out = append(out, c)
		}
	}
	return out
}

func sameContribution(a, b executor.Contribution) bool {
	return a.GVK.GroupKind() == b.GVK.GroupKind() && a.Namespace == b.Namespace && a.Name == b.Name && a.Subresource == b.Subresource && a.Manager == b.Manager
}

// releaseUnwanted gives up what the graph no longer contributes, and returns what stays noted. Like pruning it needs a pass in which nothing is open.
func (p *pass) releaseUnwanted(ctx context.Context, outcome engine.Outcome) ([]executor.Contribution, error) {
	standing := readContributions(p.instance)
	if len(standing) == 0 || !outcome.Prunable {
		return standing, nil
	}
	var wanted []executor.Contribution
	for _, n := range outcome.Nodes {
		if n.Node.Kind != graph.Patch {
			continue
		}
		for _, d := range n.Desired {
			wanted = append(wanted, executor.Contribution{
				GVK: d.GVK, Namespace: d.Identity.Namespace, Name: d.Identity.Name, Subresource: n.Node.Subresource, Manager: p.owner().Manager(n.Node),
			})
		}
	}
	kept := wanted
	var errs []error
	for _, c := range standing {
		if slices.ContainsFunc(wanted, func(o executor.Contribution) bool { return sameContribution(o, c) }) {
			continue
		}
		if err := p.releaseOne(ctx, c); err != nil {
			errs = append(errs, err)
			kept = append(kept, c)
		}
	}
	return kept, errors.Join(errs...)
}

// releaseAll gives everything up that the instance contributes.
func (p *pass) releaseAll(ctx context.Context) error {
	var errs []error
	for _, c := range readContributions(p.instance) {
		errs = append(errs, p.releaseOne(ctx, c))
	}
	return errors.Join(errs...)
}

func (p *pass) releaseOne(ctx context.Context, c executor.Contribution) error {
	gvr, _, err := p.Kinds.Mapping(c.GVK.GroupKind())
	if isGone(err) {
		return nil
	}
	if err == nil {
		gvr.Version = c.GVK.Version
		err = p.executor.Release(ctx, nil, string(p.state.uid), gvr, c)
	}
	if err != nil {
		return fmt.Errorf("releasing what is contributed to %s %s/%s: %w", c.GVK.Kind, c.Namespace, c.Name, err)
	}
	return nil
}

// previous gives the objects of a node as they stand in the caches, for deferred fields.
func (p *pass) previous(node *graph.Node) []map[string]any {
	if node.Kind != graph.Template {
		return nil
	}
	var out []map[string]any
	for _, object := range p.stores.Members(node.Resource).ByIndex(watch.IndexInstanceID, string(p.state.uid)) {
		if executor.NodeOf(object) == node.ID {
			out = append(out, object.Object)
		}
	}
	return out
}
