package engine

import (
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"

	"kro.run/kro/graph"
)

// resolveSubgraph makes the value of an inline graph: its children by name. Excluded ones are absent.
func (p *Pass) resolveSubgraph(n *node) {
	value := map[string]any{}
	for name, index := range p.children(n.def.Index) {
		if child := &p.nodes[index]; child.phase == Observed {
			value[name] = child.rawValue()
		}
	}
	n.observed = []map[string]any{value}
}

// children gives the nodes of an inline graph by name.
func (p *Pass) children(index int) map[string]int {
	for at, frame := range p.program.Frames {
		if at > 0 && frame.Node == index {
			return frame.Names
		}
	}
	return nil
}

// inlineValue is an inline graph in the eyes of one node. It notes which excluded children an expression asks for: the data of these never come, so
// who needs one shares its fate instead of waiting for ever.
type inlineValue struct {
	traits.Mapper
	scope    scope
	children map[string]int
}

// inline gives the value of a node as another one sees it.
func (s scope) inline(index int, value ref.Val) ref.Val {
	m, isMap := value.(traits.Mapper)
	if s.node == nil || !isMap || s.pass.nodes[index].def.Kind != graph.Subgraph {
		return value
	}
	return &inlineValue{Mapper: m, scope: s, children: s.pass.children(index)}
}

// Find looks a child up.
func (v *inlineValue) Find(key ref.Val) (ref.Val, bool) {
	value, found := v.Mapper.Find(key)
	name, _ := key.(types.String)
	index, isChild := v.children[string(name)]
	switch {
	case !isChild:
		return value, found
	case !found && v.scope.pass.nodes[index].phase == Excluded:
		v.scope.node.touched = append(v.scope.node.touched, index)
		return value, found
	case found:
		return v.scope.inline(index, value), true
	}
	return value, found
}

// Get gives a child, or the error of its absence.
func (v *inlineValue) Get(key ref.Val) ref.Val {
	if value, found := v.Find(key); found {
		return value
	}
	return v.Mapper.Get(key)
}
