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
	n := &NodeSource{ID: r.ID, Template: raw(r.Template), IncludeWhen: r.IncludeWhen, ReadyWhen: r.ReadyWhen}
	for _, entry := range r.ForEach {
		n.ForEach = append(n.ForEach, entry)
	}
	if r.ExternalRef != nil {
		meta := r.ExternalRef.Metadata
		n.Ref = &RefSource{APIVersion: r.ExternalRef.APIVersion, Kind: r.ExternalRef.Kind, Name: meta.Name, Namespace: meta.Namespace}
		if meta.Selector != nil {
			n.Ref.Selector = raw(*meta.Selector)
			if n.Ref.Selector == nil {
				n.Ref.Selector = []byte("null")
			}
		}
	}
	return n
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
