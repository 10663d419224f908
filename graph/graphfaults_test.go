package graph

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestFaultsOfGraphs: what a Graph must not be, each told once, at its place.
func TestFaultsOfGraphs(t *testing.T) {
	const seed = `{id: seed, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: seed}}}`
	const ns = `{id: nss, ref: {apiVersion: v1, kind: Namespace, metadata: {selector: {}}}}`
	cm := func(id, rest string) string {
		return `{id: ` + id + `, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: x}` + rest + `}}`
	}
	cases := map[string]struct {
		nodes []string
		wants []want
	}{
		"a reserved id":                    {[]string{cm("spec", "")}, one("spec.nodes[0].id", `naming convention violation: id spec is a reserved keyword`)},
		"an id with a dash":                {[]string{cm("a-b", "")}, one("spec.nodes[0].id", "letters and digits")},
		"an id twice":                      {[]string{seed, seed}, one("spec.nodes[1].id", "found duplicate node IDs seed", "spec.nodes[0] has it already")},
		"nothing":                          {[]string{`{id: a}`}, one("spec.nodes[0]", "exactly one of template, ref, def, graph, patch must be set")},
		"two things":                       {[]string{`{id: a, def: {x: 1}, patch: {apiVersion: v1, kind: ConfigMap, metadata: {name: x}, data: {a: b}}}`}, one("spec.nodes[0]", "exactly one of", "got def, patch")},
		"ref and watch":                    {[]string{`{id: a, ref: {apiVersion: v1, kind: ConfigMap, metadata: {name: x}}, watch: {apiVersion: v1, kind: ConfigMap, metadata: {selector: {}}}}`}, one("spec.nodes[0]", "got ref, watch")},
		"ref with forEach":                 {[]string{`{id: a, forEach: [{x: "${[1]}"}], ref: {apiVersion: v1, kind: ConfigMap, metadata: {name: x}}}`}, one("spec.nodes[0]", "cannot use ref with forEach")},
		"patch with readyWhen":             {[]string{`{id: a, readyWhen: ["${true}"], patch: {apiVersion: v1, kind: ConfigMap, metadata: {name: x}, data: {a: b}}}`}, one("spec.nodes[0]", "cannot use patch with readyWhen")},
		"graph with forEach":               {[]string{`{id: a, forEach: [{x: "${[1]}"}], graph: {nodes: [` + seed + `]}}`}, one("spec.nodes[0]", "cannot use graph with forEach", "put it on the nodes")},
		"graph with includeWhen":           {[]string{`{id: a, includeWhen: ["${true}"], graph: {nodes: [` + seed + `]}}`}, one("spec.nodes[0]", "cannot use graph with includeWhen")},
		"graph with readyWhen":             {[]string{`{id: a, readyWhen: ["${true}"], graph: {nodes: [` + seed + `]}}`}, one("spec.nodes[0]", "cannot use graph with readyWhen")},
		"def with deletionPolicy":          {[]string{`{id: a, deletionPolicy: Orphaned, def: {x: 1}}`}, one("spec.nodes[0]", "cannot use def with deletionPolicy")},
		"watch by name":                    {[]string{`{id: a, watch: {apiVersion: v1, kind: ConfigMap, metadata: {name: x}}}`}, one("spec.nodes[0].watch.metadata", "a selector must be provided", "use ref")},
		"a selector of the wrong shape":    {[]string{`{id: a, ref: {apiVersion: v1, kind: ConfigMap, metadata: {selector: {labels: {a: b}}}}}`}, one("spec.nodes[0].ref.metadata.selector.labels", "schema not found for field labels")},
		"no name":                          {[]string{`{id: a, template: {apiVersion: v1, kind: ConfigMap, metadata: {}}}`}, one("spec.nodes[0].template.metadata.name", `node "a" must set metadata.name`, "unique in its namespace")},
		"no apiVersion":                    {[]string{`{id: a, template: {kind: ConfigMap, metadata: {name: x}}}`}, one("spec.nodes[0].template.apiVersion", "not found")},
		"an unknown kind":                  {[]string{`{id: a, template: {apiVersion: example.com/v1, kind: Widget, metadata: {name: x}}}`}, one("spec.nodes[0].template", "failed to get schema for node a", "the graph is tried again")},
		"an odd version":                   {[]string{`{id: a, template: {apiVersion: a/b/c, kind: Widget, metadata: {name: x}}}`}, one("spec.nodes[0].template", "failed to extract GVK from node a")},
		"a namespace of what has none":     {[]string{`{id: a, template: {apiVersion: v1, kind: Namespace, metadata: {name: x, namespace: z}}}`}, one("spec.nodes[0].template.metadata.namespace", `node "a" is cluster-scoped`)},
		"kro's own labels":                 {[]string{`{id: a, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: x, labels: {kro.run/a: b}}}}`}, one(`spec.nodes[0].template.metadata.labels["kro.run/a"]`, "reserved for internal use")},
		"CEL in the body of a CRD":         {[]string{seed, `{id: a, template: {apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: x}, spec: {group: "${seed.metadata.name}"}}}`}, one("spec.nodes[1].template.spec.group", "only supported for metadata fields")},
		"a patch of two endpoints":         {[]string{`{id: a, patch: {apiVersion: v1, kind: Pod, metadata: {name: x, labels: {a: b}}, status: {phase: Running}}}`}, one("spec.nodes[0].patch", "two endpoints", "metadata.labels")},
		"a patch of nothing":               {[]string{`{id: a, patch: {apiVersion: v1, kind: Pod, metadata: {name: x, namespace: z}}}`}, one("spec.nodes[0].patch", "contributes nothing")},
		"a patch of owners":                {[]string{`{id: a, patch: {apiVersion: v1, kind: Pod, metadata: {name: x, ownerReferences: []}}}`}, one("spec.nodes[0].patch.metadata.ownerReferences", "cannot be contributed")},
		"a patch of finalizers":            {[]string{`{id: a, patch: {apiVersion: v1, kind: Pod, metadata: {name: x, finalizers: [a/b]}}}`}, one("spec.nodes[0].patch.metadata.finalizers", "cannot be contributed")},
		"a patch of a misspelt field":      {[]string{`{id: a, patch: {apiVersion: v1, kind: ConfigMap, metadata: {name: x}, dat: {a: b}}}`}, one("spec.nodes[0].patch.dat", "did you mean data?")},
		"a patch is read":                  {[]string{`{id: p, patch: {apiVersion: v1, kind: ConfigMap, metadata: {name: x}, data: {a: b}}}`, cm("a", `, data: {v: "${p.metadata.name}"}`)}, one("spec.nodes[1].template.data.v", `references "p", which is a patch`)},
		"an unknown name":                  {[]string{seed, cm("a", `, data: {v: "${sed.metadata.name}"}`)}, one("spec.nodes[1].template.data.v", "references unknown identifiers: [sed]", "did you mean seed?")},
		"there is no instance":             {[]string{cm("a", `, data: {v: "${schema.metadata.name}"}`)}, one("spec.nodes[0].template.data.v", "references unknown identifiers: [schema]")},
		"an unknown function":              {[]string{cm("a", `, data: {v: "${shout('a')}"}`)}, one("spec.nodes[0].template.data.v", "uses unknown functions")},
		"a type that does not fit":         {[]string{seed, cm("a", `, data: {v: "${seed.metadata.labels.size()}"}`)}, one("spec.nodes[1].template.data.v", `type mismatch in node "a"`)},
		"readyWhen of another":             {[]string{seed, `{id: d, def: {x: 1}, readyWhen: ["${seed.metadata.name == 'a'}"]}`}, one("spec.nodes[1].readyWhen[0]", "references unknown identifiers: [seed]")},
		"readyWhen that is no bool":        {[]string{`{id: d, def: {x: 1}, readyWhen: ["${d.x}"]}`}, one("spec.nodes[0].readyWhen[0]", `must return bool or optional_type(bool), but returns "int"`)},
		"forEach over no list":             {[]string{seed, `{id: d, forEach: [{x: "${seed.metadata.name}"}], def: {v: "${x}"}}`}, one("spec.nodes[1].forEach[0].x", "must return a list")},
		"forEach over another iterator":    {[]string{`{id: d, forEach: [{a: "${[[1]]}"}, {b: "${a}"}], def: {v: "${b}"}}`}, one("spec.nodes[0].forEach[1].b", "cannot reference other iterators")},
		"an iterator named like a node":    {[]string{seed, `{id: d, forEach: [{seed: "${[1]}"}], def: {v: "${seed}"}}`}, one("spec.nodes[1].forEach[0]", "conflicts with node ID")},
		"an iterator named each":           {[]string{`{id: d, forEach: [{each: "${[1]}"}], def: {v: 1}}`}, one("spec.nodes[0].forEach[0]", "reserved")},
		"an iterator out of the identity":  {[]string{ns, `{id: a, forEach: [{one: "${nss}"}], template: {apiVersion: v1, kind: ConfigMap, metadata: {name: x}, data: {a: "${one.metadata.name}"}}}`}, one("spec.nodes[1].forEach", "missing: [one]")},
		"the same of a patch":              {[]string{ns, `{id: a, forEach: [{one: "${nss}"}], patch: {apiVersion: v1, kind: ConfigMap, metadata: {name: x}, data: {a: "${one.metadata.name}"}}}`}, one("spec.nodes[1].forEach", "missing: [one]")},
		"omit in a name":                   {[]string{seed, `{id: a, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${seed.data.?a.orValue(omit())}"}}}`}, one("spec.nodes[1].template.metadata.name", "omit() cannot be used")},
		"omit in forEach":                  {[]string{`{id: d, forEach: [{x: "${[omit()]}"}], def: {v: "${x}"}}`}, one("spec.nodes[0].forEach[0].x", "omit() can only be used")},
		"omit in includeWhen":              {[]string{`{id: d, includeWhen: ["${omit()}"], def: {v: 1}}`}, one("spec.nodes[0].includeWhen[0]", "omit() can only be used")},
		"a cycle":                          {[]string{`{id: a, def: {v: "${b.v}"}}`, `{id: b, def: {v: "${a.v}"}}`}, one("spec.nodes[0]", "graph contains a cycle: a -> b -> a", "defer")},
		"a cycle through a frame":          {[]string{`{id: g, graph: {nodes: [{id: a, def: {v: "${g}"}}]}}`}, one("spec.nodes[0]", "g -> g/a -> g")},
		"itself":                           {[]string{`{id: a, def: {v: "${a.v}"}}`}, one("spec.nodes[0].def.v", "self references are not allowed")},
		"unterminated":                     {[]string{`{id: a, def: {v: "${a"}}`}, one("spec.nodes[0].def.v", "failed to parse")},
		"nested":                           {[]string{`{id: a, def: {v: "${a + ${b}}"}}`}, one("spec.nodes[0].def.v", "nested expressions are not allowed")},
		"a def that is a list":             {[]string{`{id: a, graph: {nodes: [{id: d, def: {x: 1}}, {id: e, def: [1]}]}}`}, one("spec.nodes[0].graph.nodes[1].def", "def must be an object, got array")},
		"an inline graph without nodes":    {[]string{`{id: g, graph: {}}`}, one("spec.nodes[0].graph", "the graph has no nodes")},
		"an inline graph of other fields":  {[]string{`{id: g, graph: {nodes: [{id: a, def: {}}], name: x}}`}, one("spec.nodes[0].graph", `unknown field "name"`)},
		"an inline node of other fields":   {[]string{`{id: g, graph: {nodes: [{id: a, definition: {}}]}}`}, one("spec.nodes[0].graph", `unknown field`, "definition")},
		"an inline node that is null":      {[]string{`{id: g, graph: {nodes: [null, {id: a, def: {}}]}}`}, one("spec.nodes[0].graph.nodes[0]", "the node is null")},
		"a fault in a frame in a frame":    {[]string{`{id: g, graph: {nodes: [{id: h, graph: {nodes: [{id: spec, def: {}}]}}]}}`}, one("spec.nodes[0].graph.nodes[0].graph.nodes[0].id", "reserved")},
		"an inner name from outside":       {[]string{`{id: g, graph: {nodes: [{id: a, def: {v: 1}}]}}`, `{id: b, def: {v: "${a.v}"}}`}, one("spec.nodes[1].def.v", "references unknown identifiers: [a]")},
		"a child that is not there":        {[]string{`{id: g, graph: {nodes: [{id: a, def: {v: 1}}]}}`, `{id: b, def: {v: "${g.c.v}"}}`}, one("spec.nodes[1].def.v", "undefined field 'c'")},
		"two frames in one expression":     {[]string{seed, `{id: g, graph: {nodes: [{id: a, def: {v: x}}, {id: b, def: {v: "${seed.metadata.name + a.v}"}}]}}`}, one("spec.nodes[1].graph.nodes[1].def.v", `reads nodes of different graphs: "g/a" and "seed"`, "with a def")},
		"a field that is not in a def":     {[]string{`{id: d, def: {port: 80}}`, `{id: e, def: {v: "${d.prt}"}}`}, one("spec.nodes[1].def.v", "undefined field 'prt'")},
		"a value without a JSON form":      {[]string{`{id: d, def: {q: "${quantity('1Gi')}"}}`}, one("spec.nodes[0].def.q", "have no JSON form", "string(")},
		"a computed key of a struct":       {[]string{seed, cm("a", `, "${seed.metadata.name}": x`)}, one(`spec.nodes[1].template["${seed.metadata.name}"]`, "cannot be computed")},
		"a computed key in metadata":       {[]string{seed, `{id: a, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: x, "${seed.metadata.name}": x}}}`}, one(`spec.nodes[1].template.metadata["${seed.metadata.name}"]`, "fixed fields")},
		"a computed key that is no text":   {[]string{cm("a", `, data: {"${1}": x}`)}, one(`spec.nodes[0].template.data["${1}"]`, `returns type "int" but expected "string"`)},
		"a value that does not fit a key":  {[]string{cm("a", `, data: {"${'a'}": 1}`)}, one(`spec.nodes[0].template.data["${'a'}"]`, "expected string type")},
		"an unterminated key":              {[]string{cm("a", `, data: {"${'a'": b}`)}, one(`spec.nodes[0].template.data["${'a'"]`, "failed to parse the key")},
		"defer in text":                    {[]string{seed, cm("a", `, data: {v: "x-${defer(seed.metadata.uid)}"}`)}, one("spec.nodes[1].template.data.v", "defer() must be the whole expression")},
		"defer in an expression":           {[]string{seed, cm("a", `, data: {v: "${'x' + defer(seed.metadata.uid)}"}`)}, one("spec.nodes[1].template.data.v", "defer() must be the whole expression")},
		"defer in a name":                  {[]string{seed, `{id: a, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${defer(seed.metadata.uid)}"}}}`}, one("spec.nodes[1].template.metadata.name", "which object it is")},
		"defer in a def":                   {[]string{seed, `{id: d, def: {v: "${defer(seed.metadata.uid)}"}}`}, one("spec.nodes[1].def.v", "only be used in fields of a template or a patch")},
		"defer in includeWhen":             {[]string{seed, `{id: d, includeWhen: ["${defer(seed.metadata.name) == 'a'}"], def: {v: 1}}`}, one("spec.nodes[1].includeWhen[0]", "only be used in fields")},
		"defer in readyWhen":               {[]string{`{id: d, readyWhen: ["${defer(d.v == 1)}"], def: {v: 1}}`}, one("spec.nodes[0].readyWhen[0]", "only be used in fields")},
		"defer in forEach":                 {[]string{`{id: d, forEach: [{x: "${defer([1])}"}], def: {v: "${x}"}}`}, one("spec.nodes[0].forEach[0].x", "only be used in fields")},
		"defer in a key":                   {[]string{seed, cm("a", `, data: {"${defer(seed.metadata.uid)}": x}`)}, one(`spec.nodes[1].template.data["${defer(seed.metadata.uid)}"]`, "only be used in fields")},
		"defer in the name of a reference": {[]string{seed, `{id: r, ref: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${defer(seed.metadata.uid)}"}}}`}, one("spec.nodes[1].ref.metadata.name", "only be used in fields")},
		"defer of itself":                  {[]string{cm("a", `, data: {v: "${defer(a.metadata.uid)}"}`)}, one("spec.nodes[0].template.data.v", "self references are not allowed")},
		"defer of what does not fit":       {[]string{seed, cm("a", `, data: {v: "${defer(1)}"}`)}, one("spec.nodes[1].template.data.v", "type mismatch")},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p, faults := compileGraph(t, nodes(tc.nodes...))
			if (p == nil) != (len(faults) > 0) {
				t.Fatalf("program %v beside %d faults", p != nil, len(faults))
			}
			var got, wanted []string
			for _, f := range faults {
				got = append(got, f.Path)
			}
			for _, w := range tc.wants {
				wanted = append(wanted, w.path)
			}
			if diff := cmp.Diff(wanted, got); diff != "" {
				t.Fatalf("places of faults: -want, +got:\n%s\n%s", diff, faults.Error())
			}
			for i, w := range tc.wants {
				text := faults[i].Error()
				for _, piece := range w.pieces {
					if !strings.Contains(text, piece) {
						t.Errorf("the fault lacks %q:\n%s", piece, text)
					}
				}
				if strings.Contains(strings.ReplaceAll(text, "omit() can only be used in resource template", ""), `resource "`) || strings.Contains(text, "resourcegraphdefinition") || faults[i].Code == CodeInternal {
					t.Errorf("a fault of a Graph speaks of something else:\n%s", text)
				}
			}
		})
	}
}

func TestAGraphWithoutNodes(t *testing.T) {
	if _, faults := compileGraph(t, "nodes: []"); len(faults) != 1 || faults[0].Path != "spec.nodes" {
		t.Error(faults.Error())
	}
}

// TestDeepGraphs: a hostile nesting is refused, and costs little.
func TestDeepGraphs(t *testing.T) {
	deep := func(n int) string {
		return "nodes: " + strings.Repeat("[{id: g, graph: {nodes: ", n) + "[{id: d, def: {}}]" + strings.Repeat("}}]", n)
	}
	if _, faults := compileGraph(t, deep(maxDepth)); len(faults) > 0 {
		t.Error(faults.Error())
	}
	if _, faults := compileGraph(t, deep(maxDepth+1)); len(faults) != 1 || !strings.Contains(faults[0].Message, "nested more than 100 deep") {
		t.Error(faults.Error())
	}
}
