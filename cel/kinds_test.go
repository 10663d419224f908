package cel

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"

	celgo "github.com/google/cel-go/cel"
	"github.com/google/go-cmp/cmp"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"

	"kro.run/kro/schema"
)

// kindNode gives the schema of a built-in kind.
func kindNode(t testing.TB, group, version, kind string) *schema.Node {
	t.Helper()
	k, err := schema.Embedded().Resolve(kschema.GroupVersionKind{Group: group, Version: version, Kind: kind})
	if err != nil {
		t.Fatal(err)
	}
	return k.Schema
}

func at(t testing.TB, n *schema.Node, path ...string) *schema.Node {
	t.Helper()
	for _, name := range path {
		if n = childOf(n, name); name == "[]" || n == nil {
			t.Fatalf("no schema at %v", path)
		}
		if n.Type == "array" {
			n = n.Items
		}
	}
	return n
}

func TestBuiltInKinds(t *testing.T) {
	types := NewTypes()
	deployment, service, secret := kindNode(t, "apps", "v1", "Deployment"), kindNode(t, "", "v1", "Service"), kindNode(t, "", "v1", "Secret")
	job, quota, pod := kindNode(t, "batch", "v1", "Job"), kindNode(t, "", "v1", "ResourceQuota"), kindNode(t, "", "v1", "Pod")
	env, err := NewEnv(types,
		Variable{"dep", types.Declare("dep", deployment)}, Variable{"svc", types.Declare("svc", service)},
		Variable{"sec", types.Declare("sec", secret)}, Variable{"job", types.Declare("job", job)},
		Variable{"rq", types.Declare("rq", quota)}, Variable{"pod", types.Declare("pod", pod)}, Variable{"word", celgo.StringType})
	if err != nil {
		t.Fatal(err)
	}
	wants := map[string]string{
		"dep.spec.replicas":                                 "int",
		"dep.metadata.creationTimestamp":                    "timestamp",
		"dep.metadata.namespace":                            "string",
		"dep.spec.template.spec.containers[0].image":        "string",
		"dep.spec.template.spec.volumes":                    "list(__type_dep.spec.template.spec.volumes.@idx)",
		"svc.spec.ports[0].targetPort":                      "dyn",
		"sec.data":                                          "map(string, bytes)",
		"sec.data.token":                                    "bytes",
		"sec.stringData.token":                              "string",
		"job.status.completionTime != null":                 "bool",
		"rq.spec.hard['cpu']":                               "dyn",
		"dep.spec.template.spec == pod.spec":                "bool",
		"has(pod.spec) ? pod.spec : dep.spec.template.spec": "__type_dep.spec.template.spec",
		"dep.status.conditions.exists(c, c.type == 'Available' && c.status == 'True')": "bool",
		"dep.spec.template.spec.containers[0].resources.requests['cpu']":               "dyn",
	}
	// In order, since a type is named after the place where it is met first.
	for _, source := range slices.Sorted(maps.Keys(wants)) {
		want := wants[source]
		x, err := env.Compile(source, Template)
		if err != nil {
			t.Errorf("Compile(%s): %v", source, err)
			continue
		}
		if got := FormatType(x.Type()); got != want {
			t.Errorf("type of %s is %s, want %s", source, got, want)
		}
	}
	for _, tc := range []struct {
		source string
		to     *schema.Node
		want   string
	}{
		{"{'matchLabels':{'w':word}}", at(t, deployment, "spec", "selector"), ""},
		{"[{'name': 'a', 'image': word, 'args': ['x', word]}]", deployment.Properties["spec"].Properties["template"].Properties["spec"].Properties["containers"], ""},
		{"[{'name': 'a', 'imag': word}]", deployment.Properties["spec"].Properties["template"].Properties["spec"].Properties["containers"], `field "imag" exists in output`},
		{"dep.spec.template.spec", at(t, pod, "spec"), ""},
		{"svc.spec.ports[0].targetPort", at(t, service, "spec", "ports", "targetPort"), ""},
		{"word", at(t, service, "spec", "ports", "targetPort"), ""},
		{"word", at(t, service, "spec", "ports", "port"), `expected "int"`},
		{"word", at(t, deployment, "spec", "template", "spec", "containers", "resources", "requests", "cpu"), ""},
		{"base64.encode(sec.data.token)", at(t, secret, "data", "x"), ""},
		{"sec.data", secret.Properties["data"], ""},
		{"sec.data", secret.Properties["stringData"], "map value type incompatible"},
	} {
		x, err := env.Compile(tc.source, Template)
		if err != nil {
			t.Errorf("Compile(%s): %v", tc.source, err)
			continue
		}
		err = x.AssignableTo(types, tc.to, "target")
		if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", tc.source, err, tc.want)
		}
	}
}

func TestSecretDataAreBytes(t *testing.T) {
	types := NewTypes()
	secret := kindNode(t, "", "v1", "Secret")
	env, err := NewEnv(types, Variable{"login", types.Declare("login", secret)})
	if err != nil {
		t.Fatal(err)
	}
	vars, err := celgo.NewActivation(map[string]any{"login": types.Value(secret, map[string]any{
		"metadata": map[string]any{"name": "login"},
		"data":     map[string]any{"user": "YWRh", "broken": "!"},
	})})
	if err != nil {
		t.Fatal(err)
	}
	byteField := at(t, secret, "data", "x")
	cases := []struct {
		source string
		to     *schema.Node
		want   any
		fault  string
	}{
		{source: "string(login.data.user) == 'ada'", want: true},
		{source: "'db://' + string(login.data.user)", want: "db://ada"},
		{source: "base64.encode(login.data.user)", want: "YWRh"},
		{source: "size(login.data.user)", want: int64(3)},
		{source: "login.data.user", fault: "bytes value cannot be used directly in a resource template or status field; encode it explicitly, e.g. base64.encode(...)"},
		{source: "login.data.user", to: byteField, want: "YWRh"},
		{source: "bytes('bob')", to: byteField, want: "Ym9i"},
		{source: "base64.encode(login.data.user)", to: byteField, want: "YWRh"},
		{source: "{'a': login.data.user}", to: secret.Properties["data"], want: map[string]any{"a": "YWRh"}},
		{source: "login.data", to: secret.Properties["data"], want: map[string]any{"user": "YWRh", "broken": "!"}},
		{source: "login.data", fault: "bytes value cannot be used directly"},
		{source: "[login][0].metadata", want: map[string]any{"name": "login"}},
		{source: "login.data.broken", fault: "invalid base64 text"},
	}
	for _, tc := range cases {
		x, err := env.Compile(tc.source, Template)
		if err != nil {
			t.Fatalf("Compile(%s): %v", tc.source, err)
		}
		v, err := x.Eval(context.Background(), vars)
		var got any
		if err == nil {
			got, err = ToJSONFor(tc.to, v)
		}
		if tc.fault != "" {
			if err == nil || !strings.Contains(err.Error(), tc.fault) {
				t.Errorf("%s: %v, want %q", tc.source, err, tc.fault)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", tc.source, err)
			continue
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.source, diff)
		}
	}
}

func TestSecretDataStayOutOfErrors(t *testing.T) {
	types := NewTypes()
	secret := kindNode(t, "", "v1", "Secret")
	env, err := NewEnv(types, Variable{"login", types.Declare("login", secret)}, Variable{"m", celgo.MapType(celgo.StringType, celgo.StringType)})
	if err != nil {
		t.Fatal(err)
	}
	vars, err := celgo.NewActivation(map[string]any{
		"login": types.Value(secret, map[string]any{"data": map[string]any{"pass": "aHVudGVyMg==", "utf": "/w=="}}),
		"m":     map[string]string{},
	})
	if err != nil {
		t.Fatal(err)
	}
	for source, want := range map[string]string{
		"int(string(login.data.pass))":                          "is withheld",
		"duration(string(login.data['pass']))":                  "is withheld",
		"login.data.?pass.optMap(p, int(string(p))).orValue(1)": "is withheld",
		"json.unmarshal(string(login.data.pass)).a":             "is withheld",
		"login.data.map(k, int(string(login.data[k])))[0]":      "is withheld",
		"m[string(login.data.pass)]":                            "no such key (its name is withheld",
		"string(login.data.gone)":                               "no such key: gone",
		"login.data.pass + dyn(1)":                              "no such overload",
		"1 / (size(login.data.pass) - 7)":                       "division by zero",
		"string(login.data.utf)":                                "is withheld",
	} {
		x, err := env.Compile(source, Template)
		if err != nil {
			t.Fatalf("Compile(%s): %v", source, err)
		}
		_, err = x.Eval(context.Background(), vars)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v, want %q and no secret", source, err, want)
		}
	}
}

// BenchmarkDeclare shows that a large kind costs what is used of it.
func BenchmarkDeclare(b *testing.B) {
	deployment := kindNode(b, "apps", "v1", "Deployment")
	for b.Loop() {
		NewTypes().Declare("dep", deployment)
	}
}
