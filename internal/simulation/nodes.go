package simulation

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"pgregory.net/rapid"
)

// Form is what a node is.
type Form int

// The forms of nodes.
const (
	Template Form = iota
	Collection
	Ref
	Selector
	Def
	DefCollection
	Patch
	PatchStatus
	PatchCollection
	Subgraph
)

// Node is one node of a generated graph.
type Node struct {
	ID string
	// Object is the part of its objects' names that is the node's own; a renamed node keeps it.
	Object string
	Form   Form
	Kind   string
	// Include is the condition: "", "input" over the input, or the id of the node that it reads.
	Include string
	// Reads is the id of the node that gives its value; empty for the input. Defers is the id of one that a deferred field reads.
	Reads, Defers string
	// Target is which object of others a reference reads and a patch contributes to.
	Target                         string
	Ready, Orphan, External, Extra bool
	Children                       []Node
}

// Nodes are the nodes of a generated definition.
type Nodes []Node

// Targets are the names of what is outside of the graph: outside-p and so on.
var Targets = []string{"p", "q", "r"}

// DrawNodes makes a graph of up to six nodes: chains and branches, collections, references, values, contributions, conditions over the input and over
// nodes, readiness, objects that stay, fields for others, deferred fields; with frames, inline graphs.
func DrawNodes(t *rapid.T, label string, frames bool) Nodes {
	var nodes Nodes
	for i := range rapid.IntRange(1, 6).Draw(t, label+" nodes") {
		node := drawNode(t, fmt.Sprintf("n%d", i), nodes, label)
		if frames && rapid.IntRange(0, 5).Draw(t, label+" frame") == 0 {
			node = Node{ID: node.ID, Form: Subgraph}
			for c := range rapid.IntRange(1, 2).Draw(t, label+" children") {
				seen := append(slices.Clone(nodes), node.Children...)
				node.Children = append(node.Children, drawNode(t, fmt.Sprintf("%sc%d", node.ID, c), seen, label))
			}
		}
		nodes = append(nodes, node)
	}
	nodes.drawDeferred(t, label)
	return nodes
}

func drawNode(t *rapid.T, id string, earlier []Node, label string) Node {
	label += " " + id
	n := Node{ID: id, Object: id, Kind: rapid.SampledFrom([]string{"Thing", "Item"}).Draw(t, label+" kind")}
	flip := func(what string) bool { return rapid.IntRange(0, 2).Draw(t, label+" "+what) == 0 }
	n.Form = rapid.SampledFrom([]Form{
		Template, Template, Template, Template, Template, Collection, Collection, Collection, Ref, Selector, Def, DefCollection, Patch, Patch, PatchStatus, PatchCollection,
	}).Draw(t, label+" form")
	n.Target = rapid.SampledFrom(Targets).Draw(t, label+" target")
	if readable := readable(earlier); len(readable) > 0 && rapid.Bool().Draw(t, label+" refers") {
		n.Reads = rapid.SampledFrom(readable).Draw(t, label+" to")
	}
	switch rapid.IntRange(0, 4).Draw(t, label+" include") {
	case 0:
		n.Include = "input"
	case 1:
		if single := conditions(earlier); len(single) > 0 {
			n.Include = single[0]
		}
	}
	n.Ready, n.Orphan, n.External, n.Extra = flip("ready"), flip("orphan"), flip("external"), flip("extra")
	return n
}

// readable are the nodes that have a value for others.
func readable(nodes []Node) []string {
	var out []string
	for _, n := range nodes {
		switch n.Form {
		case Patch, PatchStatus, PatchCollection:
		case Subgraph:
			out = append(out, readable(n.Children)...)
		default:
			out = append(out, n.ID)
		}
	}
	return out
}

// conditions are the nodes that a condition may read.
func conditions(nodes []Node) []string {
	var out []string
	for _, n := range nodes {
		if n.Form == Template || n.Form == Ref {
			out = append(out, n.ID)
		}
	}
	return out
}

// drawDeferred lets templates read nodes that come later, or that read them.
func (nodes Nodes) drawDeferred(t *rapid.T, label string) {
	all := readable(nodes)
	for i := range nodes {
		if n := &nodes[i]; n.Form == Template && rapid.IntRange(0, 3).Draw(t, label+" defers") == 0 && len(all) > 1 {
			if other := rapid.SampledFrom(all).Draw(t, label+" deferred"); other != n.ID && !strings.Contains(other, "c") {
				n.Defers = other
			}
		}
	}
}

// Mutate is what an author does to a definition that is in use: a node renamed, removed, made something else, or one of its switches turned; with frames, a node
// put into an inline graph of its own, or the nodes of one taken out of it.
func (nodes Nodes) Mutate(t *rapid.T, label string, frames bool) Nodes {
	out := nodes.clone()
	for range rapid.IntRange(1, 3).Draw(t, label+" mutations") {
		if len(out) == 0 {
			break
		}
		i := rapid.IntRange(0, len(out)-1).Draw(t, label+" node")
		n := &out[i]
		mutation := rapid.IntRange(0, 9).Draw(t, label+" mutation")
		if n.Form == Subgraph && mutation > 2 && mutation < 9 {
			n = &n.Children[rapid.IntRange(0, len(n.Children)-1).Draw(t, label+" child")]
		}
		switch mutation {
		case 0, 1:
			out.rename(n.ID, "m"+n.ID[1:])
		case 2:
			out.rename(n.ID, "")
			if out = slices.Delete(out, i, i+1); len(out) == 0 {
				out = Nodes{{ID: "last", Object: "last", Form: Template, Kind: "Thing"}}
			}
		case 9:
			switch {
			case !frames:
			case n.Form == Subgraph:
				out = slices.Replace(out, i, i+1, n.Children...)
			default:
				out[i] = Node{ID: "f" + n.ID, Form: Subgraph, Children: []Node{*n}}
			}
		case 3:
			n.Orphan = !n.Orphan
		case 4:
			n.External = !n.External
		case 5:
			n.Extra = !n.Extra
		case 6:
			n.Kind = map[string]string{"Thing": "Item", "Item": "Thing"}[n.Kind]
		case 7:
			n.Target = rapid.SampledFrom(Targets).Draw(t, label+" target")
		case 8:
			n.Ready, n.Include = !n.Ready, map[string]string{"": "input"}[n.Include]
		}
	}
	return out
}

func (nodes Nodes) clone() Nodes {
	out := slices.Clone(nodes)
	for i := range out {
		out[i].Children = Nodes(out[i].Children).clone()
	}
	return out
}

// rename gives a node another id, or takes it away from those that read it, when the new id is empty.
func (nodes Nodes) rename(from, to string) {
	gone := []string{from}
	if n, _ := nodes.find(from); n != nil && to == "" {
		for _, c := range n.Children {
			gone = append(gone, c.ID)
		}
	}
	nodes.replace(func(id string) string {
		if slices.Contains(gone, id) {
			return to
		}
		return id
	})
}

// replace gives all nodes, and what they read, other ids. A node whose id would become empty keeps it.
func (nodes Nodes) replace(id func(string) string) {
	for i := range nodes {
		n := &nodes[i]
		n.ID = cmp.Or(id(n.ID), n.ID)
		n.Include, n.Reads, n.Defers = id(n.Include), id(n.Reads), id(n.Defers)
		Nodes(n.Children).replace(id)
	}
}

// find gives a node, and the id of the inline graph that it is in.
func (nodes Nodes) find(id string) (n *Node, frame string) {
	for i := range nodes {
		if nodes[i].ID == id {
			return &nodes[i], ""
		}
		if child, _ := Nodes(nodes[i].Children).find(id); child != nil {
			return child, nodes[i].ID
		}
	}
	return nil, ""
}

// Flat are all nodes but the inline graphs, each with its path.
func (nodes Nodes) Flat() map[string]Node {
	out := map[string]Node{}
	for _, n := range nodes {
		if n.Form != Subgraph {
			out[n.ID] = n
			continue
		}
		for path, child := range Nodes(n.Children).Flat() {
			out[n.ID+"/"+path] = child
		}
	}
	return out
}
