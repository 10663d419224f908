package instance

import (
	"fmt"
	"strings"

	kschema "k8s.io/apimachinery/pkg/runtime/schema"
	"pgregory.net/rapid"
	"sigs.k8s.io/yaml"

	"kro.run/kro/api/v1alpha1"
	"kro.run/kro/graph"
	"kro.run/kro/schema"
)

var (
	thingGVR = kschema.GroupVersionResource{Group: "sim.example.com", Version: "v1", Resource: "things"}
	itemGVR  = kschema.GroupVersionResource{Group: "sim.example.com", Version: "v1", Resource: "items"}
	simsGVR  = kschema.GroupVersionResource{Group: "sim.example.com", Version: "v1alpha1", Resource: "sims"}
)

// simKinds are the kinds that generated graphs are made of.
var simKinds = func() schema.Resolver {
	open := &schema.Node{Type: "object", PreserveUnknown: true}
	kind := func(name, plural string) *schema.Kind {
		return &schema.Kind{
			GVK:      kschema.GroupVersionKind{Group: "sim.example.com", Version: "v1", Kind: name},
			Resource: plural, Namespaced: true, Fingerprint: name,
			Schema: &schema.Node{Type: "object", Properties: map[string]*schema.Node{
				"apiVersion": {Type: "string"}, "kind": {Type: "string"}, "metadata": schema.ObjectMeta(), "spec": open, "status": open,
			}},
		}
	}
	return schema.Static(kind("Thing", "things"), kind("Item", "items"))
}()

// simMapper maps the kinds of generated graphs.
type simMapper struct{}

func (simMapper) Mapping(gk kschema.GroupKind) (kschema.GroupVersionResource, bool, error) {
	switch gk.Kind {
	case "Thing":
		return thingGVR, true, nil
	case "Item":
		return itemGVR, true, nil
	}
	return kschema.GroupVersionResource{}, false, &schema.NotFoundError{GVK: gk.WithVersion("")}
}

const simSchema = `
schema:
  apiVersion: v1alpha1
  kind: Sim
  group: sim.example.com
  spec: {v: string, a: boolean, b: boolean, names: "[]string"}
  status: {first: "%s"}
resources:
`

// drawProgram makes a graph of up to six nodes: chains and branches, collections, references by name and by selector,
// conditions over the instance and over nodes, readiness.
func drawProgram(t *rapid.T, label string) *graph.Program {
	n := rapid.IntRange(1, 6).Draw(t, label+" nodes")
	var b strings.Builder
	fmt.Fprintf(&b, simSchema, "${schema.spec.v}")
	var earlier []simNode
	for i := range n {
		node := drawNode(t, i, earlier, label)
		b.WriteString(node.yaml)
		earlier = append(earlier, node)
	}
	return simProgram(t, b.String())
}

// simProgram compiles the text of a definition.
func simProgram(t failer, text string) *graph.Program {
	t.Helper()
	var spec v1alpha1.ResourceGraphDefinitionSpec
	if err := yaml.UnmarshalStrict([]byte(text), &spec); err != nil {
		t.Fatalf("definition: %v\n%s", err, text)
	}
	program, faults := graph.Compile(graph.FromDefinition("sim", &spec), graph.Env{Kinds: simKinds})
	if len(faults) > 0 {
		t.Fatalf("definition: %v\n%s", faults, text)
	}
	return program
}

type simNode struct {
	id, yaml string
	list     bool
}

func drawNode(t *rapid.T, i int, earlier []simNode, label string) simNode {
	node := simNode{id: fmt.Sprintf("n%d", i)}
	label = label + " " + node.id
	value := "${schema.spec.v}"
	if len(earlier) > 0 && rapid.Bool().Draw(t, label+" refers") {
		value = rapid.SampledFrom(earlier).Draw(t, label+" to").read()
	}
	var b strings.Builder
	fmt.Fprintf(&b, "- id: %s\n", node.id)
	switch rapid.IntRange(0, 4).Draw(t, label+" include") {
	case 0:
		b.WriteString("  includeWhen: [\"${schema.spec.a}\"]\n")
	case 1:
		if len(earlier) > 0 && !earlier[0].list {
			fmt.Fprintf(&b, "  includeWhen: [\"${%s.spec.?v.orValue('') != 'off'}\"]\n", earlier[0].id)
		}
	}
	kind := rapid.SampledFrom([]string{"Thing", "Item"}).Draw(t, label+" kind")
	switch rapid.IntRange(0, 7).Draw(t, label+" form") {
	case 0:
		fmt.Fprintf(&b, "  externalRef: {apiVersion: sim.example.com/v1, kind: Item, metadata: {name: outside-%d}}\n", i%2)
	case 1:
		node.list = true
		fmt.Fprintf(&b, "  externalRef: {apiVersion: sim.example.com/v1, kind: Item, metadata: {namespace: ns, selector: {matchLabels: {outside: \"yes\"}}}}\n")
	case 2, 3:
		node.list = true
		if rapid.Bool().Draw(t, label+" ready") {
			b.WriteString("  readyWhen: [\"${each.status.ready == true}\"]\n")
		}
		b.WriteString("  forEach: [{name: \"${schema.spec.names}\"}]\n")
		fmt.Fprintf(&b, "  template: {apiVersion: sim.example.com/v1, kind: %s, metadata: {name: \"${schema.metadata.name}-%s-${name}\"}, spec: {v: \"%s\"}}\n", kind, node.id, value)
	default:
		if rapid.Bool().Draw(t, label+" ready") {
			fmt.Fprintf(&b, "  readyWhen: [\"${%s.status.ready == true}\"]\n", node.id)
		}
		extra := ""
		if rapid.Bool().Draw(t, label+" extra") {
			extra = ", more: {x: y}"
		}
		fmt.Fprintf(&b, "  template: {apiVersion: sim.example.com/v1, kind: %s, metadata: {name: \"${schema.metadata.name}-%s\"}, spec: {v: \"%s\"%s}}\n", kind, node.id, value, extra)
	}
	node.yaml = b.String()
	return node
}

// read is an expression over the node that another may use.
func (n simNode) read() string {
	if n.list {
		return fmt.Sprintf("${string(size(%s))}", n.id)
	}
	return fmt.Sprintf("${%s.spec.v}", n.id)
}
