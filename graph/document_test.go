package graph

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kro.run/kro/schema"
)

func TestDecode(t *testing.T) {
	cases := map[string]struct {
		reason, data string
		want         any
		wantErr      string
	}{
		"Numbers":   {"whole numbers stay whole", `{"i":3,"f":1.5,"big":1e30}`, map[string]any{"i": int64(3), "f": 1.5, "big": 1e30}, ""},
		"Nothing":   {"no data is null", " ", nil, ""},
		"Null":      {"null is null", "null", nil, ""},
		"Duplicate": {"one of two values would be lost", `{"a":1,"a":2}`, nil, `duplicate field "a"`},
		"Nested":    {"also further down", `{"x":[{"a":1,"a":2}]}`, nil, `duplicate field "x[0].a"`},
		"Syntax":    {"what is no JSON is refused", `{"a":`, nil, "unexpected end"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := decode([]byte(tc.data))
			if tc.wantErr != "" {
				if err == nil || !strings.Contains(err.Error(), tc.wantErr) {
					t.Fatalf("%s: error %v, want %q", tc.reason, err, tc.wantErr)
				}
				return
			}
			if diff := cmp.Diff(tc.want, got); diff != "" || err != nil {
				t.Errorf("%s: error %v; -want, +got:\n%s", tc.reason, err, diff)
			}
		})
	}
}

func TestPaths(t *testing.T) {
	path := joinField(joinIndex(joinField(joinField("", "spec"), "containers"), 0), "image")
	if want := "spec.containers[0].image"; path != want {
		t.Errorf("got %s, want %s", path, want)
	}
	if got, want := joinField("metadata.labels", "app.kubernetes.io/name"), `metadata.labels["app.kubernetes.io/name"]`; got != want {
		t.Errorf("names with dots are quoted: got %s, want %s", got, want)
	}
	if got, want := joinPath("status", `["a.b"].c`), `status["a.b"].c`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestDidYouMean(t *testing.T) {
	fields := []string{"replicas", "selector", "template", "minReadySeconds"}
	cases := map[string]string{
		"replica":         "did you mean replicas?",
		"Selector":        "did you mean selector?",
		"tempalte":        "did you mean template?",
		"nothing":         "",
		"x":               "",
		"minreadyseconds": "did you mean minReadySeconds?",
	}
	for name, want := range cases {
		if got := didYouMean(name, fields); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}

func TestFieldThatYAMLReadAsABooleanIsHintedAt(t *testing.T) {
	for name, want := range map[string]string{"n": "YAML reads the key n as false; put it in quotes where the field is declared", "y": "its fields are a, false"} {
		if got := fieldHint(name, []string{"a", "false"}); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}

func TestTextThatYAMLReadAsABooleanIsHintedAt(t *testing.T) {
	_, faults := Compile(FromDefinition("hints", parse(t, resources(configMap("cm", "", `{v: on}`)))), Env{Kinds: schema.Embedded()})
	if len(faults) != 1 || faults[0].Hint != yamlBooleanHint {
		t.Errorf("%v, want the hint %q", faults, yamlBooleanHint)
	}
}

func TestUnknownFieldsAreHintedAt(t *testing.T) {
	for expression, want := range map[string]string{
		"schema.spec.nmu":                  "did you mean num?",
		"d.status.readyReplica":            "did you mean readyReplicas?",
		"schema.metadata.labls.x":          "did you mean labels?",
		"d.spec.strategy.rollingUpdate.xy": "its fields are maxSurge, maxUnavailable",
		"d.metadata.xyzzyxyzzy":            "", // too many to list
		"[d].map(x, x.spc)[0]":             "", // x has no type outside of the macro
		"schema.spec.num.x":                "",
	} {
		_, faults := Compile(FromDefinition("hints", parse(t, resources(`{id: d, template: {apiVersion: apps/v1, kind: Deployment, metadata: {name: d}}}`, configMap("cm", "", `{v: "${string(`+expression+`)}"}`)))), Env{Kinds: schema.Embedded()})
		if len(faults) != 1 || faults[0].Hint != want {
			t.Errorf("%s: %v, want the hint %q", expression, faults, want)
		}
	}
}
