// Package v1alpha1 holds the API types of group internal.kro.run: what kro writes for itself. They may change between releases.
//
// +kubebuilder:object:generate=true
// +groupName=internal.kro.run
package v1alpha1
