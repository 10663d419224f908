package graph

import (
	"errors"
	"fmt"

	kjson "sigs.k8s.io/json"

	"kro.run/kro/api/v1alpha1"
)

// The nodes of inline graphs become nodes of the program like all others. What remains of the nesting is where names are
// looked up: each inline graph is a frame, and an expression sees its own frame and those around it.

// maxDepth bounds how deep inline graphs lie in each other. It is far more than anybody reads, and keeps a hostile
// document from costing more than it weighs.
const maxDepth = 100

// frame is a scope of names on its way to the program.
type frame struct {
	parent, depth int
	// owner is the node whose inline graph this is; nil for the document.
	owner *draft
	// names are the nodes of the frame by id: of two with one id the first. nodes are the same in document order.
	names map[string]*draft
	nodes []*draft
}

// root is the place of the document's nodes.
func (s Source) root() string {
	if s.Door == GraphDoor {
		return "spec.nodes"
	}
	return "spec.resources"
}

// expand makes a draft of every node, those of inline graphs after the node that holds them.
func (c *compiler) expand(frame int, nodes []*NodeSource, root string) {
	for i, n := range nodes {
		d := &draft{src: n, index: len(c.drafts), frame: frame, path: joinIndex(root, i), noun: c.noun(), node: &Node{Index: len(c.drafts), Frame: frame}}
		c.drafts = append(c.drafts, d)
		if n == nil {
			c.report(place{node: d.index, path: d.path}, Diagnostic{Code: CodeShape,
				Message: fmt.Sprintf("%sthe %s is null", c.validating(), d.noun), Hint: "remove the empty list entry"})
			d.src, d.void = &NodeSource{}, true
			continue
		}
		d.node.ID, d.name = n.ID, n.ID
		if owner := c.frames[frame].owner; owner != nil {
			d.name = owner.name + "/" + n.ID
		}
		d.node.Path = d.name
		d.chooseReference()
		if n.Graph != nil {
			c.expandInline(d)
		}
	}
}

// expandInline makes drafts of the nodes of an inline graph.
func (c *compiler) expandInline(d *draft) {
	at := d.at(fieldBody, d.path+".graph")
	depth := c.frames[d.frame].depth + 1
	if depth > maxDepth {
		c.report(at, Diagnostic{Code: CodeShape, Message: fmt.Sprintf("%sgraphs are nested more than %d deep", d.attempt(), maxDepth)})
		return
	}
	nodes, err := inlineNodes(d.src.Graph)
	if err != nil {
		c.report(at, Diagnostic{Code: CodeShape, Message: d.attempt() + "failed to read the graph: " + err.Error(),
			Hint: "a graph holds nodes in the form of spec.nodes"})
	} else if len(nodes) == 0 {
		c.report(at, Diagnostic{Code: CodeShape, Message: d.attempt() + "the graph has no nodes"})
	}
	d.inline = &frame{parent: d.frame, depth: depth, owner: d, names: map[string]*draft{}}
	c.frames = append(c.frames, d.inline)
	c.expand(len(c.frames)-1, nodes, d.path+".graph.nodes")
}

// inlineNodes reads the nodes of an inline graph as strictly as the API server reads those of the document.
func inlineNodes(data []byte) ([]*NodeSource, error) {
	var body struct {
		Nodes []*v1alpha1.GraphNode `json:"nodes"`
	}
	strict, err := kjson.UnmarshalStrict(data, &body)
	if err = errors.Join(append(strict, err)...); err != nil {
		return nil, err
	}
	nodes := make([]*NodeSource, len(body.Nodes))
	for i, n := range body.Nodes {
		if n != nil {
			nodes[i] = graphNodeSource(n)
		}
	}
	return nodes, nil
}

// find returns the node that a name means in a frame, nil when it means none.
func (c *compiler) find(frame int, name string) *draft {
	for ; frame >= 0; frame = c.frames[frame].parent {
		if d := c.frames[frame].names[name]; d != nil {
			return d
		}
	}
	return nil
}

// connectInline ties inline graphs to their nodes: one is there when they are.
func (c *compiler) connectInline() {
	for _, d := range c.drafts {
		if owner := c.frames[d.frame].owner; owner != nil {
			owner.dependencies[d.index] = true
			owner.firm[d.index] = true
		}
	}
}

// programFrames gives the frames their final form.
func (c *compiler) programFrames() []Frame {
	frames := make([]Frame, len(c.frames))
	for i, f := range c.frames {
		frames[i] = Frame{Parent: f.parent, Node: -1, Names: make(map[string]int, len(f.names))}
		if f.owner != nil {
			frames[i].Node = f.owner.index
		}
		for name, d := range f.names {
			frames[i].Names[name] = d.index
		}
	}
	return frames
}
