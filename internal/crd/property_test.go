package crd

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"
)

// drawSchema draws a structural schema of few names and small bounds, so that two of them often differ in little.
func drawSchema(t *rapid.T, depth int) apiextensionsv1.JSONSchemaProps {
	kinds := []string{"string", "integer", "any"}
	if depth > 0 {
		kinds = append(kinds, "object", "object", "map", "array", "open")
	}
	var s apiextensionsv1.JSONSchemaProps
	switch kind := rapid.SampledFrom(kinds).Draw(t, "kind"); kind {
	case "any":
		s.XPreserveUnknownFields = ptr.To(true)
	case "open":
		s.Type, s.XPreserveUnknownFields = "object", ptr.To(true)
	case "map":
		value := drawSchema(t, depth-1)
		s.Type, s.AdditionalProperties = "object", &apiextensionsv1.JSONSchemaPropsOrBool{Allows: true, Schema: &value}
	case "array":
		item := drawSchema(t, depth-1)
		s.Type, s.Items = "array", &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &item}
		s.MinItems, s.MaxItems = drawBound(t, "minItems"), drawBound(t, "maxItems")
		if item.Type == "string" || item.Type == "integer" {
			s.XListType = rapid.SampledFrom([]*string{nil, ptr.To("atomic"), ptr.To("set")}).Draw(t, "listType")
		}
	case "object":
		s.Type, s.Properties = "object", map[string]apiextensionsv1.JSONSchemaProps{}
		for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "c"}), 0, 3, rapid.ID).Draw(t, "names") {
			s.Properties[name] = drawSchema(t, depth-1)
			if rapid.Bool().Draw(t, "required") {
				s.Required = append(s.Required, name)
			}
		}
	case "integer":
		s.Type = kind
		s.Minimum = rapid.SampledFrom([]*float64{nil, ptr.To(0.0), ptr.To(1.0)}).Draw(t, "minimum")
		s.Maximum = rapid.SampledFrom([]*float64{nil, ptr.To(1.0), ptr.To(2.0)}).Draw(t, "maximum")
		s.ExclusiveMaximum = s.Maximum != nil && rapid.Bool().Draw(t, "exclusive")
		if !s.ExclusiveMaximum && rapid.IntRange(0, 3).Draw(t, "default") == 0 {
			s.Default = &apiextensionsv1.JSON{Raw: []byte("1")}
		}
	case "string":
		s.Type = kind
		s.MinLength, s.MaxLength = drawBound(t, "minLength"), drawBound(t, "maxLength")
		s.Pattern = rapid.SampledFrom([]string{"", "", "^x"}).Draw(t, "pattern")
		s.Format = rapid.SampledFrom([]string{"", "", "date"}).Draw(t, "format")
		if rapid.IntRange(0, 3).Draw(t, "enum") == 0 {
			s.Enum = rapid.SampledFrom([][]apiextensionsv1.JSON{{{Raw: []byte(`"x"`)}}, {{Raw: []byte(`"x"`)}, {Raw: []byte(`"xy"`)}}}).Draw(t, "values")
		}
	}
	s.Nullable = rapid.IntRange(0, 4).Draw(t, "nullable") == 0
	return s
}

func drawBound(t *rapid.T, label string) *int64 {
	return rapid.SampledFrom([]*int64{nil, nil, ptr.To(int64(0)), ptr.To(int64(1)), ptr.To(int64(2))}).Draw(t, label)
}

// drawValue draws a value that fits a schema more often than not.
func drawValue(t *rapid.T, s *apiextensionsv1.JSONSchemaProps, depth int) any {
	if s.Nullable && rapid.IntRange(0, 3).Draw(t, "null") == 0 {
		return nil
	}
	switch {
	case s.Type == "string":
		return rapid.SampledFrom([]string{"", "x", "xy", "2020-01-01"}).Draw(t, "text")
	case s.Type == "integer":
		return rapid.Int64Range(0, 2).Draw(t, "number")
	case s.Items != nil:
		var list []any
		for range rapid.IntRange(0, 2).Draw(t, "length") {
			list = append(list, drawValue(t, s.Items.Schema, depth-1))
		}
		return list
	case s.Type == "object":
		object := map[string]any{}
		for _, name := range []string{"spec", "a", "b", "c"} {
			property, declared := s.Properties[name]
			if s.AdditionalProperties != nil {
				property, declared = *s.AdditionalProperties.Schema, true
			}
			if ptr.Deref(s.XPreserveUnknownFields, false) && !declared {
				property, declared = apiextensionsv1.JSONSchemaProps{Type: rapid.SampledFrom([]string{"string", "integer"}).Draw(t, "free")}, true
			}
			if declared && rapid.IntRange(0, 3).Draw(t, "present") > 0 {
				object[name] = drawValue(t, &property, depth-1)
			}
		}
		return object
	}
	return rapid.SampledFrom([]any{"x", int64(1), map[string]any{"a": "x"}, []any{"x"}}).Draw(t, "any")
}

func structural(t *rapid.T, s *apiextensionsv1.JSONSchemaProps) *structuralschema.Structural {
	var internal apiextensions.JSONSchemaProps
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(s.DeepCopy(), &internal, nil); err != nil {
		t.Fatalf("convert: %v", err)
	}
	result, err := structuralschema.NewStructural(&internal)
	if err != nil {
		t.Fatalf("structural: %v", err)
	}
	return result
}

// admit reads a stored object as the server does: nulls with defaults dropped, defaults filled in, unknown fields pruned; and tells whether it is valid.
func admit(s *structuralschema.Structural, stored any) (read any, valid bool) {
	read = runtime.DeepCopyJSONValue(stored)
	defaulting.PruneNonNullableNullsWithoutDefaults(read, s)
	defaulting.Default(read, s)
	pruning.Prune(read, s, false)
	validator := validation.NewSchemaValidatorFromOpenAPI(s.ToKubeOpenAPI())
	errs := validation.ValidateCustomResource(nil, read, validator)
	return read, len(errs) == 0 && len(listtype.ValidateListSetsAndMaps(nil, s, read.(map[string]any))) == 0
}

// contains tells that nothing of old was lost in read.
func contains(read, old any) bool {
	switch old := old.(type) {
	case map[string]any:
		object, ok := read.(map[string]any)
		if !ok {
			return false
		}
		for key, value := range old {
			if has, ok := object[key]; !ok || !contains(has, value) {
				return false
			}
		}
		return true
	case []any:
		list, ok := read.([]any)
		if !ok || len(list) != len(old) {
			return false
		}
		for i := range old {
			if !contains(list[i], old[i]) {
				return false
			}
		}
		return true
	}
	return reflect.DeepEqual(read, old)
}

// This is what "not breaking" promises: what is stored stays valid and whole.
func TestWhatIsNotBreakingKeepsStoredObjects(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		old := apiextensionsv1.JSONSchemaProps{Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{"spec": drawSchema(t, 2)}}
		next := *old.DeepCopy()
		mutate(t, &next)
		r := &Report{}
		r.schemas(&old, &next)
		if r.Breaking() {
			return
		}
		before, after := structural(t, &old), structural(t, &next)
		stored, valid := admit(before, drawValue(t, &old, 3))
		if !valid {
			return
		}
		read, valid := admit(after, stored)
		if !valid || !contains(read, stored) {
			t.Fatalf("not breaking: %v\nstored %v\nread   %v (valid %t)", r.Changes, stored, read, valid)
		}
	})
}

// mutate replaces one schema somewhere in s, or a few keywords of it, by others.
func mutate(t *rapid.T, s *apiextensionsv1.JSONSchemaProps) {
	switch {
	case len(s.Properties) > 0 && rapid.IntRange(0, 3).Draw(t, "descend") > 0:
		for _, name := range []string{"spec", "a", "b", "c"} {
			if property, ok := s.Properties[name]; ok && rapid.Bool().Draw(t, "here") {
				mutate(t, &property)
				s.Properties[name] = property
				return
			}
		}
	case s.Items != nil && rapid.Bool().Draw(t, "item"):
		mutate(t, s.Items.Schema)
		return
	case s.AdditionalProperties != nil && rapid.Bool().Draw(t, "value"):
		mutate(t, s.AdditionalProperties.Schema)
		return
	}
	*s = drawSchema(t, 2)
}

func TestCompareFindsNothingAfterAServerRewroteIt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSchema(t, 3)
		// encoding/json escapes <, > and &, as the server does not; blanks and key order go as well.
		raw, err := json.MarshalIndent(s, "", " ")
		if err != nil {
			t.Fatalf("marshal: %v", err)
		}
		var again apiextensionsv1.JSONSchemaProps
		if err := json.Unmarshal(raw, &again); err != nil {
			t.Fatalf("unmarshal: %v", err)
		}
		r := &Report{}
		r.schemas(&s, &again)
		if !r.Empty() {
			t.Fatalf("changes: %v", r.Changes)
		}
	})
}

func TestCompareFindsADifferenceWhenThereIsOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawSchema(t, 2), drawSchema(t, 2)
		first, second := &Report{}, &Report{}
		first.schemas(&a, &b)
		second.schemas(&a, &b)
		if !reflect.DeepEqual(first, second) {
			t.Fatalf("two runs differ:\n%v\n%v", first, second)
		}
		// An unset list type is atomic; else different text is a different schema.
		atomic := []byte(`"x-kubernetes-list-type":"atomic"`)
		rawA, _ := json.Marshal(a)
		rawB, _ := json.Marshal(b)
		if first.Empty() && !bytes.Equal(rawA, rawB) && !bytes.Contains(append(rawA, rawB...), atomic) {
			t.Fatalf("no change found between\n%s\n%s", rawA, rawB)
		}
	})
}
