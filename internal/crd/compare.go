package crd

import (
	"reflect"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// Compare reports how the API that next declares differs from the one that old declares. Labels and annotations are no part of it.
//
// JSON values are compared by what they mean, so that a server which writes 1.0 as 1 or escapes an ampersand changes nothing. Defaults that a server fills in count
// as written.
func Compare(old, next *apiextensionsv1.CustomResourceDefinition) Report {
	r := &Report{}
	if old.Spec.Group != next.Spec.Group {
		r.breaking("", "Group changed from %s to %s", old.Spec.Group, next.Spec.Group)
	}
	if old.Spec.Scope != next.Spec.Scope {
		r.breaking("", "Scope changed from %s to %s", old.Spec.Scope, next.Spec.Scope)
	}
	if conversion(old) != conversion(next) {
		r.harmless("", "Conversion strategy was changed from %s to %s", conversion(old), conversion(next))
	}
	if old.Spec.PreserveUnknownFields != next.Spec.PreserveUnknownFields {
		r.add("", old.Spec.PreserveUnknownFields, "Preservation of unknown fields was changed from %t to %t", old.Spec.PreserveUnknownFields, next.Spec.PreserveUnknownFields)
	}
	r.names(&old.Spec.Names, &next.Spec.Names)
	r.versions(old.Spec.Versions, next.Spec.Versions)
	return *r
}

func conversion(crd *apiextensionsv1.CustomResourceDefinition) apiextensionsv1.ConversionStrategyType {
	if crd.Spec.Conversion == nil || crd.Spec.Conversion.Strategy == "" {
		return apiextensionsv1.NoneConverter
	}
	return crd.Spec.Conversion.Strategy
}

// names compares what the kind is called. Only kind and plural are in stored objects and in URLs.
func (r *Report) names(old, next *apiextensionsv1.CustomResourceDefinitionNames) {
	if old.Kind != next.Kind {
		r.breaking("", "Kind changed from %s to %s", old.Kind, next.Kind)
	}
	if old.Plural != next.Plural {
		r.breaking("", "Plural changed from %s to %s", old.Plural, next.Plural)
	}
	if old.Singular != next.Singular {
		r.harmless("", "Singular changed from %s to %s", old.Singular, next.Singular)
	}
	if old.ListKind != next.ListKind {
		r.harmless("", "List kind changed from %s to %s", old.ListKind, next.ListKind)
	}
	r.words("Short name", old.ShortNames, next.ShortNames)
	r.words("Category", old.Categories, next.Categories)
}

func (r *Report) words(what string, old, next []string) {
	before := len(r.Changes)
	for _, word := range old {
		if !slices.Contains(next, word) {
			r.harmless("", "%s %s was removed", what, word)
		}
	}
	for _, word := range next {
		if !slices.Contains(old, word) {
			r.harmless("", "%s %s was added", what, word)
		}
	}
	if len(r.Changes) == before && !slices.Equal(old, next) {
		r.harmless("", "%s order was changed from %v to %v", what, old, next)
	}
}

// versions pairs versions by name. A version that is gone takes its objects' API along.
func (r *Report) versions(old, next []apiextensionsv1.CustomResourceDefinitionVersion) {
	for i := range old {
		j := slices.IndexFunc(next, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Name == old[i].Name })
		if j < 0 {
			r.breaking("", "Version %s was removed", old[i].Name)
			continue
		}
		r.version(&old[i], &next[j])
	}
	for i := range next {
		if !slices.ContainsFunc(old, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Name == next[i].Name }) {
			r.harmless("", "Version %s was added", next[i].Name)
		}
	}
}

func (r *Report) version(old, next *apiextensionsv1.CustomResourceDefinitionVersion) {
	switch {
	case old.Served && !next.Served:
		r.breaking("", "Version %s is no longer served", old.Name)
	case !old.Served && next.Served:
		r.harmless("", "Version %s is served", old.Name)
	}
	if old.Storage != next.Storage {
		r.harmless("", "Storage in version %s was changed from %t to %t", old.Name, old.Storage, next.Storage)
	}
	if old.Deprecated != next.Deprecated || !reflect.DeepEqual(old.DeprecationWarning, next.DeprecationWarning) {
		r.harmless("", "Deprecation of version %s was changed", old.Name)
	}
	r.subresources(old.Subresources, next.Subresources)
	if !sameList(old.AdditionalPrinterColumns, next.AdditionalPrinterColumns) {
		r.harmless("", "Printer columns of version %s were changed", old.Name)
	}
	if !sameList(old.SelectableFields, next.SelectableFields) {
		r.harmless("", "Selectable fields of version %s were changed", old.Name)
	}
	r.schemas(root(old), root(next))
}

func sameList[T comparable](a, b []T) bool { return slices.Equal(a, b) }

func root(v *apiextensionsv1.CustomResourceDefinitionVersion) *apiextensionsv1.JSONSchemaProps {
	if v.Schema == nil || v.Schema.OpenAPIV3Schema == nil {
		return &apiextensionsv1.JSONSchemaProps{}
	}
	return v.Schema.OpenAPIV3Schema
}

func (r *Report) subresources(old, next *apiextensionsv1.CustomResourceSubresources) {
	none := &apiextensionsv1.CustomResourceSubresources{}
	if old == nil {
		old = none
	}
	if next == nil {
		next = none
	}
	switch {
	case old.Status != nil && next.Status == nil:
		r.breaking("", "Status subresource was removed")
	case old.Status == nil && next.Status != nil:
		r.harmless("", "Status subresource was added")
	}
	switch {
	case old.Scale != nil && next.Scale == nil:
		r.breaking("", "Scale subresource was removed")
	case old.Scale == nil && next.Scale != nil:
		r.harmless("", "Scale subresource was added")
	case !reflect.DeepEqual(old.Scale, next.Scale):
		r.harmless("", "Scale subresource was changed")
	}
}
