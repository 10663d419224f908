package graph

import (
	"strings"

	"github.com/gobuffalo/flect"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"

	"kro.run/kro/api/v1alpha1"
)

// InstanceKind is the kind that a definition makes.
type InstanceKind struct {
	GVK        kschema.GroupVersionKind
	Resource   kschema.GroupVersionResource
	Namespaced bool
}

// KindOf reads the kind that a definition makes from its spec alone: for definitions that do not compile, whose instances
// must be looked after all the same. It is false for a spec that names none.
func KindOf(spec *v1alpha1.ResourceGraphDefinitionSpec) (InstanceKind, bool) {
	api := FromDefinition("", spec).API
	if api == nil || api.GVK.Kind == "" || api.GVK.Version == "" {
		return InstanceKind{}, false
	}
	plural := api.Plural
	if plural == "" {
		plural = flect.Pluralize(strings.ToLower(api.GVK.Kind))
	}
	return InstanceKind{
		GVK: api.GVK, Resource: api.GVK.GroupVersion().WithResource(plural),
		Namespaced: api.Scope != apiextensionsv1.ClusterScoped,
	}, true
}
