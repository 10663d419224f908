package graph

import (
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apimachinery/pkg/runtime"
)

// Defaulter fills in the defaults of an instance's spec, as the API server does when it reads one.
//
// An instance that was read before its CRD gained a default lacks it until it is read anew, and no event tells. What is
// rendered without a server has nobody else to fill defaults in. The zero value changes nothing.
type Defaulter struct {
	spec *structuralschema.Structural
}

// newDefaulter prepares the defaults of a spec schema. A schema that cannot be understood has none: simpleschema has
// checked it before.
func newDefaulter(spec *apiextensionsv1.JSONSchemaProps) Defaulter {
	if spec == nil || !hasDefaults(spec) {
		return Defaulter{}
	}
	internal := &apiextensions.JSONSchemaProps{}
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(spec, internal, nil); err != nil {
		return Defaulter{}
	}
	structural, err := structuralschema.NewStructural(internal)
	if err != nil {
		return Defaulter{}
	}
	return Defaulter{spec: structural}
}

// Apply returns the instance with its defaults. The given instance is not changed; it is returned as it is when nothing
// is to be filled in.
func (d Defaulter) Apply(instance map[string]any) map[string]any {
	if d.spec == nil {
		return instance
	}
	spec, there := instance["spec"].(map[string]any)
	if !there {
		if instance["spec"] != nil || d.spec.Default.Object == nil {
			return instance
		}
		spec = map[string]any{}
	}
	filled := runtime.DeepCopyJSON(spec)
	defaulting.Default(filled, d.spec)
	out := make(map[string]any, len(instance)+1)
	for k, v := range instance {
		out[k] = v
	}
	out["spec"] = filled
	return out
}

// hasDefaults tells whether any part of a schema has a default.
func hasDefaults(s *apiextensionsv1.JSONSchemaProps) bool {
	if s == nil {
		return false
	}
	if s.Default != nil || s.AdditionalProperties != nil && hasDefaults(s.AdditionalProperties.Schema) || s.Items != nil && hasDefaults(s.Items.Schema) {
		return true
	}
	for name := range s.Properties {
		child := s.Properties[name]
		if hasDefaults(&child) {
			return true
		}
	}
	return false
}
