package simpleschema

import (
	"encoding/json"
	"strings"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// What is written in quotes comes back as it was.
func FuzzLexMarkers(f *testing.F) {
	for _, seed := range []string{
		`required=true`, ` default="a \"b\" \\ \d" `, `default={"a": "}"} minimum=1`, `x=[{]}`, `=`, `a`, `a="`, "\xff=\xfe",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := lexMarkers(text)
		if err == nil && len(got) == 0 {
			t.Fatalf("lexMarkers(%q): neither markers nor error", text)
		}
		quoted := `k="` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text) + `"`
		again, err := lexMarkers(quoted)
		if err != nil || len(again) != 1 {
			t.Fatalf("lexMarkers(%q) = %q, %v", quoted, again, err)
		}
		if want := string([]rune(text)); again[0] != (marker{key: "k", value: want}) {
			t.Fatalf("lexMarkers(%q) = %q, want the value %q", quoted, again, want)
		}
	})
}

// A schema without faults is a structural one, whatever was written.
func FuzzBuild(f *testing.F) {
	f.Add(`{"a":"string | default=\"x\"","b":{"c":"[]T"}}`, `{"T":{"x":"integer | minimum=1"}}`)
	f.Add(`{"a":"T | immutable=true"}`, `{"T":"T"}`)
	f.Add(`{"a":["string"],"b":3,"c":null}`, `{}`)
	f.Add(`{"a":"[]object | listType=map listMapKey=x"}`, `{"A":"B","B":"A"}`)
	f.Fuzz(func(t *testing.T, spec, types string) {
		var s, ty map[string]any
		if json.Unmarshal([]byte(spec), &s) != nil || json.Unmarshal([]byte(types), &ty) != nil {
			t.Skip("not a document")
		}
		schema, faults := Build(s, ty)
		for _, fault := range faults {
			if fault.Path == "" || fault.Message == "" {
				t.Fatalf("fault without path or message: %+v", fault)
			}
		}
		if errs := structuralErrors(t, schema); len(faults) == 0 && len(errs) > 0 {
			t.Fatalf("not structural: %v", errs)
		}
	})
}

// structuralErrors says where a schema, as that of a property, is not structural.
func structuralErrors(t testing.TB, spec *apiextensionsv1.JSONSchemaProps) field.ErrorList {
	t.Helper()
	root := &apiextensionsv1.JSONSchemaProps{Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{"spec": *spec.DeepCopy()}}
	var internal apiextensions.JSONSchemaProps
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(root, &internal, nil); err != nil {
		t.Fatalf("convert: %v", err)
	}
	structural, err := structuralschema.NewStructural(&internal)
	if err != nil {
		t.Fatalf("not structural: %v", err)
	}
	return structuralschema.ValidateStructural(nil, structural)
}
