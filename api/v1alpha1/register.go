package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"
)

// Group is the API group of everything an author writes, and the default group of generated kinds.
const Group = "kro.run"

// ResourceGraphDefinitionKind is the kind of a definition, as it stands in owner references.
const ResourceGraphDefinitionKind = "ResourceGraphDefinition"

var (
	// GroupVersion is kro.run/v1alpha1.
	GroupVersion = kschema.GroupVersion{Group: Group, Version: "v1alpha1"}

	// SchemeBuilder collects the functions that register this package's types.
	SchemeBuilder = runtime.NewSchemeBuilder(addKnownTypes)

	// AddToScheme registers the types of kro.run/v1alpha1.
	AddToScheme = SchemeBuilder.AddToScheme
)

// GroupResource gives the group-resource of a plural name in this group, for errors and dynamic clients.
func GroupResource(plural string) kschema.GroupResource {
	return kschema.GroupResource{Group: Group, Resource: plural}
}

func addKnownTypes(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion, &ResourceGraphDefinition{}, &ResourceGraphDefinitionList{}, &Graph{}, &GraphList{})
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
