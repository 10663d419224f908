package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// GraphKind is the kind of a Graph, as it stands in templates and owner references.
const GraphKind = "Graph"

// GraphFinalizer holds a Graph until kro has deleted what it made and released what it contributed.
const GraphFinalizer = "kro.run/graph-finalizer"

// Graph composes Kubernetes objects without an API of its own: kro creates the objects of its nodes in the order that the expressions between them demand, keeps them
// as declared, and deletes them with the Graph. Everything it does, it does as a ServiceAccount of its namespace.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=graphs,singular=graph,scope=Namespaced
// +kubebuilder:printcolumn:name="READY",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="AGE",type=date,JSONPath=`.metadata.creationTimestamp`
type Graph struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is the graph.
	// +required
	Spec GraphSpec `json:"spec"`
	// Status is what kro found and did. Deletion works from it alone.
	// +optional
	Status GraphStatus `json:"status,omitzero"`
}

// GraphList is a list of Graphs.
//
// +kubebuilder:object:root=true
type GraphList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Graph `json:"items"`
}

// GraphSpec declares the nodes of a Graph and whom it acts as.
type GraphSpec struct {
	// Nodes are the nodes of the graph. Their order in this list does not matter except that it breaks ties; expressions decide what comes first.
	// +required
	// +kubebuilder:validation:MinItems=1
	// +listType=map
	// +listMapKey=id
	Nodes []GraphNode `json:"nodes"`
	// ServiceAccountName is the ServiceAccount, in the namespace of the Graph, that everything is read and written as. When empty it is default.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	ServiceAccountName string `json:"serviceAccountName,omitempty"`
}

// GraphNode is one node of a Graph: an object to create (template), objects to read (ref), values to compute (def), fields to contribute to an object of others (patch),
// or a graph of its own (graph). Exactly one of them is given; watch is another name for a ref with a selector.
//
// +kubebuilder:validation:XValidation:rule="(has(self.template) ? 1 : 0) + (has(self.ref) ? 1 : 0) + (has(self.watch) ? 1 : 0) + (has(self.def) ? 1 : 0) + (has(self.graph) ? 1 : 0) + (has(self.patch) ? 1 : 0) == 1",message="exactly one of template, ref, def, graph, patch must be set"
// +kubebuilder:validation:XValidation:rule="has(self.template) || !(has(self.deletionPolicy) || has(self.externalFields))",message="deletionPolicy and externalFields belong to a template"
type GraphNode struct {
	// ID is the name by which expressions refer to this node: letters and digits, starting with a letter, unique in its graph.
	// +required
	// +kubebuilder:validation:Pattern=`^[A-Za-z][A-Za-z0-9]*$`
	ID string `json:"id"`
	// Template is the manifest of the object that this node creates and owns. Strings in it, and keys of maps, may contain CEL expressions in ${...} that use the
	// ids of other nodes. apiVersion and kind may be expressions too; the node is then untyped.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	Template runtime.RawExtension `json:"template,omitzero"`
	// Ref names an object, or selects objects, that exist apart from this graph. kro reads and watches them and never writes to them.
	// +optional
	Ref *ExternalRef `json:"ref,omitempty"`
	// Watch is a ref with a selector, under the name that the proposal KREP-024 gave it.
	// +optional
	Watch *ExternalRef `json:"watch,omitempty"`
	// Def is an object of named values: literals, or CEL expressions in ${...}. No object stands behind it; other nodes read it by the id of this node.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	Def runtime.RawExtension `json:"def,omitzero"`
	// Graph holds nodes of its own under nodes, in the form of spec.nodes. They see the nodes around them; from outside they are seen as fields of this node.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	Graph runtime.RawExtension `json:"graph,omitzero"`
	// Patch is a part of a manifest: apiVersion, kind, metadata.name and metadata.namespace say which object, the other fields are contributed to it. The object must
	// exist. Either status alone is contributed, or other fields.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	Patch runtime.RawExtension `json:"patch,omitzero"`
	// ReadyWhen are CEL expressions in ${...}, each giving a bool, over this node (by its id; for collections each item by the name each). The node counts as ready
	// when all of them are true. Nodes that depend on it do not wait for that.
	// +optional
	ReadyWhen []string `json:"readyWhen,omitempty"`
	// IncludeWhen are CEL expressions in ${...}, each giving a bool. Unless all of them are true, the node is left out, together with the nodes that depend on it.
	// +optional
	IncludeWhen []string `json:"includeWhen,omitempty"`
	// ForEach makes this node a collection: one object (or def, or patch) for every combination of the iterators' elements. Each entry names one iterator and gives a
	// CEL expression in ${...} for its list.
	// +optional
	ForEach []ForEachDimension `json:"forEach,omitempty"`
	// DeletionPolicy says what becomes of an object of the template that is no longer wanted: it is deleted (Delete, the default), or kro lets go of it and it stays
	// (Orphaned).
	// +optional
	DeletionPolicy DeletionPolicy `json:"deletionPolicy,omitempty"`
	// ExternalFields are fields of the template, as dotted paths, that others may take over: kro sets them when it creates the object and keeps them until another
	// manager writes them; from then on it leaves them alone.
	// +optional
	// +listType=set
	ExternalFields []string `json:"externalFields,omitempty"`
}

// GraphStatus is what kro found and did for a Graph.
type GraphStatus struct {
	// Conditions tell whether the graph is valid (Accepted) and whether everything is applied and ready (ResourcesConverged). Ready summarises them.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []Condition `json:"conditions,omitempty"`
	// ManagedResources are the objects that the Graph owns, in the order in which they are applied. One without uid is about to be created.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=5000
	ManagedResources []ManagedResource `json:"managedResources,omitempty"`
	// Contributions are the objects that patch nodes hold fields of.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=5000
	Contributions []Contribution `json:"contributions,omitempty"`
	// AppliedServiceAccount is the user that the Graph acted as last, system:serviceaccount:<namespace>:<name>. Deletion acts as this user.
	// +optional
	AppliedServiceAccount string `json:"appliedServiceAccount,omitempty"`
	// LastIssuedRevision is the highest number that a GraphRevision of this Graph has had: that of the present spec.
	// +optional
	LastIssuedRevision int64 `json:"lastIssuedRevision,omitempty"`
	// AppliedRevision is the number of the GraphRevision that was last applied in full: every node applied, read or left out. It lies behind lastIssuedRevision while
	// the present spec is being applied, or cannot be.
	// +optional
	AppliedRevision int64 `json:"appliedRevision,omitempty"`
	// Nodes tells how each node stands, in the order of the document.
	// +optional
	// +listType=atomic
	Nodes []NodeStatus `json:"nodes,omitempty"`
}

// ManagedResource is one object that a Graph owns.
type ManagedResource struct {
	// NodeID is the id of the node that the object was made from; ids of nested graphs are joined with /.
	NodeID string `json:"nodeID"`
	// APIVersion is the API version of the object, with the group.
	APIVersion string `json:"apiVersion"`
	// Kind is the kind of the object.
	Kind string `json:"kind"`
	// Namespace is the namespace of the object; empty for a cluster-scoped one.
	// +optional
	Namespace string `json:"namespace,omitempty"`
	// Name is the name of the object.
	Name string `json:"name"`
	// UID is the uid of the object. Only an object with this uid is deleted; without one nothing is.
	// +optional
	UID string `json:"uid,omitempty"`
}

// Contribution is one object that a patch node holds fields of.
type Contribution struct {
	// APIVersion is the API version of the object, with the group.
	APIVersion string `json:"apiVersion"`
	// Kind is the kind of the object.
	Kind string `json:"kind"`
	// Namespace is the namespace of the object; empty for a cluster-scoped one.
	// +optional
	Namespace string `json:"namespace,omitempty"`
	// Name is the name of the object.
	Name string `json:"name"`
	// Subresource is status when fields of the status are contributed, else empty.
	// +optional
	// +kubebuilder:validation:Enum="";status
	Subresource string `json:"subresource,omitempty"`
	// FieldManager holds the fields; they are released under this name.
	FieldManager string `json:"fieldManager"`
}

// NodeStatus tells how one node of a graph stands.
type NodeStatus struct {
	// ID is the id of the node; ids of nested graphs are joined with /.
	ID string `json:"id"`
	// State is where the node stands.
	// +optional
	State string `json:"state,omitempty"`
	// Message says what the node waits for, or what is wrong with it.
	// +optional
	Message string `json:"message,omitempty"`
	// Hash identifies what was applied for the node last.
	// +optional
	Hash string `json:"hash,omitempty"`
}
