package v1alpha1

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// A definition without spec is refused by a rule and not by a required field: an older release let such objects in, and with a required field the API
// server would refuse even the removal of their finalizer.

// ResourceGraphDefinition turns a group of Kubernetes objects into one API of your own. spec.schema declares the new kind; spec.resources
// declares the objects that stand behind every instance of it. CEL expressions in ${...} connect them: kro reads from the expressions which
// object needs which, creates them in that order, and keeps them as declared.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=resourcegraphdefinitions,singular=resourcegraphdefinition,shortName=rgd,scope=Cluster
// +kubebuilder:printcolumn:name="APIVERSION",type=string,JSONPath=`.spec.schema.apiVersion`
// +kubebuilder:printcolumn:name="KIND",type=string,JSONPath=`.spec.schema.kind`
// +kubebuilder:printcolumn:name="STATE",type=string,JSONPath=`.status.state`
// +kubebuilder:printcolumn:name="READY",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="TOPOLOGICALORDER",type=string,JSONPath=`.status.topologicalOrder`,priority=1
// +kubebuilder:printcolumn:name="AGE",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="has(self.spec) || (oldSelf.hasValue() && !has(oldSelf.value().spec))",message="spec is required",optionalOldSelf=true
type ResourceGraphDefinition struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is the definition: the schema of the new kind and the graph behind its instances. Required.
	// +optional
	Spec ResourceGraphDefinitionSpec `json:"spec,omitzero"`
	// Status is what the controller found: whether the definition is valid and served, and in which order it creates the resources.
	// +optional
	Status ResourceGraphDefinitionStatus `json:"status,omitzero"`
}

// ResourceGraphDefinitionList is a list of ResourceGraphDefinitions.
//
// +kubebuilder:object:root=true
type ResourceGraphDefinitionList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ResourceGraphDefinition `json:"items"`
}

// ResourceGraphDefinitionSpec declares a new kind and the objects behind each instance of it.
type ResourceGraphDefinitionSpec struct {
	// Schema declares the API that this definition creates: its kind, its fields, and what its status shows.
	// +required
	Schema *Schema `json:"schema"`
	// Resources are the nodes of the graph: objects to create for every instance, and objects of others to read. Their order in this list does not matter
	// except that it breaks ties; expressions decide what comes first. A definition without resources still serves its kind.
	// +optional
	Resources []*Resource `json:"resources,omitempty"`
}

// Schema declares the kind of the instances. kro generates a CustomResourceDefinition from it.
//
// +kubebuilder:validation:XValidation:rule="has(self.plural) == has(oldSelf.plural)",message="plural is immutable"
type Schema struct {
	// Kind is the kind of the instances, in UpperCamelCase, for example WebApplication. It cannot be changed.
	// +required
	// +kubebuilder:validation:Pattern=`^[A-Z][a-zA-Z0-9]{0,62}$`
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="kind is immutable"
	Kind string `json:"kind"`
	// APIVersion is the version of the instances' API, without the group: v1alpha1, v1beta2, v1. It cannot be changed.
	// +required
	// +kubebuilder:validation:Pattern=`^v[0-9]+(alpha[0-9]+|beta[0-9]+)?$`
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="apiVersion is immutable"
	APIVersion string `json:"apiVersion"`
	// Group is the API group of the instances. It cannot be changed.
	// +optional
	// +kubebuilder:default=kro.run
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="group is immutable"
	Group string `json:"group,omitempty"`
	// Scope says whether instances live in a namespace (Namespaced) or not (Cluster). Namespaced objects of a Cluster-scoped instance must name
	// their namespace. It cannot be changed.
	// +required
	// +kubebuilder:default=Namespaced
	// +kubebuilder:validation:Enum=Namespaced;Cluster
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="scope is immutable"
	Scope apiextensionsv1.ResourceScope `json:"scope,omitempty"`
	// Plural is the plural name of the kind in URLs and on the command line, for example webapplications. When empty it is the English plural
	// of the kind in lower case. It cannot be changed.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z]([-a-z0-9]*[a-z0-9])?$`
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="plural is immutable"
	Plural string `json:"plural,omitempty"`
	// Spec declares the fields that users of the kind fill in, in SimpleSchema: a map from field name to a type with markers, such as
	// `replicas: integer | default=3 minimum=1`, or to a nested map. Types: string, integer, boolean, float, object, []T, map[string]T
	// and the names under types.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	Spec runtime.RawExtension `json:"spec,omitzero"`
	// Types declares named types for use in spec, each one a map of fields or a type with markers.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	Types runtime.RawExtension `json:"types,omitzero"`
	// Status declares what the status of an instance shows: a tree whose leaves are CEL expressions over the resources and the instance,
	// such as `endpoint: ${service.status.loadBalancer.ingress[0].hostname}`. Types are inferred. A list named conditions declares conditions.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	Status runtime.RawExtension `json:"status,omitzero"`
	// AdditionalPrinterColumns are the columns that kubectl get shows for instances. When given they replace the default ones (State, Ready, Age).
	// +optional
	AdditionalPrinterColumns []apiextensionsv1.CustomResourceColumnDefinition `json:"additionalPrinterColumns,omitempty"`
	// ShortNames are short names of the kind on the command line, such as `wa` in `kubectl get wa`.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=63
	// +kubebuilder:validation:items:Pattern=`^[a-z]([-a-z0-9]*[a-z0-9])?$`
	ShortNames []string `json:"shortNames,omitempty"`
	// Categories are groups of kinds that kubectl get can ask for at once, such as `all`.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=63
	// +kubebuilder:validation:items:Pattern=`^[a-z]([-a-z0-9]*[a-z0-9])?$`
	Categories []string `json:"categories,omitempty"`
	// Metadata holds labels and annotations for the generated CustomResourceDefinition. They are not put on instances.
	// +optional
	Metadata *CRDMetadata `json:"metadata,omitempty"`
}

// CRDMetadata holds labels and annotations for the generated CustomResourceDefinition. Keys that kro itself writes keep kro's values.
type CRDMetadata struct {
	// Labels are added to the generated CustomResourceDefinition, and removed from it when they are removed here.
	// +optional
	Labels map[string]string `json:"labels,omitempty"`
	// Annotations are added to the generated CustomResourceDefinition, and removed from it when they are removed here.
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`
}

// ResourceGraphDefinitionStatus is what the controller found out about a definition.
type ResourceGraphDefinitionStatus struct {
	// State is Active when the definition is valid and its kind is served, else Inactive. The conditions tell why.
	// +optional
	State ResourceGraphDefinitionState `json:"state,omitempty"`
	// TopologicalOrder lists the ids of the resources in the order in which they are created; deletion runs the other way.
	// +optional
	TopologicalOrder []string `json:"topologicalOrder,omitempty"`
	// Conditions tell whether the definition is valid (GraphAccepted), its revision compiled (GraphRevisionsResolved), its kind served
	// (KindReady) and its controller running (ControllerReady). Ready summarises them.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []Condition `json:"conditions,omitempty"`
	// Resources lists the resources that depend on others, with the ids that they depend on.
	// +optional
	Resources []ResourceInformation `json:"resources,omitempty"`
	// LastIssuedRevision is the highest number that a GraphRevision of this definition has had. Numbers are never used twice.
	// +optional
	LastIssuedRevision int64 `json:"lastIssuedRevision,omitempty"`
}

// ResourceGraphDefinitionState sums up whether a definition is served.
type ResourceGraphDefinitionState string

const (
	// ResourceGraphDefinitionActive: the definition is valid, its CRD is established, its instances are reconciled.
	ResourceGraphDefinitionActive ResourceGraphDefinitionState = "Active"
	// ResourceGraphDefinitionInactive: something is wrong or not done yet; the conditions tell what.
	ResourceGraphDefinitionInactive ResourceGraphDefinitionState = "Inactive"
)

// ResourceInformation tells what one resource of the graph depends on.
type ResourceInformation struct {
	// ID is the id of the resource.
	// +optional
	ID string `json:"id,omitempty"`
	// Dependencies are the resources that must be there before this one is created.
	// +optional
	Dependencies []Dependency `json:"dependencies,omitempty"`
}

// Dependency names a resource that another one depends on.
type Dependency struct {
	// ID is the id of the resource depended on.
	// +optional
	ID string `json:"id,omitempty"`
}
