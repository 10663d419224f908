package graph

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"
	"pgregory.net/rapid"
	"sigs.k8s.io/yaml"

	"kro.run/kro/api/v1alpha1"
	"kro.run/kro/schema"
)

// dump writes all of a program that is data, for comparison to the byte.
func dump(t testing.TB, p *Program) string {
	t.Helper()
	nodes := []string{}
	for _, n := range p.Nodes {
		nodes = append(nodes, fmt.Sprintf("%s %v %v %v %v %v %d %v %v %s %v", n.Path, n.Kind, n.GVK, n.Dependencies, n.IncludeDependencies, n.Dependents, n.ApplyOrder,
			n.Conditional, n.Deferred, n.Subresource, n.ExternalFields))
	}
	crd := ""
	if p.Instance != nil {
		crd = toJSON(t, p.Instance.CRD)
	}
	return strings.Join([]string{p.Hash, crd, fmt.Sprint(p.Frames), strings.Join(nodes, "\n"), fmt.Sprint(p.Order, p.Layers, p.GroupKinds, p.Kinds)}, "\n")
}

func TestDeterministic(t *testing.T) {
	bad := resources(
		configMap("b", "", `{v: "${x1 + x2 + x3}", w: "${schema.spec.nope}", z: 1, y1: 2}`),
		configMap("c", "", `{v: "${d.metadata.name}", w: "${e.metadata.name}"}`),
		configMap("d", "", `{v: "${e.metadata.name}", w: "${c.metadata.name}"}`),
		configMap("e", "", `{v: "${c.metadata.name}", w: "${d.metadata.name}"}`))
	var program, faults string
	for i := range 100 {
		p := mustCompile(t, everything)
		_, ds := compileText(t, bad)
		if i == 0 {
			program, faults = dump(t, p), ds.Error()
			continue
		}
		if diff := cmp.Diff(program, dump(t, p)); diff != "" {
			t.Fatalf("compilation %d differs:\n%s", i, diff)
		}
		if diff := cmp.Diff(faults, ds.Error()); diff != "" {
			t.Fatalf("faults of compilation %d differ:\n%s", i, diff)
		}
	}
}

// TestOneMistakeOneFault: one mistake in a sound definition is one fault, at its place.
func TestOneMistakeOneFault(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(2, 8).Draw(rt, "n")
		wrong := rapid.IntRange(0, n-1).Draw(rt, "wrong")
		mistake := rapid.SampledFrom([]string{`"${schema.spec.nope}"`, `"${1 +}"`, `"${nobody.x}"`, `7`, `"${schema.spec.num}"`, `"${"`}).Draw(rt, "mistake")
		var lines []string
		for i := range n {
			data := fmt.Sprintf(`{v: "${schema.spec.a}", before: "%s"}`, previous(i))
			if i == wrong {
				data = fmt.Sprintf(`{v: %s, before: "%s"}`, mistake, previous(i))
			}
			lines = append(lines, configMap(fmt.Sprintf("cm%d", i), "", data))
		}
		_, faults := compileText(t, resources(lines...))
		if len(faults) != 1 || faults[0].Path != fmt.Sprintf("spec.resources[%d].template.data.v", wrong) {
			rt.Fatalf("%d faults: %s", len(faults), faults.Error())
		}
	})
}

func previous(i int) string {
	if i == 0 {
		return "none"
	}
	return fmt.Sprintf("${cm%d.data.v}", i-1)
}

// TestPanicIsAFault: a panic in whatever Compile calls becomes a fault that names the place, and nothing else.
func TestPanicIsAFault(t *testing.T) {
	p, faults := Compile(FromDefinition("x", parse(t, resources(configMap("cm", "", "{}")))), Env{Kinds: panicking{}})
	if p != nil || len(faults) != 1 || faults[0].Code != CodeInternal {
		t.Fatalf("got %v, %v", p, faults)
	}
	for _, piece := range []string{`reading resource "cm"`, "out of order", "panicking"} {
		if !strings.Contains(faults[0].Message, piece) {
			t.Errorf("the message lacks %q: %s", piece, faults[0].Message)
		}
	}
}

type panicking struct{}

func (panicking) Resolve(kschema.GroupVersionKind) (*schema.Kind, error) { panic("out of order") }

func TestNothingPanics(t *testing.T) {
	for name, src := range map[string]Source{
		"Empty":       {},
		"NoSpec":      FromDefinition("x", nil),
		"NilSchema":   FromDefinition("x", &v1alpha1.ResourceGraphDefinitionSpec{}),
		"EmptySchema": FromDefinition("x", &v1alpha1.ResourceGraphDefinitionSpec{Schema: &v1alpha1.Schema{}}),
		"NilResource": FromDefinition("x", &v1alpha1.ResourceGraphDefinitionSpec{Resources: []*v1alpha1.Resource{nil, {}, {ExternalRef: &v1alpha1.ExternalRef{}}}}),
		"NoJSON":      {API: &APISource{Spec: []byte("{"), Types: []byte("[1"), Status: []byte("3")}, Nodes: []*NodeSource{{Template: []byte("{")}, {Ref: &RefSource{Selector: []byte("}")}}}},
	} {
		t.Run(name, func(t *testing.T) {
			p, faults := Compile(src, Env{})
			if p != nil || len(faults) == 0 {
				t.Fatalf("got a program, or no fault: %v", faults)
			}
			for _, f := range faults {
				if f.Code == CodeInternal {
					t.Error(f.Error())
				}
			}
			src.Kinds()
		})
	}
}

// TestMutations: a definition in which arbitrary parts are replaced compiles, or is refused with faults that are the
// document's.
func TestMutations(t *testing.T) {
	odd := []any{nil, "", "x", "${", "${}", "${schema}", "${schema.spec.a}", "a${1}b", "${omit()}", "${[1][0]}", "${runtime}", "${{}}", "${null}", "${schema.spec.?a}",
		int64(0), -1.5, true, []any{}, []any{nil}, map[string]any{}, map[string]any{"": nil}, []any{map[string]any{"a": "${b}"}}, "apps/v1", "ConfigMap", "each", "node1"}
	kinds := schema.Embedded()
	rapid.Check(t, func(rt *rapid.T) {
		tree := jsonValue(t, rapid.SampledFrom([]string{large(4), everything}).Draw(rt, "seed"))
		for range rapid.IntRange(1, 4).Draw(rt, "mutations") {
			tree = mutate(rt, tree, odd)
		}
		data, err := json.Marshal(tree)
		if err != nil {
			rt.Fatal(err)
		}
		spec := &v1alpha1.ResourceGraphDefinitionSpec{}
		if err := json.Unmarshal(data, spec); err != nil {
			return // the API server refuses it
		}
		program, faults := Compile(FromDefinition("mutant", spec), Env{Kinds: kinds})
		if (program == nil) != (len(faults) > 0) {
			rt.Fatalf("a program beside faults, or neither: %v", faults)
		}
		for _, f := range faults {
			if f.Code == CodeInternal || f.Path == "" || f.Message == "" {
				rt.Fatalf("%+v in\n%s", f, data)
			}
		}
	})
}

// mutate replaces, removes or wraps one value somewhere in a tree.
func mutate(rt *rapid.T, value any, odd []any) any {
	deeper := rapid.IntRange(0, 9).Draw(rt, "deeper") > 0
	switch v := value.(type) {
	case map[string]any:
		if keys := sortedKeys(v); deeper && len(keys) > 0 {
			key := rapid.SampledFrom(keys).Draw(rt, "key")
			if rapid.IntRange(0, 19).Draw(rt, "remove") == 0 {
				delete(v, key)
				return v
			}
			v[key] = mutate(rt, v[key], odd)
			return v
		}
	case []any:
		if deeper && len(v) > 0 {
			i := rapid.IntRange(0, len(v)-1).Draw(rt, "index")
			v[i] = mutate(rt, v[i], odd)
			return v
		}
	}
	return deepCopy(rapid.SampledFrom(odd).Draw(rt, "odd"))
}

// everything has one of each feature.
const everything = `
schema:
  apiVersion: v1
  kind: Thing
  group: example.com
  types: {pair: {left: string, right: integer}}
  spec: {a: string, l: "[]string", p: pair, ps: "[]pair", d: 'integer | default=3 minimum=1'}
  status:
    a: ["${cm.metadata.name}", "x-${cm.metadata.name}"]
    b: {c: "${items1.map(i, i.metadata.name)}"}
    conditions: ["${runtime.newCondition({type: 'Up', status: runtime.condition(schema, 'Ready').status})}"]
  additionalPrinterColumns: [{name: A, type: string, jsonPath: .spec.a}]
  metadata: {labels: {a: b}}
resources:
- id: cm
  includeWhen: ["${schema.spec.a != ''}"]
  readyWhen: ["${cm.data.a == 'b'}"]
  template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${schema.metadata.name}", labels: {a: "${schema.spec.a}"}}, data: {a: b}}
- id: items1
  forEach: [{v: "${schema.spec.ps}"}, {w: "${schema.spec.l}"}]
  readyWhen: ["${each.data.a == 'b'}"]
  template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${v.left}-${w}", namespace: x}, data: {a: "${string(v.right)}"}}
- id: one
  externalRef: {apiVersion: v1, kind: Secret, metadata: {name: "${cm.metadata.name}", namespace: a}}
- id: many
  readyWhen: ["${each.metadata.name != ''}"]
  externalRef: {apiVersion: apps/v1, kind: Deployment, metadata: {selector: {matchLabels: {a: "${schema.spec.a}"}, matchExpressions: [{key: a, operator: In, values: ["${cm.data.a}"]}]}}}
- id: cfg
  forEach: [{v: "${schema.spec.l}"}]
  def: {v: "${v}", labels: {a.b/c: "${schema.spec.a}", "${v}": 1}, from: "${schema.spec.a == '' ? one.data.?x.hasValue() : cm.data.a == ''}"}
- id: contribution
  includeWhen: ["${cfg.size() > 0}"]
  patch: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${cfg[0].v}", annotations: {uid: "${defer(late.metadata.uid)}"}}}
- id: late
  deletionPolicy: Orphaned
  externalFields: [data.a]
  template: {apiVersion: v1, kind: ConfigMap, metadata: {name: late}, data: {a: "${cfg[0].v}", "${schema.spec.a}": b}}
- id: crd
  template: {apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: "a.${schema.spec.a}"}, spec: {group: a}}
`

// FuzzCompile: whatever a definition holds, Compile answers with a program or with faults, the same each time, and
// none of them is its own.
func FuzzCompile(f *testing.F) {
	for _, seed := range []string{
		head, everything, large(3), withStatus(`{a: "${cm.metadata.name}", conditions: ["${runtime.newCondition({type: 'A', status: 'True'})}"]}`),
		resources(configMap("b", `forEach: [{v: "${schema.spec.l}"}], includeWhen: ["${true}"], readyWhen: ["${each.data.x == ''}"]`, `{x: "${v}"}`)),
		"schema: {apiVersion: v1, kind: A, spec: {x: {z: [1]}}, types: {T: T}, status: [1, null]}\nresources: [null, {id: x, template: null}, {id: x, externalRef: {metadata: {selector: 3}}}]",
		"schema:\n  spec: 3\n  status: {conditions: {a: 1}}\nresources:\n- template: {apiVersion: v1, kind: ConfigMap, metadata: {name: [1], labels: 3, annotations: [a]}}",
	} {
		f.Add([]byte(seed))
	}
	kinds := schema.Embedded()
	f.Fuzz(func(t *testing.T, data []byte) {
		spec := &v1alpha1.ResourceGraphDefinitionSpec{}
		if err := yaml.Unmarshal(data, spec); err != nil {
			return
		}
		first, faults := Compile(FromDefinition("fuzz", spec), Env{Kinds: kinds})
		if (first == nil) != (len(faults) > 0) {
			t.Fatalf("a program beside faults, or neither: %v", faults)
		}
		for _, fault := range faults {
			if fault.Code == CodeInternal {
				t.Fatal(fault.Error())
			}
		}
		second, again := Compile(FromDefinition("fuzz", spec), Env{Kinds: kinds})
		if faults.Error() != again.Error() {
			t.Fatalf("two compilations differ:\n%s\n%s", faults.Error(), again.Error())
		}
		if first != nil && dump(t, first) != dump(t, second) {
			t.Fatal("two programs differ")
		}
		if first != nil {
			if _, err := json.Marshal(first.Instance.CRD); err != nil {
				t.Fatalf("the CRD cannot be written: %v", err)
			}
		}
	})
}
