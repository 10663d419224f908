package graph

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	celgo "github.com/google/cel-go/cel"
	"sigs.k8s.io/yaml"

	"kro.run/kro/api/v1alpha1"
	"kro.run/kro/cel"
	"kro.run/kro/schema"
)

// parse reads the spec of a definition.
func parse(t testing.TB, text string) *v1alpha1.ResourceGraphDefinitionSpec {
	t.Helper()
	spec := &v1alpha1.ResourceGraphDefinitionSpec{}
	if err := yaml.UnmarshalStrict([]byte(text), spec); err != nil {
		t.Fatalf("reading the definition of a test: %v\n%s", err, text)
	}
	return spec
}

// head is a schema that most tests can do with; resources follow.
const head = `
schema:
  apiVersion: v1alpha1
  kind: Thing
  group: example.com
  spec: {a: string, num: integer, flag: boolean, l: "[]string", m: "map[string]string", o: object}
`

// resources puts resources, one flow-style map a line, after head.
func resources(lines ...string) string {
	return head + "resources:\n- " + strings.Join(lines, "\n- ") + "\n"
}

// configMap is a resource of that id with further fields and data.
func configMap(id, fields, data string) string {
	if fields != "" {
		fields += ", "
	}
	return `{id: ` + id + `, ` + fields + `template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${schema.metadata.name}-` + strings.ToLower(id) + `"}, data: ` + data + `}}`
}

// withStatus is head with a status and one resource cm.
func withStatus(status string) string {
	return strings.TrimRight(head, "\n") + "\n  status: " + status + "\nresources:\n- " + configMap("cm", "", "{a: b}") + "\n"
}

func compileText(t testing.TB, text string) (*Program, Diagnostics) {
	t.Helper()
	return Compile(FromDefinition("test", parse(t, text)), Env{Kinds: schema.Embedded()})
}

// mustCompile compiles a definition that has no faults.
func mustCompile(t testing.TB, text string) *Program {
	t.Helper()
	p, faults := compileText(t, text)
	if len(faults) > 0 {
		t.Fatalf("the definition has faults:\n%s\n%s", faults.Error(), text)
	}
	return p
}

// activation binds schema to an instance and each node to an object, or to a list for a collection.
func activation(t testing.TB, p *Program, instance string, nodes map[string]string) cel.Activation {
	t.Helper()
	vars := map[string]any{"schema": p.Types.Value(p.Instance.Schema, jsonValue(t, instance))}
	for id, text := range nodes {
		n := p.Node(id)
		value := jsonValue(t, text)
		s := n.Schema
		if n.Collection {
			s = &schema.Node{Type: "array", Items: n.Schema}
		}
		vars[id] = p.Types.Value(s, value)
	}
	act, err := celgo.NewActivation(vars)
	if err != nil {
		t.Fatal(err)
	}
	return act
}

func jsonValue(t testing.TB, text string) any {
	t.Helper()
	data, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	value, err := decode(data)
	if err != nil {
		t.Fatal(err)
	}
	return value
}

// toJSON writes a value for comparison.
func toJSON(t testing.TB, value any) string {
	t.Helper()
	data, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func ids(p *Program, indexes []int) []string {
	names := []string{}
	for _, i := range indexes {
		names = append(names, p.Nodes[i].ID)
	}
	return names
}

func evalBody(t testing.TB, p *Program, id string, act cel.Activation) string {
	t.Helper()
	body, err := p.Node(id).Body.Eval(context.Background(), act)
	if err != nil {
		t.Fatalf("evaluating %s: %v", id, err)
	}
	return toJSON(t, body)
}
