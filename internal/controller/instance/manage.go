package instance

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"kro.run/kro/api/v1alpha1"
	"kro.run/kro/engine"
	"kro.run/kro/graph"
	"kro.run/kro/internal/apply"
	"kro.run/kro/internal/executor"
	"kro.run/kro/internal/version"
	"kro.run/kro/schema"
)

// client reaches the instance itself.
func (p *pass) client() dynamic.ResourceInterface {
	if p.key.Namespace == "" {
		return p.Client.Resource(p.key.GVR)
	}
	return p.Client.Resource(p.key.GVR).Namespace(p.key.Namespace)
}

// checkInventory refuses an inventory that we did not write: an instance without our finalizer that nevertheless names
// children, in a way that cannot be trusted. Installing the finalizer over it could strand or take over objects.
func (p *pass) checkInventory() error {
	if slices.Contains(p.instance.GetFinalizers(), v1alpha1.Finalizer) || !apply.HasInventory(p.instance) {
		return nil
	}
	if _, err := apply.ReadInventory(p.instance); err != nil {
		return fmt.Errorf("cannot install finalizer with invalid ApplySet inventory; repair the metadata, or remove it only after confirming no managed members remain: %w", err)
	}
	return nil
}

// inventory is the inventory that stands on the instance. One that somebody spoiled counts as naming every kind of the
// program: it is about to be rewritten, and must not lose what it may have named.
func (p *pass) inventory() apply.Inventory {
	current, err := apply.ReadInventory(p.instance)
	if err == nil {
		return current
	}
	current = apply.Inventory{ID: p.owner().SetID}
	if program := p.kind.definition.Program; program != nil && apply.HasInventory(p.instance) {
		current.GroupKinds = program.GroupKinds
	}
	return current
}

// cover writes the inventory before the first object of a wave: with what stands there, what the wave creates, and the
// kinds of every node that is not excluded, so that a graph of any depth needs one write.
func (p *pass) cover(ctx context.Context, work *engine.Pass, reach executor.Reach) error {
	want := apply.Inventory{ID: p.owner().SetID, Namespaces: p.additional(reach.Namespaces)}
	kinds := reach.GroupKinds
	for _, n := range work.Outcome().Nodes {
		if n.Node.Kind == graph.Template && n.Phase != engine.Excluded {
			kinds[n.Node.GVK.GroupKind()] = true
		}
	}
	want.GroupKinds = slices.Collect(maps.Keys(kinds))
	return p.manage(ctx, p.inventory().Union(want), unionOf(readContributions(p.instance), reach.Contributions))
}

// wanted is the inventory after a pass: exactly what the nodes want when the pass was clean and nothing is on its way
// out, else at least what stood there.
func (p *pass) wanted(outcome engine.Outcome, retiring []executor.Member) apply.Inventory {
	exact := apply.Inventory{ID: p.owner().SetID}
	kinds, namespaces := map[kschema.GroupKind]bool{}, map[string]bool{}
	for _, n := range outcome.Nodes {
		if n.Node.Kind != graph.Template {
			continue
		}
		for _, d := range n.Desired {
			kinds[n.Node.GVK.GroupKind()] = true
			if d.Identity.Namespace != "" {
				namespaces[d.Identity.Namespace] = true
			}
		}
	}
	exact.GroupKinds, exact.Namespaces = slices.Collect(maps.Keys(kinds)), p.additional(namespaces)
	if outcome.Prunable && len(retiring) == 0 {
		return exact
	}
	return p.inventory()
}

// additional leaves out the instance's own namespace, which the inventory does not name.
func (p *pass) additional(namespaces map[string]bool) []string {
	var out []string
	for ns := range namespaces {
		if ns != p.key.Namespace {
			out = append(out, ns)
		}
	}
	slices.Sort(out)
	return out
}

// manage brings finalizer, labels and inventory of the instance to what they should be, in one patch, and only when
// something is missing. The UID makes the patch fail instead of creating the instance anew when it has just gone.
func (p *pass) manage(ctx context.Context, inventory apply.Inventory, contributions []executor.Contribution) error {
	labels, annotations := p.parentMetadata(inventory)
	noted := writeContributions(contributions)
	if noted != "" {
		annotations[v1alpha1.PatchContributionsAnnotation] = noted
	}
	if p.managed(labels, annotations) && p.instance.GetAnnotations()[v1alpha1.PatchContributionsAnnotation] == noted {
		return nil
	}
	metadata := map[string]any{
		"name": p.key.Name, "uid": string(p.instance.GetUID()),
		"labels": anyMap(labels), "annotations": anyMap(annotations),
		"finalizers": []any{v1alpha1.Finalizer},
	}
	if p.key.Namespace != "" {
		metadata["namespace"] = p.key.Namespace
	}
	body := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": p.kind.gvk.GroupVersion().String(), "kind": p.kind.gvk.Kind, "metadata": metadata,
	}}
	defer p.kind.store.Expect(p.key.Namespace, p.key.Name)()
	answer, err := p.client().Apply(ctx, p.key.Name, body, metav1.ApplyOptions{FieldManager: v1alpha1.ParentFieldManager, Force: true})
	if err != nil {
		return fmt.Errorf("failed to patch instance with applyset labels: %w", err)
	}
	p.keep(answer)
	return nil
}

// keep makes the server's answer the instance of this pass, and of the next until the cache has caught up. What somebody
// else changed since the pass began stands in the answer too; no event will tell of it, since our own write came after.
func (p *pass) keep(answer *unstructured.Unstructured) {
	answer.SetManagedFields(nil)
	if foreignContent(answer) != foreignContent(p.instance) {
		p.queue.Add(p.key)
	}
	p.kind.store.Record(answer)
	p.instance = answer
}

// foreignContent is the content of an instance that others write: everything but the status and kro's metadata.
func foreignContent(instance *unstructured.Unstructured) string {
	content := map[string]any{
		"spec": instance.Object["spec"], "generation": instance.GetGeneration(),
		"deleting":    instance.GetDeletionTimestamp() != nil,
		"labels":      foreignKeys(instance.GetLabels()),
		"annotations": foreignKeys(instance.GetAnnotations()),
	}
	return apply.ContentHash(content)
}

func foreignKeys(in map[string]string) map[string]any {
	out := make(map[string]any, len(in))
	for k, v := range in {
		if domain, _, _ := strings.Cut(k, "/"); domain == "applyset.kubernetes.io" || domain == "internal.kro.run" || domain == "kro.run" && k != v1alpha1.ReconcileAnnotation {
			continue
		}
		out[k] = v
	}
	return out
}

// managed tells that the instance has all of its metadata. That another version of kro wrote it is no reason to write it again.
func (p *pass) managed(labels, annotations map[string]string) bool {
	standing := p.instance.GetLabels()
	if v := standing[v1alpha1.VersionLabel]; v != "" {
		labels = maps.Clone(labels)
		labels[v1alpha1.VersionLabel] = v
	}
	tools := p.instance.GetAnnotations()
	if v := tools[v1alpha1.ApplySetToolingAnnotation]; strings.HasPrefix(v, "kro/") {
		annotations = maps.Clone(annotations)
		annotations[v1alpha1.ApplySetToolingAnnotation] = v
	}
	return slices.Contains(p.instance.GetFinalizers(), v1alpha1.Finalizer) && includes(standing, labels) && includes(tools, annotations)
}

func (p *pass) parentMetadata(inventory apply.Inventory) (labels, annotations map[string]string) {
	d := p.kind.definition
	labels = map[string]string{
		v1alpha1.OwnedLabel:          "true",
		v1alpha1.VersionLabel:        version.Label(),
		v1alpha1.DefinitionIDLabel:   string(d.UID),
		v1alpha1.DefinitionNameLabel: v1alpha1.LabelValue(d.Name),
		v1alpha1.ApplySetIDLabel:     inventory.ID,
	}
	annotations = inventory.Annotations("kro/" + version.Version())
	if labels[v1alpha1.DefinitionNameLabel] != d.Name {
		annotations[v1alpha1.DefinitionNameAnnotation] = d.Name
	}
	return labels, annotations
}

func includes(have, want map[string]string) bool {
	for k, v := range want {
		if got, ok := have[k]; !ok || got != v {
			return false
		}
	}
	return true
}

func anyMap(in map[string]string) map[string]any {
	out := make(map[string]any, len(in))
	for k, v := range in {
		out[k] = v
	}
	return out
}

// isGone tells that a kind is not served any more.
func isGone(err error) bool {
	var notFound *schema.NotFoundError
	return errors.As(err, &notFound)
}
