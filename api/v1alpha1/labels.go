package v1alpha1

import (
	"crypto/sha256"
	"encoding/hex"
)

// Labels that kro writes. Values over 63 bytes are written through LabelValue; the full value then stands in an annotation.
const (
	// OwnedLabel marks every object that kro made or serves, with the value "true".
	OwnedLabel = "kro.run/owned"
	// VersionLabel is the version of the controller that wrote the object last.
	VersionLabel = "kro.run/kro-version"

	// InstanceIDLabel is the UID of the instance that a child belongs to.
	InstanceIDLabel = "kro.run/instance-id"
	// InstanceNameLabel is the name of the instance that a child belongs to.
	InstanceNameLabel = "kro.run/instance-name"
	// InstanceNamespaceLabel is the namespace of the instance that a child belongs to; absent when the instance is cluster-scoped.
	InstanceNamespaceLabel = "kro.run/instance-namespace"
	// InstanceGroupLabel is the API group of the instance that a child belongs to.
	InstanceGroupLabel = "kro.run/instance-group"
	// InstanceVersionLabel is the API version of the instance that a child belongs to.
	InstanceVersionLabel = "kro.run/instance-version"
	// InstanceKindLabel is the kind of the instance that a child belongs to.
	InstanceKindLabel = "kro.run/instance-kind"

	// NodeIDLabel is the id of the resource in the definition that a child was made from.
	NodeIDLabel = "kro.run/node-id"
	// CollectionIndexLabel is the place of a forEach item in its collection, from 0.
	CollectionIndexLabel = "kro.run/collection-index"
	// CollectionSizeLabel is the number of items in the collection of a forEach item.
	CollectionSizeLabel = "kro.run/collection-size"

	// DefinitionIDLabel is the UID of the ResourceGraphDefinition, on its CRD and its instances.
	DefinitionIDLabel = "kro.run/resource-graph-definition-id"
	// DefinitionNameLabel is the name of the ResourceGraphDefinition, on its CRD, revisions and instances.
	DefinitionNameLabel = "kro.run/resource-graph-definition-name"
	// InternalDefinitionNameLabel repeats DefinitionNameLabel on revisions under the key that the documentation gives for it.
	InternalDefinitionNameLabel = "internal.kro.run/resource-graph-definition-name"
	// RevisionHashLabel is the hash of the spec that a GraphRevision holds.
	RevisionHashLabel = "kro.run/graph-revision-hash"

	// ManagedByLabel is the well-known label for the tool that manages an object.
	ManagedByLabel = "app.kubernetes.io/managed-by"
	// ManagedByValue is kro's value of ManagedByLabel.
	ManagedByValue = "kro"

	// PartOfLabel ties a child to its ApplySet (KEP-3659).
	PartOfLabel = "applyset.kubernetes.io/part-of"
	// ApplySetIDLabel marks an instance as the parent of an ApplySet (KEP-3659).
	ApplySetIDLabel = "applyset.kubernetes.io/id"
)

// Annotations that kro writes.
const (
	// ApplySetToolingAnnotation names the tool, and its version, that manages an ApplySet (KEP-3659).
	ApplySetToolingAnnotation = "applyset.kubernetes.io/tooling"
	// ApplySetGroupKindsAnnotation lists the group-kinds that an ApplySet may contain (KEP-3659).
	ApplySetGroupKindsAnnotation = "applyset.kubernetes.io/contains-group-kinds"
	// ApplySetNamespacesAnnotation lists the namespaces besides its parent's that an ApplySet may reach into (KEP-3659).
	ApplySetNamespacesAnnotation = "applyset.kubernetes.io/additional-namespaces"
	// InventoryHashAnnotation protects the inventory of an instance against edits by hand.
	InventoryHashAnnotation = "internal.kro.run/applyset-inventory-hash"
	// ApplyOrderAnnotation is the wave in which a child was applied; deletion runs from the highest to the lowest.
	ApplyOrderAnnotation = "internal.kro.run/apply-order"
	// NodePathAnnotation is the full id of the node a child was made from, where NodeIDLabel had to be shortened.
	NodePathAnnotation = "internal.kro.run/node-path"

	// DeletionPolicyAnnotation says what becomes of a child that is no longer wanted: Orphaned lets it stay; anything else deletes it.
	DeletionPolicyAnnotation = "internal.kro.run/deletion-policy"
	// PatchContributionsAnnotation lists, on an instance, the objects of others that its patches hold fields of.
	PatchContributionsAnnotation = "internal.kro.run/patch-contributions"

	// InstanceNameAnnotation is the full name of the instance, where InstanceNameLabel had to be shortened.
	InstanceNameAnnotation = "internal.kro.run/instance-name"
	// InstanceGroupAnnotation is the full API group of the instance, where InstanceGroupLabel had to be shortened.
	InstanceGroupAnnotation = "internal.kro.run/instance-group"
	// DefinitionNameAnnotation is the full name of the definition, where DefinitionNameLabel had to be shortened.
	DefinitionNameAnnotation = "internal.kro.run/resource-graph-definition-name"
	// CRDMetadataAnnotation remembers in a generated CRD what its definition asked for: which labels and annotations, so that kro can tell them from those of
	// others and remove them when the definition drops them, and a hash of the spec, so that kro can tell an edit by hand from a change of the definition.
	CRDMetadataAnnotation = "internal.kro.run/crd-metadata"
)

// Annotations that people set and kro reads.
const (
	// ReconcileAnnotation on an instance with one of the values suspended or disabled, in any letter case, stops its reconciliation.
	ReconcileAnnotation = "kro.run/reconcile"
	// AllowBreakingChangesAnnotation on a definition with the exact value "true" lets changes through that may invalidate stored instances.
	AllowBreakingChangesAnnotation = "kro.run/allow-breaking-changes"
	// AdoptAnnotation on a definition with the value "false" refuses to take over objects that exist already and belong to nobody.
	AdoptAnnotation = "kro.run/adopt"
)

// Finalizer holds definitions, revisions and instances until kro has cleaned up behind them.
const Finalizer = "kro.run/finalizer"

// Field managers of server-side apply. They must stay as they are: an object taken over from another release is otherwise owned twice.
const (
	// FieldManager applies the children.
	FieldManager = "kro.run/applyset"
	// ParentFieldManager applies finalizer, labels and inventory of an instance.
	ParentFieldManager = "kro.run/applyset-parent"
	// TemplateManagerPrefix and PatchManagerPrefix begin the field managers of Graphs, and of all patches. What follows is a hash of whose they are.
	TemplateManagerPrefix = "kro-graphengine.tmpl."
	PatchManagerPrefix    = "kro-graphengine.patch."
	// LabellerFieldManager applied labels and finalizer of instances in other releases; it is known so that it can be recognised.
	LabellerFieldManager = "kro.run/labeller"
)

// maxLabelValue is the length that Kubernetes allows for a label value.
const maxLabelValue = 63

// LabelValue gives the label value that stands for s: s itself when it is short enough, else "h-" and the first 40 hex digits of its SHA-256.
// Write the full value into the annotation of the same meaning whenever LabelValue(s) != s.
func LabelValue(s string) string {
	if len(s) <= maxLabelValue {
		return s
	}
	sum := sha256.Sum256([]byte(s))
	return "h-" + hex.EncodeToString(sum[:])[:40]
}
