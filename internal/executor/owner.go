package executor

import (
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"

	"kro.run/kro/api/v1alpha1"
	"kro.run/kro/engine"
	"kro.run/kro/graph"
)

// Owner is an instance as the owner of its objects.
type Owner struct {
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

// Key identifies the owner in memory.
func (o Owner) Key() string { return string(o.UID) }

// Dress puts kro's labels and annotations on a desired object; they win over those of the template.
func (o Owner) Dress(node *graph.Node, item, size int, desired engine.Desired) *unstructured.Unstructured {
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
	if node.Collection {
		labels[v1alpha1.CollectionIndexLabel] = strconv.Itoa(item)
		labels[v1alpha1.CollectionSizeLabel] = strconv.Itoa(size)
	}
	annotations[v1alpha1.ApplyOrderAnnotation] = strconv.Itoa(node.ApplyOrder)
	object.SetLabels(labels)
	object.SetAnnotations(annotations)
	return object
}

// setLong writes a label value that may be too long for one: then its hash, and the full text in an annotation.
func setLong(labels, annotations map[string]string, label, annotation, value string) {
	labels[label] = v1alpha1.LabelValue(value)
	if labels[label] != value {
		annotations[annotation] = value
	}
}
