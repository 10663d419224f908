package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	krov1alpha1 "kro.run/kro/api/v1alpha1"
)

// SnapshotNameField is the selectable field that holds the name of a revision's definition: the lineage of revisions. For a Graph it holds namespace/name.
const SnapshotNameField = ".spec.snapshot.name"

// GraphRevision is a snapshot of a ResourceGraphDefinition's spec that was found valid. kro creates one for every change with a meaning and never
// changes it; instances run on the revisions. Revisions are written by kro, not by people. One with spec.graph is a snapshot of a Graph instead.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=graphrevisions,singular=graphrevision,shortName=gr,scope=Cluster
// +kubebuilder:selectablefield:JSONPath=`.spec.snapshot.name`
// +kubebuilder:printcolumn:name="RGD",type=string,JSONPath=`.spec.snapshot.name`,priority=1
// +kubebuilder:printcolumn:name="REVISION",type=integer,JSONPath=`.spec.revision`
// +kubebuilder:printcolumn:name="HASH",type=string,JSONPath=`.metadata.labels.kro\.run/graph-revision-hash`,priority=1
// +kubebuilder:printcolumn:name="READY",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="AGE",type=date,JSONPath=`.metadata.creationTimestamp`
type GraphRevision struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is the snapshot and its number. It cannot be changed.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="spec is immutable"
	Spec GraphRevisionSpec `json:"spec,omitzero"`
	// Status tells whether the snapshot compiles against the kinds that the cluster serves now.
	// +optional
	Status GraphRevisionStatus `json:"status,omitzero"`
}

// GraphRevisionList is a list of GraphRevisions.
//
// +kubebuilder:object:root=true
type GraphRevisionList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []GraphRevision `json:"items"`
}

// GraphRevisionSpec is one numbered snapshot of a definition.
type GraphRevisionSpec struct {
	// Revision is the number of the snapshot. Numbers rise with every revision of a definition of that name and are never used twice.
	// +required
	// +kubebuilder:validation:Minimum=1
	Revision int64 `json:"revision"`
	// Snapshot is the definition as it was when this revision was issued. For a Graph it holds namespace/name, the generation, and a spec that means nothing.
	// +required
	Snapshot ResourceGraphDefinitionSnapshot `json:"snapshot"`
	// Graph is the Graph as it was when this revision was issued; absent when the revision is one of a ResourceGraphDefinition.
	// +optional
	Graph *GraphSnapshot `json:"graph,omitempty"`
}

// GraphSnapshot is a Graph at one moment.
type GraphSnapshot struct {
	// Namespace is the namespace of the Graph.
	// +required
	Namespace string `json:"namespace"`
	// Name is the name of the Graph.
	// +required
	Name string `json:"name"`
	// UID is the uid of the Graph. A Graph that was made anew under the same name has another one, and revisions of its own.
	// +required
	UID types.UID `json:"uid"`
	// Spec is the spec that the Graph had, word for word. Applied again, it makes the Graph what it was.
	// +required
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	Spec runtime.RawExtension `json:"spec"`
}

// ResourceGraphDefinitionSnapshot is a ResourceGraphDefinition at one moment.
type ResourceGraphDefinitionSnapshot struct {
	// Name is the name of the ResourceGraphDefinition.
	// +required
	Name string `json:"name"`
	// Generation is the metadata.generation that the ResourceGraphDefinition had. It is for people to read only.
	// +required
	Generation int64 `json:"generation"`
	// Spec is the spec that the ResourceGraphDefinition had.
	// +required
	Spec krov1alpha1.ResourceGraphDefinitionSpec `json:"spec"`
}

// GraphRevisionStatus is what the controller found out about a revision.
type GraphRevisionStatus struct {
	// TopologicalOrder lists the ids of the resources in the order in which they are created; deletion runs the other way.
	// +optional
	TopologicalOrder []string `json:"topologicalOrder,omitempty"`
	// Conditions tell whether the snapshot compiles (GraphVerified). Ready summarises them.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []krov1alpha1.Condition `json:"conditions,omitempty"`
	// Resources lists the resources that depend on others, with the ids that they depend on.
	// +optional
	Resources []krov1alpha1.ResourceInformation `json:"resources,omitempty"`
}
