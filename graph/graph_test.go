package graph

import (
	"fmt"
	"strings"
	"testing"

	celgo "github.com/google/cel-go/cel"
	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"kro.run/kro/api/v1alpha1"
	"kro.run/kro/config"
	"kro.run/kro/schema"
)

// graphSpec reads the spec of a Graph.
func graphSpec(t testing.TB, text string) *v1alpha1.GraphSpec {
	t.Helper()
	spec := &v1alpha1.GraphSpec{}
	if err := yaml.UnmarshalStrict([]byte(text), spec); err != nil {
		t.Fatalf("reading the Graph of a test: %v\n%s", err, text)
	}
	return spec
}

// nodes is a Graph of nodes, one flow-style map a line.
func nodes(lines ...string) string { return "nodes:\n- " + strings.Join(lines, "\n- ") + "\n" }

// own are kro's own kinds, as the API server would serve them.
func own(t testing.TB) schema.Resolver {
	t.Helper()
	crds, err := config.CRDs()
	if err != nil {
		t.Fatal(err)
	}
	var kinds []*schema.Kind
	for _, crd := range crds {
		k, err := schema.FromCRD(crd)
		if err != nil {
			t.Fatal(err)
		}
		kinds = append(kinds, k...)
	}
	return schema.Static(kinds...)
}

func compileGraph(t testing.TB, text string) (*Program, Diagnostics) {
	t.Helper()
	return Compile(FromGraph("test", "home", graphSpec(t, text)), Env{Kinds: schema.Join(own(t), schema.Embedded())})
}

func mustCompileGraph(t testing.TB, lines ...string) *Program {
	t.Helper()
	p, faults := compileGraph(t, nodes(lines...))
	if len(faults) > 0 {
		t.Fatalf("the Graph has faults:\n%s\n%s", faults.Error(), nodes(lines...))
	}
	return p
}

func plain(id, name string) string {
	return fmt.Sprintf(`{id: %s, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "%s"}}}`, id, name)
}

// paths are the qualified ids of nodes.
func paths(p *Program, indexes []int) string {
	names := []string{}
	for _, i := range indexes {
		names = append(names, p.Nodes[i].Path)
	}
	return strings.Join(names, " ")
}

func TestGraphIsAProgramWithoutAnInstance(t *testing.T) {
	p := mustCompileGraph(t, plain("Seed", "seed"), plain("schema", "${Seed.metadata.name}-x"),
		`{id: all, ref: {apiVersion: v1, kind: Namespace, metadata: {selector: {matchLabels: {a: b}}}}}`,
		`{id: seen, watch: {apiVersion: v1, kind: Service, metadata: {selector: {}}}}`,
		`{id: deny, forEach: [{ns: "${all}"}], template: {apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: deny, namespace: "${ns.metadata.name}"}, spec: {podSelector: {}}}}`)
	if p.Instance != nil || p.Namespace != "home" || p.Name != "test" || p.Status == nil || p.Hash == "" {
		t.Errorf("instance %v, namespace %q, name %q", p.Instance, p.Namespace, p.Name)
	}
	if got := paths(p, p.Order); got != "Seed schema all seen deny" {
		t.Errorf("order %s", got)
	}
	for id, kind := range map[string]NodeKind{"Seed": Template, "schema": Template, "all": Selection, "seen": Selection, "deny": Template} {
		if got := p.Node(id).Kind; got != kind {
			t.Errorf("%s is a %s, want %s", id, got, kind)
		}
	}
	if !p.Node("deny").Collection || !p.Node("all").Collection || p.Node("Seed").Collection {
		t.Error("what is a collection")
	}
	if diff := cmp.Diff([]Frame{{Parent: -1, Node: -1, Names: map[string]int{"Seed": 0, "schema": 1, "all": 2, "seen": 3, "deny": 4}}}, p.Frames); diff != "" {
		t.Errorf("frames: %s", diff)
	}
	if got := fmt.Sprint(p.GroupKinds); got != "[ConfigMap NetworkPolicy.networking.k8s.io]" {
		t.Errorf("group-kinds %s", got)
	}
}

func TestInlineGraphs(t *testing.T) {
	p := mustCompileGraph(t,
		plain("seed", "seed"), plain("a", "a"),
		`{id: g, graph: {nodes: [
			{id: b, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${seed.metadata.name}-b"}}},
			{id: a, template: {apiVersion: v1, kind: Secret, metadata: {name: "${b.metadata.name}-a"}, type: Opaque}},
			{id: many, forEach: [{item1: "${['x', 'z']}"}], def: {name: "${item1}"}},
			{id: h, graph: {nodes: [{id: c, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${a.type}"}}}]}},
			{id: p, patch: {apiVersion: v1, kind: ConfigMap, metadata: {name: x}, data: {k: v}}}]}}`,
		`{id: last, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${g.h.c.metadata.name}-${g.many[0].name}", labels: {t: "${g.a.type}"}}}}`)
	wanted := map[string]string{
		"a": "", "g/b": "seed", "g/a": "g/b", "g/many": "", "g/h/c": "g/a", "g/h": "g/h/c", "g/p": "",
		"g": "g/b g/a g/many g/h g/p", "last": "g",
	}
	for path, want := range wanted {
		if got := paths(p, p.Node(path).Dependencies); got != want {
			t.Errorf("%s depends on %q, want %q", path, got, want)
		}
	}
	if got := paths(p, []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}); got != "seed a g g/b g/a g/many g/h g/h/c g/p last" {
		t.Errorf("nodes %s", got)
	}
	frames := []Frame{
		{Parent: -1, Node: -1, Names: map[string]int{"seed": 0, "a": 1, "g": 2, "last": 9}},
		{Parent: 0, Node: 2, Names: map[string]int{"b": 3, "a": 4, "many": 5, "h": 6, "p": 8}},
		{Parent: 1, Node: 6, Names: map[string]int{"c": 7}},
	}
	if diff := cmp.Diff(frames, p.Frames); diff != "" {
		t.Errorf("frames: %s", diff)
	}
	if n := p.Node("g/h/c"); n.Frame != 2 || n.ID != "c" {
		t.Errorf("c is %q in frame %d", n.ID, n.Frame)
	}
	g := p.Node("g").Schema
	if g.Properties["p"] != nil || g.Properties["many"].Type != "array" || g.Properties["a"].Properties["type"] == nil || g.Properties["h"].Properties["c"] == nil {
		t.Errorf("the value of the inline graph: %v", sortedKeys(g.Properties))
	}
}

func TestComputedKinds(t *testing.T) {
	p := mustCompileGraph(t,
		`{id: crd, ref: {apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: widgets.example.com}}}`,
		`{id: all, ref: {apiVersion: "${crd.spec.group}/v1", kind: "${crd.spec.names.kind}", metadata: {selector: {}}}}`,
		`{id: one, ref: {apiVersion: v1, kind: "${crd.spec.names.kind}", metadata: {name: x}}}`,
		`{id: each1, forEach: [{w: "${all}"}], template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${w.metadata.name}"}, data: {n: "${string(all.size())}"}}}`,
		`{id: inner, forEach: [{w: "${one.spec.items}"}], template: {apiVersion: "${w.v}", kind: "${w.kind}", metadata: {name: "${w.name}"}, anything: {goes: ["${all.map(x, x.metadata.name)}"]}}}`,
		`{id: p, patch: {apiVersion: "${crd.spec.group}/v1", kind: Widget, metadata: {name: x}, status: {seen: true}}}`)
	for _, id := range []string{"all", "one", "inner", "p"} {
		if n := p.Node(id); !n.Dynamic || !n.GVK.Empty() || n.Schema != nil {
			t.Errorf("%s: dynamic %v, kind %s", id, n.Dynamic, n.GVK)
		}
	}
	if n := p.Node("all"); n.Ref.APIVersion == nil || n.Ref.Kind == nil || paths(p, n.Dependencies) != "crd" {
		t.Error("the reference does not carry its kind")
	}
	if p.Node("p").Subresource != "status" || len(p.Kinds) != 2 {
		t.Errorf("subresource %q, kinds %v", p.Node("p").Subresource, p.Kinds)
	}
	act, _ := celgo.NewActivation(map[string]any{"w": map[string]any{"v": "v1", "kind": "Pod", "name": "n"}, "all": []any{map[string]any{"metadata": map[string]any{"name": "m"}}}})
	if got := evalBody(t, p, "inner", act); got != `{"anything":{"goes":[["m"]]},"apiVersion":"v1","kind":"Pod","metadata":{"name":"n"}}` {
		t.Errorf("the body: %s", got)
	}
}

func TestStampedGraphs(t *testing.T) {
	p := mustCompileGraph(t,
		`{id: all, ref: {apiVersion: v1, kind: Namespace, metadata: {selector: {}}}}`,
		`{id: child, forEach: [{ns: "${all}"}], readyWhen: ["${each.status.conditions.exists(c, c.type == 'Ready' && c.status == 'True')}"],
		  template: {apiVersion: kro.run/v1alpha1, kind: Graph, metadata: {name: child, namespace: "${ns.metadata.name}"}, spec: {nodes: [
		    {id: a, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${ns.metadata.name}"}}},
		    {id: b, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${'${a.metadata.name}'}-b"}}}]}}}`)
	act, _ := celgo.NewActivation(map[string]any{"ns": p.Types.Value(p.Node("all").Schema, jsonValue(t, `{metadata: {name: ns}}`))})
	want := `{"apiVersion":"kro.run/v1alpha1","kind":"Graph","metadata":{"name":"child","namespace":"ns"},"spec":{"nodes":[` +
		`{"id":"a","template":{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"ns"}}},` +
		`{"id":"b","template":{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"${a.metadata.name}-b"}}}]}}`
	if got := evalBody(t, p, "child", act); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestAGraphAndADefinitionOfTheSameNodesRenderTheSame(t *testing.T) {
	node := `{id: two, includeWhen: ["${one.data.?a.hasValue()}"], template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${one.metadata.name}-2"}, data: {"${one.data.a}": x}}}`
	g := mustCompileGraph(t, plain("one", "one"), node)
	d := mustCompile(t, resources(plain("one", "one"), node))
	one := g.Types.Value(g.Node("one").Schema, jsonValue(t, `{metadata: {name: one}, data: {a: k}}`))
	act, _ := celgo.NewActivation(map[string]any{"one": one})
	if diff := cmp.Diff(evalBody(t, g, "two", act), evalBody(t, d, "two", act)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(g.Node("two").Dependencies, d.Node("two").Dependencies); diff != "" {
		t.Error(diff)
	}
}

func TestGraphKinds(t *testing.T) {
	src := FromGraph("test", "home", graphSpec(t, nodes(plain("a", "a"),
		`{id: g, graph: {nodes: [{id: b, ref: {apiVersion: v1, kind: Secret, metadata: {name: x}}}, {id: d, watch: {apiVersion: v1, kind: Pod, metadata: {selector: {}}}}]}}`,
		`{id: p, patch: {apiVersion: apps/v1, kind: Deployment, metadata: {name: x}, spec: {}}}`,
		`{id: dyn, ref: {apiVersion: v1, kind: "${a.x}", metadata: {name: x}}}`)))
	if got := fmt.Sprint(src.Kinds()); got != "[/v1, Kind=ConfigMap /v1, Kind=Pod /v1, Kind=Secret apps/v1, Kind=Deployment]" {
		t.Error(got)
	}
}

func TestTheHashOfAGraph(t *testing.T) {
	base := nodes(plain("a", "a"), `{id: d, def: {x: 1, y: 2}}`)
	hashOf := func(namespace, text string) string {
		p, faults := Compile(FromGraph("n", namespace, graphSpec(t, text)), Env{Kinds: schema.Embedded()})
		if len(faults) > 0 {
			t.Fatal(faults.Error())
		}
		return p.Hash
	}
	first := hashOf("home", base)
	if first != hashOf("home", nodes(plain("a", "a"), `{def: {y: 2, x: 1}, id: d}`)) {
		t.Error("the order of keys changes the hash")
	}
	for reason, other := range map[string]string{
		"a value":    hashOf("home", strings.Replace(base, "y: 2", "y: 3", 1)),
		"namespaces": hashOf("away", base),
		"an orphan":  hashOf("home", strings.Replace(base, "{id: a,", "{id: a, deletionPolicy: Orphaned,", 1)),
		"the kind":   hashOf("home", strings.Replace(base, "def: {x: 1, y: 2}", "graph: {nodes: [{id: i, def: {x: 1, y: 2}}]}", 1)),
	} {
		if other == first {
			t.Errorf("%s leaves the hash as it is", reason)
		}
	}
}
