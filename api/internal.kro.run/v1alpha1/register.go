package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"
)

// Group is the API group of the objects that kro writes for itself.
const Group = "internal.kro.run"

var (
	// GroupVersion is internal.kro.run/v1alpha1.
	GroupVersion = kschema.GroupVersion{Group: Group, Version: "v1alpha1"}

	// SchemeBuilder collects the functions that register this package's types.
	SchemeBuilder = runtime.NewSchemeBuilder(addKnownTypes)

	// AddToScheme registers the types of internal.kro.run/v1alpha1.
	AddToScheme = SchemeBuilder.AddToScheme
)

func addKnownTypes(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion, &GraphRevision{}, &GraphRevisionList{})
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
