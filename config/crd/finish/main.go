// Finish puts into the generated CRDs what controller-gen has no marker for: the rules about an external reference's selector.
//
// A selector is a label selector or a CEL expression that gives one, so an object or a string. A structural schema can say that only by leaving out the type,
// and CEL rules do not see fields without a type. What they cannot check is checked here by plain OpenAPI.
//
//	finish FILE...
package main

import (
	"fmt"
	"os"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"
)

func main() {
	for _, file := range os.Args[1:] {
		if err := finish(file); err != nil {
			fmt.Fprintf(os.Stderr, "finish %s: %v\n", file, err)
			os.Exit(1)
		}
	}
}

func finish(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var crd apiextensionsv1.CustomResourceDefinition
	if err := yaml.UnmarshalStrict(text, &crd); err != nil {
		return err
	}
	found := false
	for i := range crd.Spec.Versions {
		found = finishReferences(crd.Spec.Versions[i].Schema.OpenAPIV3Schema) || found
	}
	if !found {
		return fmt.Errorf("no schema of an external reference in it")
	}
	return write(file, &crd)
}

// finishReferences walks down to the schema of externalRef.metadata, which is the one with a property selector beside name, and completes it.
func finishReferences(s *apiextensionsv1.JSONSchemaProps) bool {
	found := false
	for name, property := range s.Properties {
		if name == "selector" && s.Properties["name"].Type == "string" {
			completeSelector(&property)
			s.OneOf = []apiextensionsv1.JSONSchemaProps{{Required: []string{"name"}}, {Required: []string{"selector"}}}
			found = true
		}
		found = finishReferences(&property) || found
		s.Properties[name] = property
	}
	if s.Items != nil && s.Items.Schema != nil {
		found = finishReferences(s.Items.Schema) || found
	}
	return found
}

// completeSelector states the shape of a label selector. It binds objects only; a string passes.
func completeSelector(s *apiextensionsv1.JSONSchemaProps) {
	text := apiextensionsv1.JSONSchemaProps{Type: "string"}
	s.Properties = map[string]apiextensionsv1.JSONSchemaProps{
		"matchLabels": {
			Description:          "Labels and the values that they must have.",
			Type:                 "object",
			AdditionalProperties: &apiextensionsv1.JSONSchemaPropsOrBool{Allows: true, Schema: &text},
		},
		"matchExpressions": {
			Description: "Requirements on labels. All of them must hold.",
			Type:        "array",
			XListType:   ptr.To("atomic"),
			Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &apiextensionsv1.JSONSchemaProps{
				Type:     "object",
				Required: []string{"key", "operator"},
				Properties: map[string]apiextensionsv1.JSONSchemaProps{
					"key":      {Type: "string", Description: "The label that the requirement is about."},
					"operator": {Type: "string", Description: "In, NotIn, Exists or DoesNotExist."},
					"values": {
						Type:        "array",
						Description: "The values that In and NotIn compare with.",
						XListType:   ptr.To("atomic"),
						Items:       &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &text},
					},
				},
			}},
		},
	}
}

// write replaces the file, without the empty status that the Go type would add.
func write(file string, crd *apiextensionsv1.CustomResourceDefinition) error {
	text, err := yaml.Marshal(struct {
		APIVersion string         `json:"apiVersion"`
		Kind       string         `json:"kind"`
		Metadata   map[string]any `json:"metadata"`
		Spec       any            `json:"spec"`
	}{
		APIVersion: crd.APIVersion,
		Kind:       crd.Kind,
		Metadata:   map[string]any{"name": crd.Name, "annotations": crd.Annotations},
		Spec:       crd.Spec,
	})
	if err != nil {
		return err
	}
	return os.WriteFile(file, append([]byte("---\n"), text...), 0o644)
}
