package simpleschema

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// check looks at a field with markers as the API server will look at it in the CRD.
func (b *builder) check(path string, s *apiextensionsv1.JSONSchemaProps) {
	before := len(b.faults)
	for _, err := range checkList(s) {
		b.fault(path, err.Error(), "")
	}
	if len(b.faults) > before {
		return
	}
	if s.Default == nil && len(s.XValidations) == 0 {
		return
	}
	c, err := b.compiled.of(s)
	if err != nil {
		b.fault(path, err.Error(), "")
		return
	}
	for i, rule := range c.rules {
		if rule.Error != nil {
			b.fault(path, fmt.Sprintf("validation %q is not a valid CEL expression: %s", s.XValidations[i].Rule, rule.Error.Detail), "")
		}
	}
	if s.Default == nil || len(b.faults) > before {
		return
	}
	if err := checkDefault(c, s.Default.Raw); err != nil {
		b.fault(path, err.Error(), "")
	}
}

// checkList checks that the keys of a map list exist and are always there, and that elements of a set can be compared.
func checkList(s *apiextensionsv1.JSONSchemaProps) []error {
	kind := ""
	if s.XListType != nil {
		kind = *s.XListType
	}
	if len(s.XListMapKeys) > 0 && kind != listMap {
		if kind == "" {
			return []error{fmt.Errorf("listMapKey set while listType is unset, listType must be set to map")}
		}
		return []error{fmt.Errorf("listMapKey set while listType is set to %s, listType must be set to map", kind)}
	}
	if s.Items == nil || s.Items.Schema == nil {
		return nil
	}
	item := s.Items.Schema
	switch kind {
	case listSet:
		return checkSet(item)
	case listMap:
		return checkMapKeys(item, s.XListMapKeys)
	}
	return nil
}

func checkSet(item *apiextensionsv1.JSONSchemaProps) []error {
	if item.Type == "object" {
		return []error{fmt.Errorf("a set cannot have objects as elements; use listType=map with listMapKey")}
	}
	if item.Type == "array" && item.XListType != nil && *item.XListType != listAtomic {
		return []error{fmt.Errorf("a set can have only atomic lists as elements, got a list of type %s", *item.XListType)}
	}
	return nil
}

func checkMapKeys(item *apiextensionsv1.JSONSchemaProps, keys []string) []error {
	if len(keys) == 0 {
		return []error{fmt.Errorf("listType=map needs at least one listMapKey")}
	}
	if item.Type != "object" {
		return []error{fmt.Errorf("listType=map needs objects as elements, got type: %s", item.Type)}
	}
	var errs []error
	for _, key := range keys {
		property, ok := item.Properties[key]
		switch {
		case !ok:
			errs = append(errs, fmt.Errorf("listMapKey %s is not a field of the elements", key))
		case property.Type == "object" || property.Type == "array":
			errs = append(errs, fmt.Errorf("listMapKey %s must be a scalar, got type: %s", key, property.Type))
		case property.Default == nil && !slices.Contains(item.Required, key):
			errs = append(errs, fmt.Errorf("listMapKey %s must be required or have a default", key))
		}
	}
	return errs
}

// checkDefault checks a default against the schema it belongs to: types, constraints, unknown fields, CEL rules.
func checkDefault(c *compilation, raw []byte) error {
	var value any
	if err := json.Unmarshal(raw, &value); err != nil {
		return fmt.Errorf("default value must be valid JSON, got: %s", raw)
	}
	pruned := runtime.DeepCopyJSONValue(value)
	unknown := pruning.PruneWithOptions(pruned, c.structural, false, structuralschema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
	if !reflect.DeepEqual(pruned, value) {
		return fmt.Errorf("default value %s has unknown fields: %s", raw, strings.Join(unknown, ", "))
	}
	validator := validation.NewSchemaValidatorFromOpenAPI(c.structural.ToKubeOpenAPI())
	if errs := validation.ValidateCustomResource(nil, value, validator); len(errs) > 0 {
		return fmt.Errorf("default value %s does not fit the field: %s", raw, details(errs))
	}
	if errs := c.evaluate(value); len(errs) > 0 {
		return fmt.Errorf("default value %s is refused by the field's own validation: %s", raw, details(errs))
	}
	return nil
}

// details joins what the API server says, without the path of the field, which is known, and without repetitions.
func details(errs field.ErrorList) string {
	var texts []string
	for _, err := range errs {
		text := err.Detail
		if text == "" {
			text = err.ErrorBody()
		}
		if err.Field != "" && err.Field != "<nil>" {
			text = err.Field + ": " + text
		}
		texts = append(texts, text)
	}
	slices.Sort(texts)
	return strings.Join(slices.Compact(texts), "; ")
}
