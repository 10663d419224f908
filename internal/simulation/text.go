package simulation

import (
	"fmt"
	"strings"

	"pgregory.net/rapid"
)

// Input is what the user asks for: the spec of an instance, or in a Graph the node named input.
type Input struct {
	V     string
	A     bool
	Names []string
}

func drawInput(t *rapid.T, label string) Input {
	return Input{
		V: rapid.SampledFrom([]string{"1", "2", "off"}).Draw(t, label+" v"), A: rapid.Bool().Draw(t, label+" a"),
		Names: rapid.SliceOfNDistinct(rapid.SampledFrom(Targets), 0, 3, rapid.ID[string]).Draw(t, label+" names"),
	}
}

// Object is the input as fields.
func (in Input) Object() map[string]any {
	names := make([]any, len(in.Names))
	for i, n := range in.Names {
		names[i] = n
	}
	return map[string]any{"v": in.V, "a": in.A, "names": names}
}

// definitionHead is the schema of a generated definition; what comes after are resources.
const definitionHead = `
schema:
  apiVersion: v1alpha1
  kind: Sim
  group: sim.example.com
  spec: {v: string, a: boolean, names: "[]string"}
  status: {first: "${schema.spec.v}"%s}
resources:
`

// Definition is the spec of a ResourceGraphDefinition with the nodes.
func (nodes Nodes) Definition() string {
	more := ""
	if all := readable(nodes); len(all) > 0 {
		more = fmt.Sprintf(", second: %q", "${"+nodes.read(all[len(all)-1], "")+"}")
	}
	return fmt.Sprintf(definitionHead, more) + nodes.text("schema.spec", "externalRef")
}

// Graph is the spec of a Graph with the nodes. The input is a node of its own.
func (nodes Nodes) Graph(in Input) string {
	input := fmt.Sprintf("- {id: input, def: {v: %q, a: %t, names: [%s]}}\n", in.V, in.A, strings.Join(in.Names, ", "))
	return "nodes:\n" + input + nodes.text("input", "ref")
}

func (nodes Nodes) text(input, ref string) string {
	var b strings.Builder
	for _, n := range nodes {
		w := writer{all: nodes, input: input, ref: ref}
		b.WriteString(w.node(n, ""))
	}
	return b.String()
}

// writer puts nodes into the words of one front door.
type writer struct {
	all        Nodes
	input, ref string
}

// node is one node as a flow mapping; frame is the inline graph that it is in.
func (w writer) node(n Node, frame string) string {
	parts := []string{"id: " + n.ID}
	add := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	value := "${" + w.input + ".v}"
	if n.Reads != "" {
		value = "${" + w.all.read(n.Reads, frame) + "}"
	}
	switch n.Include {
	case "":
	case "input":
		add(`includeWhen: ["${%s.a}"]`, w.input)
	default:
		add(`includeWhen: ["${%s.spec.?v.orValue('') != 'off'}"]`, w.all.path(n.Include, frame))
	}
	each := fmt.Sprintf(`forEach: [{name: "${%s.names}"}]`, w.input)
	outside := "apiVersion: sim.example.com/v1, kind: Item, metadata: {name: outside-" + n.Target + "}"
	if n.Form == PatchCollection {
		outside = `apiVersion: sim.example.com/v1, kind: Item, metadata: {name: "outside-${name}"}`
	}
	switch n.Form {
	case Template, Collection:
		w.template(n, frame, value, add)
	case Ref:
		add("%s: {%s}", w.ref, outside)
	case Selector:
		add(`%s: {apiVersion: sim.example.com/v1, kind: Item, metadata: {namespace: ns, selector: {matchLabels: {outside: "yes"}}}}`, w.ref)
	case Def:
		add(`def: {v: %q}`, value)
	case DefCollection:
		add(`%s, def: {v: %q, n: "${name}"}`, each, value)
	case Patch:
		add(`patch: {%s, spec: {%s: %q}}`, outside, n.Object, value)
	case PatchStatus:
		add(`patch: {%s, status: {%s: %q}}`, outside, n.Object, value)
	case PatchCollection:
		add(`%s, patch: {%s, spec: {%s: %q}}`, each, outside, n.Object, value)
	case Subgraph:
		children := make([]string, len(n.Children))
		for i, c := range n.Children {
			children[i] = strings.TrimSuffix(strings.TrimPrefix(w.node(c, n.ID), "- "), "\n")
		}
		add("graph: {nodes: [%s]}", strings.Join(children, ", "))
	}
	return "- {" + strings.Join(parts, ", ") + "}\n"
}

func (w writer) template(n Node, frame, value string, add func(string, ...any)) {
	name, subject := "one-"+n.Object, n.ID
	if n.Form == Collection {
		name, subject = name+"-${name}", "each"
		add(`forEach: [{name: "${%s.names}"}]`, w.input)
	}
	if n.Ready {
		add(`readyWhen: ["${%s.status.ready == true}"]`, subject)
	}
	if n.Orphan {
		add("deletionPolicy: Orphaned")
	}
	spec := fmt.Sprintf("v: %q", value)
	if n.External {
		add("externalFields: [spec.scale]")
		spec += ", scale: 1"
	}
	if n.Extra {
		spec += ", more: {x: w}"
	}
	if n.Defers != "" {
		spec += fmt.Sprintf(`, peer: "${defer(%s)}"`, w.all.read(n.Defers, frame))
	}
	add(`template: {apiVersion: sim.example.com/v1, kind: %s, metadata: {name: %q}, spec: {%s}}`, n.Kind, name, spec)
}

// path is how a node is called from inside a frame.
func (nodes Nodes) path(id, frame string) string {
	if _, in := nodes.find(id); in != "" && in != frame {
		return in + "." + id
	}
	return id
}

// read is an expression over a node that gives a string.
func (nodes Nodes) read(id, frame string) string {
	path := nodes.path(id, frame)
	n, _ := nodes.find(id)
	switch n.Form {
	case Collection, Selector, DefCollection:
		return fmt.Sprintf("string(size(%s))", path)
	case Def:
		return path + ".v"
	}
	return path + ".spec.v"
}
