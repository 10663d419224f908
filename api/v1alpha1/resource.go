package v1alpha1

import "k8s.io/apimachinery/pkg/runtime"

// Resource is one node of the graph: an object that kro creates for every instance (template), an object that it only reads (externalRef), values that it computes
// (def), or fields that it contributes to an object of others (patch). Exactly one of them is given.
//
// +kubebuilder:validation:XValidation:rule="(has(self.template) ? 1 : 0) + (has(self.externalRef) ? 1 : 0) + (has(self.def) ? 1 : 0) + (has(self.patch) ? 1 : 0) == 1",message="exactly one of template or externalRef must be provided (or, instead of them, def or patch)"
// +kubebuilder:validation:XValidation:rule="has(self.template) || !(has(self.deletionPolicy) || has(self.externalFields))",message="deletionPolicy and externalFields belong to a template"
type Resource struct {
	// ID is the name by which expressions refer to this resource, in lowerCamelCase and unique in the definition, for example webServer.
	// +required
	ID string `json:"id"`
	// Template is the manifest of the object. Strings in it may contain CEL expressions in ${...} that use schema (the instance) and the ids of other
	// resources; each such use makes this resource wait for that one.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	Template runtime.RawExtension `json:"template,omitzero"`
	// ExternalRef names an object, or selects objects, that exist apart from this definition. kro reads and watches them and never writes to them.
	// +optional
	ExternalRef *ExternalRef `json:"externalRef,omitempty"`
	// Def is an object of named values: literals, or CEL expressions in ${...} that are computed once for an instance. No object stands behind it; other resources
	// read it by the id of this one, as in ${settings.url}.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	Def runtime.RawExtension `json:"def,omitzero"`
	// Patch is a part of a manifest: apiVersion, kind, metadata.name and metadata.namespace say which object, the other fields are contributed to it. The object must
	// exist; kro never creates it, and releases the fields when the instance is deleted. Either status alone is contributed, or other fields. Nothing can refer to a
	// patch.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	Patch runtime.RawExtension `json:"patch,omitzero"`
	// ReadyWhen are CEL expressions in ${...}, each giving a bool, over this resource (by its id; for collections each item by the name each). The
	// resource counts as ready when all of them are true; resources that depend on it wait until then.
	// +optional
	ReadyWhen []string `json:"readyWhen,omitempty"`
	// IncludeWhen are CEL expressions in ${...}, each giving a bool. Unless all of them are true, the resource is left out, together with the resources
	// that depend on it.
	// +optional
	IncludeWhen []string `json:"includeWhen,omitempty"`
	// ForEach makes this resource a collection: one object for every combination of the iterators' elements. Each entry names one iterator and gives a
	// CEL expression in ${...} for its list; the template refers to the element by the iterator's name.
	// +optional
	ForEach []ForEachDimension `json:"forEach,omitempty"`
	// DeletionPolicy says what becomes of an object of the template that is no longer wanted, because the instance is deleted or the resource is left out: it is
	// deleted (Delete, the default), or kro lets go of it and it stays (Orphaned).
	// +optional
	DeletionPolicy DeletionPolicy `json:"deletionPolicy,omitempty"`
	// ExternalFields are fields of the template, as dotted paths such as spec.replicas, that others may take over: kro sets them when it creates the object and keeps
	// them until another manager writes them; from then on it leaves them alone. A path leads through maps only, not through lists.
	// +optional
	// +listType=set
	ExternalFields []string `json:"externalFields,omitempty"`
}

// DeletionPolicy says what becomes of an object that is no longer wanted.
//
// +kubebuilder:validation:Enum=Delete;Orphaned
type DeletionPolicy string

const (
	// DeletionPolicyDelete deletes the object.
	DeletionPolicyDelete DeletionPolicy = "Delete"
	// DeletionPolicyOrphaned takes kro's labels and annotations from the object and leaves it where it is.
	DeletionPolicyOrphaned DeletionPolicy = "Orphaned"
)

// ForEachDimension is one iterator of a collection: a map with exactly one entry, from the iterator's name to a CEL expression that gives a list.
//
// +kubebuilder:validation:MinProperties=1
// +kubebuilder:validation:MaxProperties=1
type ForEachDimension map[string]string

// ExternalRef refers to objects that kro reads but does not manage.
type ExternalRef struct {
	// APIVersion is the API version of the object, with the group: v1, apps/v1.
	// +required
	APIVersion string `json:"apiVersion"`
	// Kind is the kind of the object, in the singular also with a selector.
	// +required
	Kind string `json:"kind"`
	// Metadata names one object, or selects many.
	// +required
	Metadata ExternalRefMetadata `json:"metadata"`
}

// The rule "exactly one" of ExternalRefMetadata, and the shape of a literal selector, are written into the CRD by config/crd/finish: a selector may be a string or an
// object, so it has no type, and CEL rules do not see fields without a type.

// ExternalRefMetadata names one object (name) or selects many (selector). Exactly one of the two is given.
type ExternalRefMetadata struct {
	// Name is the name of the object. It may contain CEL expressions in ${...}.
	// +optional
	// +kubebuilder:validation:MinLength=1
	Name string `json:"name,omitempty"`
	// Namespace is where the object or objects are. It may contain CEL expressions in ${...}. When empty, a name is looked up in the
	// namespace of the instance, and a selector selects from all namespaces.
	// +optional
	Namespace string `json:"namespace,omitempty"`
	// Selector selects objects by their labels; the resource is then a list. It is a label selector (matchLabels, matchExpressions) whose strings may
	// contain CEL expressions in ${...}, or one CEL expression that gives a whole label selector. An empty selector selects all objects of the kind.
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	Selector *runtime.RawExtension `json:"selector,omitempty"`
}
