package graph

import (
	"fmt"
	"strings"

	"github.com/gobuffalo/flect"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kro.run/kro/schema"
	"kro.run/kro/simpleschema"
)

// apiDraft is the API that the definition creates, as far as it is known.
type apiDraft struct {
	plural string
	// spec leaves open what the SimpleSchema does not tell because of a fault; it is nil when nothing could be read.
	spec *apiextensionsv1.JSONSchemaProps
	// schema is that of the variable schema, nil when spec is.
	schema *schema.Node
}

const buildingAPI = "failed to build OpenAPI schema for instance: "

// readAPI builds the schema of the instances' spec.
func (c *compiler) readAPI() {
	api := c.src.API
	if api == nil {
		return
	}
	c.api = &apiDraft{plural: api.Plural}
	if c.api.plural == "" {
		c.api.plural = flect.Pluralize(strings.ToLower(api.GVK.Kind))
	}
	c.checkLengths(api.GVK.Kind)
	spec, specErr := decodeObject(api.Spec)
	if specErr != nil {
		c.reportAPI(fieldSpec, "spec.schema.spec", Diagnostic{Code: CodeSchema, Message: buildingAPI + "failed to unmarshal spec schema: " + specErr.Error()})
	}
	types, typesErr := decodeObject(api.Types)
	if typesErr != nil {
		c.reportAPI(fieldSpec, "spec.schema.types", Diagnostic{Code: CodeSchema, Message: buildingAPI + "failed to unmarshal predefined types: " + typesErr.Error()})
	}
	if specErr != nil || typesErr != nil {
		return
	}
	props, faults := simpleschema.Build(spec, types)
	for i, f := range faults {
		at := place{node: apiPlace, field: fieldSpec, ordinal: i, path: "spec.schema." + f.Path}
		c.report(at, Diagnostic{Code: CodeSchema, Message: fmt.Sprintf("%sfield %s: %s", buildingAPI, f.Path, f.Message), Hint: f.Hint})
	}
	c.api.spec = props
	c.api.schema = variableSchema(props, api.Scope)
}

// longestName is what a CRD allows for each of its names.
const longestName = 63

// checkLengths reports a kind whose CRD the server would refuse: its list and its plural are longer than itself.
func (c *compiler) checkLengths(kind string) {
	for _, name := range []string{kind + "List", c.api.plural} {
		if len(name) > longestName {
			c.reportAPI(fieldSpec, "spec.schema.kind", Diagnostic{Code: CodeSchema,
				Message: fmt.Sprintf("%skind %q is too long: its CRD would have the name %q, and names in a CRD have at most %d characters", buildingAPI, kind, name, longestName),
				Hint:    fmt.Sprintf("choose a kind of at most %d characters", longestName-len("List"))})
			return
		}
	}
}

// variableSchema is the schema of the variable schema: an instance without its status, so that no expression can wait
// for what it decides itself.
func variableSchema(spec *apiextensionsv1.JSONSchemaProps, scope apiextensionsv1.ResourceScope) *schema.Node {
	metadata := schema.ObjectMeta()
	if scope == apiextensionsv1.ClusterScoped {
		properties := make(map[string]*schema.Node, len(metadata.Properties))
		for name, child := range metadata.Properties {
			if name != "namespace" {
				properties[name] = child
			}
		}
		metadata = &schema.Node{Type: "object", Properties: properties}
	}
	return &schema.Node{Type: "object", Properties: map[string]*schema.Node{
		"apiVersion": textSchema, "kind": textSchema, "metadata": metadata, "spec": schema.FromJSONSchema(spec),
	}}
}

// instance assembles the API.
func (c *compiler) instance() *Instance {
	gvk := c.src.API.GVK
	return &Instance{
		GVK:        gvk,
		Resource:   gvk.GroupVersion().WithResource(c.api.plural),
		Namespaced: !c.clusterScoped(),
		CRD:        c.crd(),
		Schema:     c.api.schema,
		Defaults:   newDefaulter(c.api.spec),
	}
}

func (c *compiler) crd() *apiextensionsv1.CustomResourceDefinition {
	api := c.src.API
	singular := strings.ToLower(api.GVK.Kind)
	columns := api.Columns
	if len(columns) == 0 {
		columns = defaultColumns()
	}
	return &apiextensionsv1.CustomResourceDefinition{
		TypeMeta: metav1.TypeMeta{APIVersion: apiextensionsv1.SchemeGroupVersion.String(), Kind: "CustomResourceDefinition"},
		ObjectMeta: metav1.ObjectMeta{
			Name: c.api.plural + "." + api.GVK.Group, Labels: copyOf(api.Labels), Annotations: copyOf(api.Annotations),
		},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: api.GVK.Group,
			Scope: api.Scope,
			Names: apiextensionsv1.CustomResourceDefinitionNames{
				Kind: api.GVK.Kind, ListKind: api.GVK.Kind + "List", Plural: c.api.plural, Singular: singular,
				ShortNames: append([]string(nil), api.ShortNames...), Categories: append([]string(nil), api.Categories...),
			},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: api.GVK.Version, Served: true, Storage: true,
				Subresources:             &apiextensionsv1.CustomResourceSubresources{Status: &apiextensionsv1.CustomResourceSubresourceStatus{}},
				AdditionalPrinterColumns: append([]apiextensionsv1.CustomResourceColumnDefinition(nil), columns...),
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
					Type: "object",
					Properties: map[string]apiextensionsv1.JSONSchemaProps{
						"apiVersion": {Type: "string"}, "kind": {Type: "string"}, "metadata": {Type: "object"},
						"spec": *c.api.spec, "status": c.statusProps(),
					},
				}},
			}},
		},
	}
}

func copyOf(m map[string]string) map[string]string {
	if len(m) == 0 {
		return nil
	}
	copied := make(map[string]string, len(m))
	for k, v := range m {
		copied[k] = v
	}
	return copied
}

func defaultColumns() []apiextensionsv1.CustomResourceColumnDefinition {
	return []apiextensionsv1.CustomResourceColumnDefinition{
		{Name: "State", Type: "string", JSONPath: ".status.state", Description: "The state of a ResourceGraphDefinition instance"},
		{Name: "Ready", Type: "string", JSONPath: `.status.conditions[?(@.type=="Ready")].status`, Description: "Whether a ResourceGraphDefinition instance is ready"},
		{Name: "Age", Type: "date", JSONPath: ".metadata.creationTimestamp", Description: "Age of the resource"},
	}
}
