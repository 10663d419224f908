package schema

import (
	"fmt"
	"maps"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"
)

// FromCRD gives the kinds that a CustomResourceDefinition serves, one for each served version, in the order of spec.versions. What the server adds to
// every object (apiVersion, kind and a typed metadata) is added to the root of the schema. A version without a schema becomes an open object.
//
// It does not look at the CRD's status: whether the kinds are served already is for the caller to know.
func FromCRD(crd *apiextensionsv1.CustomResourceDefinition) ([]*Kind, error) {
	if err := checkCRD(crd); err != nil {
		return nil, err
	}
	var kinds []*Kind
	for i := range crd.Spec.Versions {
		version := &crd.Spec.Versions[i]
		if !version.Served {
			continue
		}
		var props *apiextensionsv1.JSONSchemaProps
		if version.Schema != nil {
			props = version.Schema.OpenAPIV3Schema
		}
		gvk := kschema.GroupVersionKind{Group: crd.Spec.Group, Version: version.Name, Kind: crd.Spec.Names.Kind}
		kinds = append(kinds, newKind(gvk, crd.Spec.Names.Plural, crd.Spec.Scope == apiextensionsv1.NamespaceScoped, crdRoot(props, crd.Spec.PreserveUnknownFields)))
	}
	return kinds, nil
}

func checkCRD(crd *apiextensionsv1.CustomResourceDefinition) error {
	if crd == nil {
		return fmt.Errorf("reading kinds from a CustomResourceDefinition: there is none")
	}
	missing := ""
	switch {
	case crd.Spec.Group == "":
		missing = "spec.group"
	case crd.Spec.Names.Kind == "":
		missing = "spec.names.kind"
	case crd.Spec.Names.Plural == "":
		missing = "spec.names.plural"
	case len(crd.Spec.Versions) == 0:
		missing = "spec.versions"
	case crd.Spec.Scope != apiextensionsv1.NamespaceScoped && crd.Spec.Scope != apiextensionsv1.ClusterScoped:
		return fmt.Errorf("reading kinds from CustomResourceDefinition %q: spec.scope is %q, must be Namespaced or Cluster", crd.Name, crd.Spec.Scope)
	default:
		return nil
	}
	return fmt.Errorf("reading kinds from CustomResourceDefinition %q: %s is empty", crd.Name, missing)
}

func crdRoot(props *apiextensionsv1.JSONSchemaProps, preserveUnknown bool) *Node {
	root := *FromJSONSchema(props) // a copy: the converted node may be shared
	root.PreserveUnknown = root.PreserveUnknown || preserveUnknown
	root.Properties = maps.Clone(root.Properties)
	addObjectFields(&root)
	return &root
}

func newKind(gvk kschema.GroupVersionKind, plural string, namespaced bool, root *Node) *Kind {
	return &Kind{GVK: gvk, Resource: plural, Namespaced: namespaced, Schema: root, Fingerprint: fingerprint(root, plural, namespaced)}
}
