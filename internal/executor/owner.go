package executor

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kro.run/kro/api/v1alpha1"
	"kro.run/kro/engine"
	"kro.run/kro/graph"
)

// Owner is whom the objects of a pass belong to: an instance of a definition ([Instance]), or a Graph.
type Owner interface {
	// Key identifies the owner in memory. A successor of the same name has another key.
	Key() string
	// Dress puts kro's labels and annotations on a desired object; they win over those of the template.
	Dress(node *graph.Node, item, size int, desired engine.Desired) *unstructured.Unstructured
	// Manager is the field manager that applies what a node wants.
	Manager(node *graph.Node) string
	// Conflict says why an existing object must not be touched: it belongs to another owner. The error is an *apply.OwnershipError or a
	// *ForeignError. It is nil for an object of one's own, and for one that belongs to nobody.
	Conflict(existing *unstructured.Unstructured) error
	// Owns tells that an existing object is one's own.
	Owns(existing *unstructured.Unstructured) bool
	// MayAdopt tells whether an existing object that belongs to nobody may be taken over.
	MayAdopt() bool
	// Reclaims tells that a field manager was one of this owner's patches: its fields may be taken over, since nobody else wants them.
	Reclaims(manager string) bool
}

// ForeignError says that an object belongs to another owner. It ends when that one lets go of it.
type ForeignError struct {
	// Object and Owner name both for people.
	Object, Owner string
}

// Error names the object and whom it belongs to.
func (e *ForeignError) Error() string {
	return fmt.Sprintf("field manager conflict: %s belongs to %s, so it is left alone", e.Object, e.Owner)
}

// ForeignGraph gives a *ForeignError for an object that belongs to a Graph, unless that is the one with the UID.
func ForeignGraph(existing *unstructured.Unstructured, uid UID) error {
	labels := existing.GetLabels()
	id := labels[v1alpha1.InstanceIDLabel]
	if labels[v1alpha1.OwnedLabel] != "true" || id == "" || UID(id) == uid || labels[v1alpha1.InstanceKindLabel] != v1alpha1.GraphKind ||
		labels[v1alpha1.InstanceGroupLabel] != v1alpha1.GroupVersion.Group {
		return nil
	}
	name := existing.GetAnnotations()[v1alpha1.InstanceNameAnnotation]
	if name == "" {
		name = labels[v1alpha1.InstanceNameLabel]
	}
	return &ForeignError{
		Object: Describe(existing),
		Owner:  v1alpha1.GraphKind + " " + labels[v1alpha1.InstanceNamespaceLabel] + "/" + name,
	}
}

// setLong writes a label value that may be too long for one: then its hash, and the full text in an annotation.
func setLong(labels, annotations map[string]string, label, annotation, value string) {
	labels[label] = v1alpha1.LabelValue(value)
	if labels[label] != value {
		annotations[annotation] = value
	}
}

// pathOf is the name of a node that is unique in its program.
func pathOf(node *graph.Node) string {
	if node.Path != "" {
		return node.Path
	}
	return node.ID
}
