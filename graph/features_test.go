package graph

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	celgo "github.com/google/cel-go/cel"
	"github.com/google/go-cmp/cmp"

	"kro.run/kro/cel"
	"kro.run/kro/schema"
)

// TestComputedValues: a def is typed from its literals and expressions, and read like any other node.
func TestComputedValues(t *testing.T) {
	p := mustCompile(t, resources(
		`{id: cfg, def: {name: "${schema.metadata.name}-x", port: 80, enabled: true, labels: {app.example.com/a: "${schema.spec.a}", b: c}, list: [{k: a, count: 1}, {k: b, o: 1.5}], when: "${schema.metadata.creationTimestamp}", raw: "${b'abc'}", empty: {}}}`,
		`{id: many, forEach: [{i: "${schema.spec.l}"}], includeWhen: ["${cfg.enabled}"], def: {v: "${i}-${string(cfg.port)}", meta: "${cm.metadata}"}, readyWhen: ["${each.v != ''}"]}`,
		configMap("cm", "", `{port: "${string(cfg.port + 1)}", sum: "${string(cfg.list.map(e, e.?count.orValue(0)).sum())}", year: "${string(cfg.when.getFullYear())}", raw: "${base64.encode(cfg.raw)}", any: "${cfg.empty.x.y}"}`),
		configMap("last", "", `{first: "${many[0].v}", uid: "${many[0].meta.uid}", a: "${cfg.labels['app.example.com/a']}"}`)))
	for id, want := range map[string]string{"cfg": "", "many": "cfg cm", "cm": "cfg", "last": "cfg many"} {
		if got := paths(p, p.Node(id).Dependencies); got != want {
			t.Errorf("%s depends on %q, want %q", id, got, want)
		}
	}
	cfg := p.Node("cfg")
	if cfg.Kind != Definition || cfg.Collection || !p.Node("many").Collection || len(p.GroupKinds) != 1 {
		t.Errorf("kind %s, group-kinds %v", cfg.Kind, p.GroupKinds)
	}
	instance := p.Types.Value(p.Instance.Schema, jsonValue(t, `{metadata: {name: one, creationTimestamp: "2026-01-02T03:04:05Z"}, spec: {a: aa, l: [x, z]}}`))
	act, _ := celgo.NewActivation(map[string]any{"schema": instance})
	body := evalBody(t, p, "cfg", act)
	want := `{"empty":{},"enabled":true,"labels":{"app.example.com/a":"aa","b":"c"},"list":[{"count":1,"k":"a"},{"k":"b","o":1.5}],"name":"one-x","port":80,"raw":"YWJj","when":"2026-01-02T03:04:05Z"}`
	if diff := cmp.Diff(want, body); diff != "" {
		t.Error(diff)
	}
	act, _ = celgo.NewActivation(map[string]any{"schema": instance, "cfg": p.Types.Value(cfg.Schema, jsonValue(t, strings.Replace(body, `"empty":{}`, `"empty":{"x":{"y":"z"}}`, 1)))})
	if got := evalBody(t, p, "cm", act); !strings.Contains(got, `"data":{"any":"z","port":"81","raw":"YWJj","sum":"1","year":"2026"}`) {
		t.Error(got)
	}
	if got := cfg.Schema.Properties["labels"]; got.AdditionalProperties == nil || got.AdditionalProperties.Type != "string" {
		t.Errorf("labels: %+v", got)
	}
}

func TestFaultsOfComputedValues(t *testing.T) {
	runFaults(t, map[string]faultCase{
		"type": {"a value has the type of its expression", resources(`{id: cfg, def: {port: "${schema.spec.num}"}}`, configMap("cm", "", `{a: "${cfg.port}"}`)),
			one("spec.resources[1].template.data.a", `returns type "int" but expected "string"`)},
		"field": {"a misspelt value is found", resources(`{id: cfg, def: {port: 1}}`, configMap("cm", "", `{a: "${cfg.prt}"}`)),
			one("spec.resources[1].template.data.a", "undefined field 'prt'")},
		"two":     {"values and a template", resources(`{id: cfg, def: {port: 1}, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: x}}}`), one("spec.resources[0]", "exactly one of template or externalRef must be provided", "got template, def")},
		"none":    {"nothing", resources(`{id: cfg}`), one("spec.resources[0]", "exactly one of template or externalRef must be provided")},
		"status":  {"a patch has no value", strings.Replace(withStatus(`{v: "${p.metadata.name}"}`), "resources:", "resources:\n- {id: p, patch: {apiVersion: v1, kind: ConfigMap, metadata: {name: x}, data: {a: b}}}", 1), one("spec.schema.status.v", `references "p", which is a patch`)},
		"dynamic": {"the kind of a resource is literal", resources(`{id: a, patch: {apiVersion: v1, kind: "${schema.spec.a}", metadata: {name: x}, data: {a: b}}}`), one("spec.resources[0].patch", "the kind of a resource cannot be computed")},
		"forEach": {"in a definition a list is known to be one", resources(`{id: a, def: {o: "${schema.spec.o}"}}`, `{id: b, forEach: [{x: "${a.o.x}"}], def: {v: "${x}"}}`), one("spec.resources[1].forEach[0].x", "must return a list")},
	})
}

func TestContributions(t *testing.T) {
	p := mustCompile(t, resources(
		`{id: main, includeWhen: ["${schema.spec.flag}"], patch: {apiVersion: v1, kind: ConfigMap, metadata: {name: shared, labels: {a: "${schema.metadata.name}"}}}}`,
		`{id: each1, forEach: [{i: "${schema.spec.l}"}], patch: {apiVersion: apps/v1, kind: Deployment, metadata: {name: "${i}"}, status: {replicas: 1}}}`))
	if n := p.Node("main"); n.Kind != Patch || n.Subresource != "" || n.GVK.Kind != "ConfigMap" || n.Resource.Resource != "configmaps" {
		t.Errorf("main: %s %q %s", n.Kind, n.Subresource, n.GVK)
	}
	if n := p.Node("each1"); n.Subresource != "status" || !n.Collection {
		t.Errorf("each1: %q", n.Subresource)
	}
	if len(p.GroupKinds) != 0 || len(p.Kinds) != 2 {
		t.Errorf("what is contributed to is not the instance's: %v; kinds %v", p.GroupKinds, p.Kinds)
	}
}

func TestDeletionPolicyAndExternalFields(t *testing.T) {
	deployment := func(fields string) string {
		return `{id: d, ` + fields + `, template: {apiVersion: apps/v1, kind: Deployment, metadata: {name: d, annotations: {a.b/c: x}}, spec: {replicas: 1, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: "${schema.spec.a}"}]}}, strategy: "${schema.spec.o}"}}}`
	}
	p := mustCompile(t, resources(deployment(`deletionPolicy: Orphaned, externalFields: [spec.replicas, 'metadata.annotations["a.b/c"]', spec.template.spec.containers, spec.strategy]`),
		configMap("cm", "deletionPolicy: Delete", "{a: b}")))
	want := [][]string{{"spec", "replicas"}, {"metadata", "annotations", "a.b/c"}, {"spec", "template", "spec", "containers"}, {"spec", "strategy"}}
	if diff := cmp.Diff(want, p.Node("d").ExternalFields); diff != "" {
		t.Error(diff)
	}
	if !p.Node("d").Orphan || p.Node("cm").Orphan {
		t.Error("orphans")
	}
	external := func(path string) string { return resources(deployment("externalFields: ['" + path + "']")) }
	at := "spec.resources[0].externalFields[0]"
	runFaults(t, map[string]faultCase{
		"policy":     {"only two are known", resources(deployment("deletionPolicy: Retain")), one("spec.resources[0].deletionPolicy", "neither Delete nor Orphaned")},
		"missing":    {"only what the template has", external("spec.replica"), one(at, "the template has no field spec.replica", "did you mean replicas?")},
		"list":       {"not into a list", external("spec.template.spec.containers.image"), one(at, "is a list", "name the list as a whole")},
		"expression": {"not into what is not known", external("spec.strategy.type"), one(at, "no object, or one that an expression gives", "name the field that the expression fills")},
		"identity":   {"not the identity", external("metadata.name"), one(at, "stays with the template")},
		"empty":      {"no empty path", external(""), one(at, "a path has names separated by dots")},
		"dots":       {"no empty name", external("spec..replicas"), one(at, "none is empty")},
		"bracket":    {"no odd bracket", external("metadata.annotations[a]"), one(at, "no key in quotes and brackets")},
		"after":      {"a dot after a bracket", external(`metadata.annotations["a"]b`), one(at, "expected a dot")},
		"twice":      {"each once", resources(deployment(`externalFields: [spec.replicas, 'spec["replicas"]']`)), one("spec.resources[0].externalFields[1]", "listed twice")},
		"reference": {"only of a template", resources(`{id: r, externalFields: [a], externalRef: {apiVersion: v1, kind: ConfigMap, metadata: {name: x}}}`),
			one("spec.resources[0]", "cannot use externalRef with externalFields")},
	})
}

func TestConditionalDependencies(t *testing.T) {
	ref := func(id string) string {
		return `{id: ` + id + `, externalRef: {apiVersion: v1, kind: ConfigMap, metadata: {name: ` + id + `}}}`
	}
	cases := map[string]struct {
		node, conditional string
	}{
		"one of two":             {configMap("x", "", `{v: "${schema.spec.flag ? a.data.v : b.data.v}"}`), "a b"},
		"the condition is hard":  {configMap("x", "", `{v: "${a.data.v == '' ? b.data.v : 'c'}"}`), "b"},
		"both branches are hard": {configMap("x", "", `{v: "${schema.spec.flag ? a.data.v : a.data.w}"}`), ""},
		"needed elsewhere":       {configMap("x", "", `{v: "${schema.spec.flag ? a.data.v : b.data.v}", w: "${b.data.w}"}`), "a"},
		"conditional twice":      {configMap("x", "", `{v: "${schema.spec.flag ? a.data.v : 'x'}", w: "${schema.spec.num > 1 ? a.data.w : 'z'}"}`), "a"},
		"logic is no ternary":    {configMap("x", "", `{v: "${string(schema.spec.flag && a.data.v == '')}", w: "${b.data.?v.orValue('')}"}`), ""},
		"in text":                {configMap("x", "", `{v: "v-${schema.spec.flag ? a.data.v : 'x'}"}`), "a"},
		"includeWhen is hard":    {configMap("x", `includeWhen: ["${schema.spec.flag ? a.data.v == '' : true}"]`, `{v: "${schema.spec.flag ? a.data.v : 'x'}"}`), ""},
		"forEach":                {`{id: x, forEach: [{i: "${schema.spec.flag ? a.data.map(k, k) : schema.spec.l}"}], def: {v: "${i}"}}`, "a"},
		"a key":                  {configMap("x", "", `{"${schema.spec.flag ? a.data.v : 'x'}": v}`), "a"},
		"nested":                 {configMap("x", "", `{v: "${schema.spec.flag ? (schema.spec.num > 1 ? a.data.v : b.data.v) : 'x'}"}`), "a b"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := mustCompile(t, resources(ref("a"), ref("b"), tc.node))
			x := p.Node("x")
			if got := paths(p, x.Conditional); got != tc.conditional {
				t.Errorf("conditional %q, want %q", got, tc.conditional)
			}
			for _, c := range x.Conditional {
				if !strings.Contains(paths(p, x.Dependencies), p.Nodes[c].Path) {
					t.Errorf("%s is conditional and no dependency", p.Nodes[c].Path)
				}
			}
		})
	}
}

func TestDeferredFields(t *testing.T) {
	p := mustCompile(t, resources(
		configMap("a", "", `{peer: "${defer(b.metadata.uid)}", own: x, list: "${defer(string(c.num) + b.metadata.uid)}"}`),
		configMap("b", "", `{peer: "${a.metadata.uid}", both: "${defer(a.metadata.name)}"}`),
		`{id: c, def: {num: 1, of: "${b.metadata.name}"}}`))
	a, b := p.Node("a"), p.Node("b")
	if got := [4]string{paths(p, a.Dependencies), paths(p, a.Deferred), paths(p, b.Dependencies), paths(p, b.Deferred)}; got != [4]string{"", "b c", "a", ""} {
		t.Errorf("dependencies and deferred of a and b: %q", got)
	}
	instance := map[string]any{"schema": p.Types.Value(p.Instance.Schema, jsonValue(t, `{metadata: {name: one}}`))}
	act, _ := celgo.NewActivation(instance)
	if got := evalBody(t, p, "a", act); !strings.Contains(got, `"data":{"own":"x"}`) {
		t.Errorf("without the other: %s", got)
	}
	instance["b"] = p.Types.Value(b.Schema, jsonValue(t, `{metadata: {uid: u}}`))
	act, _ = celgo.NewActivation(instance)
	if got := evalBody(t, p, "a", act); !strings.Contains(got, `"data":{"own":"x","peer":"u"}`) {
		t.Errorf("with the other: %s", got)
	}
	act, _ = celgo.NewActivation(map[string]any{"schema": instance["schema"], "b": instance["b"], "c": p.Types.Value(nil, jsonValue(t, `{num: {}}`))})
	_, err := a.Body.Eval(context.Background(), act)
	var fault *cel.EvalError
	if !errors.As(err, &fault) || fault.Pending {
		t.Errorf("a fault that no data mend is told: %v", err)
	}
}

func TestComputedKeys(t *testing.T) {
	p := mustCompile(t, resources(
		`{id: d, def: {"${schema.spec.a}": {v: 1}, "${schema.spec.a + 'x'}": {v: 2}}}`,
		configMap("x", "", `{"${schema.spec.a}": "1", "k-${schema.spec.a}": "${string(d.aa.v)}", "${schema.spec.flag ? optional.of('opt') : optional.none()}": v, "${schema.spec.flag ? 'm' : omit()}": v, "${'${lit}'}": v, plain: v}`)))
	eval := func(instance string) (string, error) {
		values := map[string]any{"schema": p.Types.Value(p.Instance.Schema, jsonValue(t, instance))}
		act, _ := celgo.NewActivation(values)
		values["d"] = p.Types.Value(p.Node("d").Schema, jsonValue(t, evalBody(t, p, "d", act)))
		act, _ = celgo.NewActivation(values)
		body, err := p.Node("x").Body.Eval(context.Background(), act)
		if err != nil {
			return "", err
		}
		return toJSON(t, body.(map[string]any)["data"]), nil
	}
	if got, err := eval(`{metadata: {name: one}, spec: {a: aa, flag: true}}`); got != `{"${lit}":"v","aa":"1","k-aa":"1","m":"v","opt":"v","plain":"v"}` {
		t.Error(got, err)
	}
	if got, err := eval(`{metadata: {name: one}, spec: {a: aa, flag: false}}`); got != `{"${lit}":"v","aa":"1","k-aa":"1","plain":"v"}` {
		t.Error(got, err)
	}
	p = mustCompile(t, resources(configMap("x", "", `{"${schema.spec.a}": "1", plain: v}`)))
	act, _ := celgo.NewActivation(map[string]any{"schema": p.Types.Value(p.Instance.Schema, jsonValue(t, `{metadata: {name: one}, spec: {a: plain}}`))})
	if _, err := p.Node("x").Body.Eval(context.Background(), act); err == nil || !strings.Contains(err.Error(), `key "plain" is given twice`) {
		t.Errorf("a key twice: %v", err)
	}
	act, _ = celgo.NewActivation(map[string]any{"schema": p.Types.Value(p.Instance.Schema, jsonValue(t, `{metadata: {name: one}, spec: {}}`))})
	_, err := p.Node("x").Body.Eval(context.Background(), act)
	var fault *cel.EvalError
	if !errors.As(err, &fault) || !fault.Pending {
		t.Errorf("a key whose data are missing: %v", err)
	}
}

func TestMerge(t *testing.T) {
	object := func(name string, n *schema.Node) *schema.Node {
		return &schema.Node{Type: "object", Properties: map[string]*schema.Node{name: n}}
	}
	text, whole, number := &schema.Node{Type: "string"}, &schema.Node{Type: "integer"}, &schema.Node{Type: "number"}
	recursive := object("next", nil)
	recursive.Properties["next"] = recursive
	other := &schema.Node{Type: "object", Properties: map[string]*schema.Node{"next": recursive, "v": text}}
	cases := map[string]struct {
		a, b *schema.Node
		want string
	}{
		"alike":              {text, &schema.Node{Type: "string"}, "string"},
		"numbers":            {whole, number, "number"},
		"different":          {text, whole, "any"},
		"fields of both":     {object("a", text), object("b", whole), "{a: string, b: integer}"},
		"a field that fits":  {object("a", whole), object("a", number), "{a: number}"},
		"lists":              {&schema.Node{Type: "array", Items: whole}, &schema.Node{Type: "array", Items: text}, "[any]"},
		"a struct and a map": {object("a", text), &schema.Node{Type: "object", AdditionalProperties: text}, "object"},
		"recursive":          {recursive, other, "{next: {…}, v: string}"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := describe(common([]*schema.Node{tc.a, tc.b}), 0); got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
		})
	}
}

// describe writes a schema for people.
func describe(n *schema.Node, depth int) string {
	switch {
	case depth > 0 && n.Properties["next"] != nil:
		return "{…}"
	case n.Type == "":
		return "any"
	case n.Items != nil:
		return "[" + describe(n.Items, depth+1) + "]"
	case len(n.Properties) > 0:
		var fields []string
		for _, name := range sortedKeys(n.Properties) {
			fields = append(fields, fmt.Sprintf("%s: %s", name, describe(n.Properties[name], depth+1)))
		}
		return "{" + strings.Join(fields, ", ") + "}"
	}
	return n.Type
}

// An id that only the Graph kind reserves stays one that definitions may use, as they always could.
func TestIDsOfDefinitionsThatGraphsReserve(t *testing.T) {
	p := mustCompile(t, resources(configMap("graphengine", "", "{a: b}"), configMap("b", "", `{v: "${graphengine.data.a}"}`)))
	if got := p.Nodes[0].ID; got != "graphengine" {
		t.Errorf("the first node is %q, want graphengine", got)
	}
	_, faults := compileGraph(t, nodes(`{id: graphengine, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}}`))
	if len(faults) != 1 || !strings.Contains(faults[0].Message, "is a reserved keyword in KRO") {
		t.Errorf("a Graph with a node graphengine: got %v, want one fault about a reserved keyword", faults)
	}
}
