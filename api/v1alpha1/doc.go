// Package v1alpha1 holds the API types of group kro.run: what platform engineers write (ResourceGraphDefinition, Graph).
//
// Only types, their registration and the names of labels, annotations and finalizers live here. The comments on types and fields become the text
// of `kubectl explain`; the CRDs under config/crd are generated from the markers:
//
//	go generate ./config
//
// +kubebuilder:object:generate=true
// +groupName=kro.run
package v1alpha1
