package engine

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"kro.run/kro/api/v1alpha1"
	"kro.run/kro/graph"
	"kro.run/kro/schema"
)

const inlineGraph = `
nodes:
- {id: says, def: {never: "${false}", always: "${true}"}}
- id: g
  graph:
    nodes:
    - {id: gone, includeWhen: ["${says.never}"], template: {apiVersion: v1, kind: ConfigMap, metadata: {name: gone}, data: {v: "1"}}}
    - {id: here, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: here}, data: {v: "1"}}}
    - id: deep
      graph: {nodes: [{id: gone, includeWhen: ["${says.never}"], def: {v: "1"}}, {id: here, def: {v: "2"}}]}
`

// Who needs a child of an inline graph that is excluded is excluded as well: waiting for it would never end.
func TestExcludedChildrenOfInlineGraphs(t *testing.T) {
	for reason, c := range map[string]struct{ node, want string }{
		"a field of it":                  {`{id: user, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: user}, data: {v: "${g.gone.data.v}"}}}`, "excluded"},
		"the other one is there":         {`{id: user, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: user}, data: {v: "${g.here.data.v}"}}}`, "observed"},
		"two levels down":                {`{id: user, def: {v: "${g.deep.gone.v}"}}`, "excluded"},
		"two levels down, another":       {`{id: user, def: {v: "${g.deep.here.v}"}}`, "observed"},
		"in items":                       {`{id: user, forEach: [{i: "${[1, 2]}"}], def: {v: "${g.gone.data.v + string(i)}"}}`, "excluded"},
		"in the list of a collection":    {`{id: user, forEach: [{i: "${[g.gone.data.v]}"}], def: {v: "${i}"}}`, "excluded"},
		"in a condition":                 {`{id: user, includeWhen: ["${g.gone.data.v == '1'}"], def: {v: x}}`, "excluded"},
		"in what a reference names":      {`{id: user, ref: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${g.gone.data.v}"}}}`, "excluded"},
		"on the branch that is taken":    {`{id: user, def: {v: "${says.never ? 'x' : g.gone.data.v}"}}`, "excluded"},
		"on the other branch":            {`{id: user, def: {v: "${says.always ? 'x' : g.gone.data.v}"}}`, "observed"},
		"with something in its stead":    {`{id: user, def: {v: "${g.?gone.?data.?v.orValue('none')}"}}`, "observed"},
		"asked whether it is there":      {`{id: user, def: {v: "${has(g.gone) ? 'yes' : 'no'}"}}`, "observed"},
		"the graph as a whole":           {`{id: user, def: {v: "${g}"}}`, "observed"},
		"data that may come are awaited": {`{id: user, def: {v: "${g.here.data.later}"}}`, "waiting"},
	} {
		t.Run(reason, func(t *testing.T) {
			var spec v1alpha1.GraphSpec
			if err := yaml.UnmarshalStrict([]byte(inlineGraph+"- "+c.node+"\n"), &spec); err != nil {
				t.Fatal(err)
			}
			program, faults := graph.Compile(graph.FromGraph("test", "home", &spec), graph.Env{Kinds: schema.Embedded()})
			if len(faults) > 0 {
				t.Fatal(faults.Error())
			}
			w := &world{t: t, program: program, objects: map[string]map[string]any{"1": {}}, options: Options{Gate: GateScope}}
			got := ""
			outcome := w.run()
			for _, n := range outcome.Nodes {
				if n.Node.ID == "user" {
					got = phases(Outcome{Nodes: []NodeOutcome{n}})
				}
			}
			if diff := cmp.Diff("user:"+c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s%s", diff, outcome.Message)
			}
		})
	}
}
