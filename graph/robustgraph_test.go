package graph

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
	"sigs.k8s.io/yaml"

	"kro.run/kro/api/v1alpha1"
	"kro.run/kro/schema"
)

// everyNode has one of each thing that a Graph can hold.
const everyNode = `
serviceAccountName: x
nodes:
- {id: Seed, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: seed}, data: {a: b}}, deletionPolicy: Orphaned, externalFields: [data.a]}
- {id: all, watch: {apiVersion: v1, kind: Namespace, metadata: {selector: {matchLabels: {a: "${Seed.data.a}"}}}}, readyWhen: ["${all.size() > 0}"]}
- {id: dynamic, ref: {apiVersion: v1, kind: "${Seed.data.kind}", metadata: {name: x}}}
- {id: values, includeWhen: ["${all.size() > 1}"], readyWhen: ["${values.list[0].x == 1}"], def: {a: "${Seed.data.a}", list: [{x: 1}, {z: "${dynamic.spec.x}"}], "${Seed.data.a}": {x: 2}}}
- id: inner
  graph:
    nodes:
    - {id: deny, forEach: [{ns: "${all}"}], template: {apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: deny, namespace: "${ns.metadata.name}", labels: {"${ns.metadata.name}": a}}, spec: {podSelector: {}}}}
    - {id: deep, graph: {nodes: [{id: Seed, template: {apiVersion: v1, kind: Secret, metadata: {name: "${values.a}"}}}, {id: use, def: {t: "${Seed.type}"}}]}}
- {id: told, forEach: [{ns: "${all}"}], patch: {apiVersion: v1, kind: Namespace, metadata: {name: "${ns.metadata.name}", annotations: {n: "${string(inner.deny.size())}", late: "${defer(last.metadata.uid)}"}}}}
- {id: state, patch: {apiVersion: "${Seed.data.v}", kind: X, metadata: {name: x}, status: {a: "${Seed.data.a == 'b' ? dynamic.spec.x : values.a}"}}}
- {id: child, template: {apiVersion: kro.run/v1alpha1, kind: Graph, metadata: {name: child}, spec: {nodes: [{id: a, def: {v: "${'${b.v}'}"}}]}}}
- {id: last, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${inner.deep.use.t}"}}}
`

// checkProgram checks what holds for every program of a Graph.
func checkProgram(p *Program, fail func(format string, args ...any)) {
	if len(p.Order) != len(p.Nodes) {
		fail("the order has %d of %d nodes", len(p.Order), len(p.Nodes))
	}
	position := map[int]int{}
	for at, index := range p.Order {
		position[index] = at
	}
	for i, n := range p.Nodes {
		if n.Index != i || p.Frames[n.Frame].Names[n.ID] != i || p.Node(n.Path) != n {
			fail("node %d is %q (%d) in frame %d", i, n.Path, n.Index, n.Frame)
		}
		for _, d := range n.Dependencies {
			if position[d] >= position[i] {
				fail("%s comes before %s, which it depends on", n.Path, p.Nodes[d].Path)
			}
			if !slices.Contains(p.Nodes[d].Dependents, i) {
				fail("%s does not know its dependent %s", p.Nodes[d].Path, n.Path)
			}
			if p.Nodes[d].Kind == Patch && n.Kind != Subgraph {
				fail("%s depends on the patch %s", n.Path, p.Nodes[d].Path)
			}
		}
		for _, d := range slices.Concat(n.Conditional, n.IncludeDependencies) {
			if !slices.Contains(n.Dependencies, d) {
				fail("%s: %s is no dependency", n.Path, p.Nodes[d].Path)
			}
		}
		for _, d := range n.Deferred {
			if slices.Contains(n.Dependencies, d) {
				fail("%s: %s is deferred and a dependency", n.Path, p.Nodes[d].Path)
			}
		}
		if f := p.Frames[n.Frame]; f.Node >= 0 && (!slices.Contains(p.Nodes[f.Node].Dependencies, i) || p.Nodes[f.Node].Frame != f.Parent) {
			fail("%s does not hold up the graph that it is in", n.Path)
		}
	}
}

func TestEveryNode(t *testing.T) {
	var program string
	for range 20 {
		p, faults := compileGraph(t, everyNode)
		if len(faults) > 0 {
			t.Fatal(faults.Error())
		}
		checkProgram(p, t.Errorf)
		if program == "" {
			program = dump(t, p)
		}
		if diff := cmp.Diff(program, dump(t, p)); diff != "" {
			t.Fatal(diff)
		}
	}
}

// TestMutationsOfGraphs: a Graph in which arbitrary parts are replaced compiles to a sound program, or is refused with
// faults that are the document's.
func TestMutationsOfGraphs(t *testing.T) {
	odd := []any{nil, "", "x", "${", "${}", "${Seed}", "${inner.deep}", "a${values.a}b", "${omit()}", "${defer(last)}", "${defer(Seed.data.a)}", "${all[0]}", "${runtime}", "${{}}", "${null}",
		"${told}", "${true ? Seed.data.a : values.a}", int64(0), -1.5, true, []any{}, []any{nil}, map[string]any{}, map[string]any{"${Seed.data.a}": nil},
		map[string]any{"nodes": []any{map[string]any{"id": "Seed", "def": map[string]any{"v": "${values.a}"}}}}, "apps/v1", "ConfigMap", "each", "Seed"}
	kinds := schema.Join(own(t), schema.Embedded())
	rapid.Check(t, func(rt *rapid.T) {
		tree := jsonValue(t, everyNode)
		for range rapid.IntRange(1, 4).Draw(rt, "mutations") {
			tree = mutate(rt, tree, odd)
		}
		data, err := json.Marshal(tree)
		if err != nil {
			rt.Fatal(err)
		}
		spec := &v1alpha1.GraphSpec{}
		if err := json.Unmarshal(data, spec); err != nil {
			return // the API server refuses it
		}
		program, faults := Compile(FromGraph("mutant", "home", spec), Env{Kinds: kinds})
		if (program == nil) != (len(faults) > 0) {
			rt.Fatalf("a program beside faults, or neither: %v", faults)
		}
		for _, f := range faults {
			if f.Code == CodeInternal || f.Path == "" || f.Message == "" {
				rt.Fatalf("%+v in\n%s", f, data)
			}
		}
		if program != nil {
			checkProgram(program, rt.Fatalf)
		}
	})
}

// FuzzCompileGraph: whatever a Graph holds, Compile answers with a sound program or with faults, the same each time, and
// none of them is its own.
func FuzzCompileGraph(f *testing.F) {
	for _, seed := range []string{
		"", everyNode, "nodes: []", "nodes: [{}]", "nodes: [{id: a, graph: {nodes: [null, {id: a, graph: 3}]}}]",
		"nodes: [{id: a, graph: [1]}, {id: a, graph: {nodes: [{id: b, def: {v: '${a}'}}]}}]",
		"nodes: [{id: a, ref: {apiVersion: '${b}', kind: '${', metadata: {selector: 3}}}, {id: b, def: {'${a}': {'${b}': 1}}}]",
		"nodes: [{id: a, patch: {apiVersion: v1, kind: Pod, metadata: 3, status: {}}}, {id: b, patch: null}, {id: c, patch: {'${a}': 1}}]",
		"nodes: [{id: a, def: {v: '${defer(b.v)}', w: '${c ? b : a}'}}, {id: b, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: '${defer(a)}'}}}]",
	} {
		f.Add([]byte(seed))
	}
	kinds := schema.Join(own(f), schema.Embedded())
	f.Fuzz(func(t *testing.T, data []byte) {
		spec := &v1alpha1.GraphSpec{}
		if err := yaml.Unmarshal(data, spec); err != nil {
			return
		}
		first, faults := Compile(FromGraph("fuzz", "home", spec), Env{Kinds: kinds})
		if (first == nil) != (len(faults) > 0) {
			t.Fatalf("a program beside faults, or neither: %v", faults)
		}
		for _, fault := range faults {
			if fault.Code == CodeInternal {
				t.Fatal(fault.Error())
			}
		}
		second, again := Compile(FromGraph("fuzz", "home", spec), Env{Kinds: kinds})
		if faults.Error() != again.Error() {
			t.Fatalf("two compilations differ:\n%s\n%s", faults.Error(), again.Error())
		}
		if first != nil {
			checkProgram(first, t.Fatalf)
			if dump(t, first) != dump(t, second) {
				t.Fatal("two programs differ")
			}
		}
	})
}
