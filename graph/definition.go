package graph

import (
	"encoding/json"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"

	"kro.run/kro/api/v1alpha1"
)

// defaultGroup is the API group of a definition that names none.
const defaultGroup = "kro.run"

// FromDefinition reads a ResourceGraphDefinition. It applies the defaults that the API server would, so that a file
// compiles as it would in a cluster; it judges nothing. The source shares the memory of the spec, which must not be
// changed while the source is in use.
func FromDefinition(name string, spec *v1alpha1.ResourceGraphDefinitionSpec) Source {
	src := Source{Name: name}
	if spec == nil {
		return src
	}
	if spec.Schema != nil {
		src.API = apiSource(spec.Schema)
	}
	for _, r := range spec.Resources {
		src.Nodes = append(src.Nodes, nodeSource(r))
	}
	return src
}

func apiSource(s *v1alpha1.Schema) *APISource {
	api := &APISource{
		GVK:        kschema.GroupVersionKind{Group: s.Group, Version: s.APIVersion, Kind: s.Kind},
		Scope:      s.Scope,
		Plural:     s.Plural,
		ShortNames: s.ShortNames,
		Categories: s.Categories,
		Columns:    s.AdditionalPrinterColumns,
		Spec:       raw(s.Spec),
		Types:      raw(s.Types),
		Status:     raw(s.Status),
	}
	if api.GVK.Group == "" {
		api.GVK.Group = defaultGroup
	}
	if api.Scope == "" {
		api.Scope = apiextensionsv1.NamespaceScoped
	}
	if s.Metadata != nil {
		api.Labels, api.Annotations = s.Metadata.Labels, s.Metadata.Annotations
	}
	return api
}

func nodeSource(r *v1alpha1.Resource) *NodeSource {
	if r == nil {
		return nil
	}
	return &NodeSource{
		ID: r.ID, Template: raw(r.Template), Ref: refSource(r.ExternalRef), Definition: raw(r.Def), Patch: raw(r.Patch),
		ForEach: dimensions(r.ForEach), IncludeWhen: r.IncludeWhen, ReadyWhen: r.ReadyWhen,
		DeletionPolicy: r.DeletionPolicy, ExternalFields: r.ExternalFields,
	}
}

func dimensions(entries []v1alpha1.ForEachDimension) []map[string]string {
	var maps []map[string]string
	for _, entry := range entries {
		maps = append(maps, entry)
	}
	return maps
}

func refSource(ref *v1alpha1.ExternalRef) *RefSource {
	if ref == nil {
		return nil
	}
	meta := ref.Metadata
	src := &RefSource{APIVersion: ref.APIVersion, Kind: ref.Kind, Name: meta.Name, Namespace: meta.Namespace}
	if meta.Selector != nil {
		src.Selector = raw(*meta.Selector)
		if src.Selector == nil {
			src.Selector = []byte("null")
		}
	}
	return src
}

// raw returns the JSON of an extension, nil when there is none. An extension built in memory has an object instead.
func raw(e runtime.RawExtension) []byte {
	if e.Raw == nil && e.Object != nil {
		if data, err := json.Marshal(e.Object); err == nil {
			return data
		}
	}
	return e.Raw
}
