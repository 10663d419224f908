package executor

import (
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"

	"kro.run/kro/api/v1alpha1"
	"kro.run/kro/engine"
	"kro.run/kro/graph"
	"kro.run/kro/internal/apply"
)

// Instance is an instance of a definition as the owner of its objects, which form an ApplySet.
type Instance struct {
	GVK             kschema.GroupVersionKind
	Namespace, Name string
	UID             UID
	// SetID is the ApplySet of the instance (KEP-3659).
	SetID string
	// Version is kro's version as a label value.
	Version string
	// Adopt tells whether an existing object that nobody owns may be taken over.
	Adopt bool
}

var _ Owner = Instance{}

// Key implements Owner.
func (o Instance) Key() string { return string(o.UID) }

// Manager implements Owner.
func (o Instance) Manager(node *graph.Node) string {
	if node.Kind == graph.Patch {
		return PatchManager(o.UID, pathOf(node))
	}
	return v1alpha1.FieldManager
}

// Conflict implements Owner.
func (o Instance) Conflict(existing *unstructured.Unstructured) error {
	if err := apply.Conflict(existing, o.SetID); err != nil {
		return err
	}
	return ForeignGraph(existing, o.UID)
}

// Owns implements Owner.
func (o Instance) Owns(existing *unstructured.Unstructured) bool { return isMember(existing, o.SetID) }

// MayAdopt implements Owner.
func (o Instance) MayAdopt() bool { return o.Adopt }

// Reclaims implements Owner.
func (o Instance) Reclaims(manager string) bool { return IsPatchManagerOf(o.UID, manager) }

// Dress implements Owner.
func (o Instance) Dress(node *graph.Node, item, size int, desired engine.Desired) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: desired.Object}
	labels := object.GetLabels()
	if labels == nil {
		labels = make(map[string]string, 12)
	}
	annotations := object.GetAnnotations()
	if annotations == nil {
		annotations = make(map[string]string, 1)
	}
	labels[v1alpha1.OwnedLabel] = "true"
	labels[v1alpha1.VersionLabel] = o.Version
	labels[v1alpha1.ManagedByLabel] = v1alpha1.ManagedByValue
	labels[v1alpha1.InstanceIDLabel] = string(o.UID)
	labels[v1alpha1.InstanceVersionLabel] = o.GVK.Version
	labels[v1alpha1.InstanceKindLabel] = o.GVK.Kind
	setLong(labels, annotations, v1alpha1.InstanceNameLabel, v1alpha1.InstanceNameAnnotation, o.Name)
	setLong(labels, annotations, v1alpha1.InstanceGroupLabel, v1alpha1.InstanceGroupAnnotation, o.GVK.Group)
	if o.Namespace != "" {
		labels[v1alpha1.InstanceNamespaceLabel] = o.Namespace
	}
	setLong(labels, annotations, v1alpha1.NodeIDLabel, v1alpha1.NodePathAnnotation, node.ID)
	labels[v1alpha1.PartOfLabel] = o.SetID
	DressNode(labels, annotations, node, item, size)
	object.SetLabels(labels)
	object.SetAnnotations(annotations)
	return object
}

// DressNode puts what every owner says of a node on its object: the place in a collection, the wave, and what becomes of the object in the end.
func DressNode(labels, annotations map[string]string, node *graph.Node, item, size int) {
	if node.Collection {
		labels[v1alpha1.CollectionIndexLabel] = strconv.Itoa(item)
		labels[v1alpha1.CollectionSizeLabel] = strconv.Itoa(size)
	}
	annotations[v1alpha1.ApplyOrderAnnotation] = strconv.Itoa(node.ApplyOrder)
	if node.Orphan {
		annotations[v1alpha1.DeletionPolicyAnnotation] = string(v1alpha1.DeletionPolicyOrphaned)
	}
}
