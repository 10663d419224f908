package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Reason and message have no omitempty: a controller sets both on every condition, and a message that became empty must replace the old one.

// Condition is one observation about an object, in the form of the Kubernetes API conventions.
type Condition struct {
	// Type names the aspect observed, for example Ready. "Ready" summarises all others.
	Type string `json:"type"`
	// Status says whether the aspect holds: True, False, or Unknown when that is not known yet.
	Status metav1.ConditionStatus `json:"status"`
	// ObservedGeneration is the metadata.generation that this condition speaks about. While it is lower than metadata.generation, the
	// condition is out of date.
	// +optional
	// +kubebuilder:validation:Minimum=0
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// LastTransitionTime is when status last changed from one value to another.
	// +optional
	LastTransitionTime metav1.Time `json:"lastTransitionTime,omitzero"`
	// Reason is one CamelCase word for programs that says why the condition has its status.
	// +optional
	Reason string `json:"reason"`
	// Message tells a person why the condition has its status, and where something is wrong, what and where.
	// +optional
	Message string `json:"message"`
}
