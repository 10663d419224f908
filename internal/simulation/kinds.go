package simulation

import (
	kschema "k8s.io/apimachinery/pkg/runtime/schema"

	"kro.run/kro/schema"
)

// Group and Namespace are where generated objects are.
const (
	Group     = "sim.example.com"
	Namespace = "ns"
)

// The resources of generated graphs.
var (
	Things = kschema.GroupVersionResource{Group: Group, Version: "v1", Resource: "things"}
	Items  = kschema.GroupVersionResource{Group: Group, Version: "v1", Resource: "items"}
)

var resourcesByKind = map[string]kschema.GroupVersionResource{"Thing": Things, "Item": Items}

var static = func() schema.Resolver {
	open := &schema.Node{Type: "object", PreserveUnknown: true}
	kind := func(name, plural string) *schema.Kind {
		return &schema.Kind{
			GVK:      kschema.GroupVersionKind{Group: Group, Version: "v1", Kind: name},
			Resource: plural, Namespaced: true, Fingerprint: name,
			Schema: &schema.Node{Type: "object", Properties: map[string]*schema.Node{
				"apiVersion": {Type: "string"}, "kind": {Type: "string"}, "metadata": schema.ObjectMeta(), "spec": open, "status": open,
			}},
		}
	}
	return schema.Static(kind("Thing", "things"), kind("Item", "items"))
}()

// Kinds are the kinds that a server serves at present.
type Kinds struct{ Server *Server }

// Mapping gives the resource of a kind.
func (k Kinds) Mapping(gk kschema.GroupKind) (kschema.GroupVersionResource, bool, error) {
	gvr, known := resourcesByKind[gk.Kind]
	if !known || gk.Group != Group || k.Server.gone[gvr] {
		return kschema.GroupVersionResource{}, false, &schema.NotFoundError{GVK: gk.WithVersion("")}
	}
	return gvr, true, nil
}

// Resolve gives the schema of a kind.
func (k Kinds) Resolve(gvk kschema.GroupVersionKind) (*schema.Kind, error) {
	if gvr, known := resourcesByKind[gvk.Kind]; known && k.Server.gone[gvr] {
		return nil, &schema.NotFoundError{GVK: gvk}
	}
	return static.Resolve(gvk)
}
