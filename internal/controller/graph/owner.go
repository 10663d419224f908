package graph

import (
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kro.run/kro/api/v1alpha1"
	"kro.run/kro/engine"
	"kro.run/kro/graph"
	"kro.run/kro/internal/apply"
	"kro.run/kro/internal/executor"
	"kro.run/kro/internal/version"
)

// owner is a Graph as the owner of its objects.
type owner struct {
	namespace, name string
	uid             executor.UID
	adopt           bool
}

var _ executor.Owner = owner{}

// Key implements executor.Owner.
func (o owner) Key() string { return string(o.uid) }

// Manager implements executor.Owner.
func (o owner) Manager(node *graph.Node) string {
	if node.Kind == graph.Patch {
		return executor.PatchManager(o.uid, node.Path)
	}
	return executor.TemplateManager(o.uid)
}

// Conflict implements executor.Owner. What belongs to an instance has the label of its ApplySet; a Graph has none.
func (o owner) Conflict(existing *unstructured.Unstructured) error {
	if err := apply.Conflict(existing, ""); err != nil {
		return err
	}
	return executor.ForeignGraph(existing, o.uid)
}

// Owns implements executor.Owner.
func (o owner) Owns(existing *unstructured.Unstructured) bool {
	labels := existing.GetLabels()
	return labels[v1alpha1.OwnedLabel] == "true" && labels[v1alpha1.InstanceIDLabel] == string(o.uid)
}

// MayAdopt implements executor.Owner.
func (o owner) MayAdopt() bool { return o.adopt }

// Reclaims implements executor.Owner.
func (o owner) Reclaims(manager string) bool { return executor.IsPatchManagerOf(o.uid, manager) }

// Dress implements executor.Owner.
func (o owner) Dress(node *graph.Node, item, size int, desired engine.Desired) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: desired.Object}
	labels, annotations := object.GetLabels(), object.GetAnnotations()
	if labels == nil {
		labels = make(map[string]string, 12)
	}
	if annotations == nil {
		annotations = make(map[string]string, 2)
	}
	labels[v1alpha1.OwnedLabel] = "true"
	labels[v1alpha1.VersionLabel] = version.Label()
	labels[v1alpha1.ManagedByLabel] = v1alpha1.ManagedByValue
	labels[v1alpha1.InstanceIDLabel] = string(o.uid)
	labels[v1alpha1.InstanceGroupLabel] = v1alpha1.GroupVersion.Group
	labels[v1alpha1.InstanceVersionLabel] = v1alpha1.GroupVersion.Version
	labels[v1alpha1.InstanceKindLabel] = v1alpha1.GraphKind
	labels[v1alpha1.InstanceNamespaceLabel] = o.namespace
	labels[v1alpha1.InstanceNameLabel] = v1alpha1.LabelValue(o.name)
	if labels[v1alpha1.InstanceNameLabel] != o.name {
		annotations[v1alpha1.InstanceNameAnnotation] = o.name
	}
	labels[v1alpha1.NodeIDLabel] = v1alpha1.LabelValue(strings.ReplaceAll(node.Path, "/", "."))
	annotations[v1alpha1.NodePathAnnotation] = node.Path
	executor.DressNode(labels, annotations, node, item, size)
	object.SetLabels(labels)
	object.SetAnnotations(annotations)
	return object
}
