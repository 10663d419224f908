package engine

import (
	"slices"

	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"

	"kro.run/kro/schema"
)

// SchemaVariable is the name under which expressions see the instance.
const SchemaVariable = "schema"

// scope resolves the variables that the expressions of one node see: the instance, and the nodes of its frame and of the
// frames around it. It is a CEL activation; a name that is not there makes the expression fail as pending.
type scope struct {
	pass *Pass
	// node is whose expressions are evaluated; nil for those of the instance (status, conditions).
	node *node
}

// ResolveName returns the value of a variable.
func (s scope) ResolveName(name string) (any, bool) {
	if name == SchemaVariable && s.pass.program.Instance != nil {
		return s.pass.schemaValue(), true
	}
	index, known := s.pass.lookup(s.frame(), name)
	if !known {
		return nil, false
	}
	if s.node != nil && slices.Contains(s.node.def.Deferred, index) {
		return s.deferred(index)
	}
	if s.node != nil && slices.Contains(s.node.def.Conditional, index) && !s.pass.opens(&s.pass.nodes[index]) {
		s.node.touched = append(s.node.touched, index)
		return nil, false
	}
	value := s.pass.value(index)
	return s.inline(index, value), value != nil
}

func (s scope) frame() int {
	if s.node == nil {
		return 0
	}
	return s.node.def.Frame
}

// deferred gives the value that a deferred field may use: what the pass has observed, else what stood there before it. What is not observed is noted: it may
// come yet, or come out different.
func (s scope) deferred(index int) (any, bool) {
	if value := s.pass.value(index); value != nil {
		return value, true
	}
	s.node.unmet = append(s.node.unmet, index)
	n := &s.pass.nodes[index]
	if s.pass.options.Previous != nil && !n.def.Collection && n.phase != Excluded {
		if before := s.pass.options.Previous(n.def); len(before) == 1 {
			return s.pass.program.Types.Value(n.def.Schema, before[0]), true
		}
	}
	return nil, false
}

// Parent is nil: there is no outer scope.
func (s scope) Parent() interpreter.Activation { return nil }

// lookup finds the node that a name means in a frame: the nearest one, going outwards.
func (p *Pass) lookup(frame int, name string) (int, bool) {
	for frame >= 0 && frame < len(p.program.Frames) {
		if index, ok := p.program.Frames[frame].Names[name]; ok {
			return index, true
		}
		frame = p.program.Frames[frame].Parent
	}
	return 0, false
}

// overlay puts a few names over a scope: iterators of an item, `each`, or a node's own id in readyWhen.
type overlay struct {
	names  map[string]ref.Val
	parent interpreter.Activation
}

// ResolveName returns the overlaid value, else the parent's.
func (o overlay) ResolveName(name string) (any, bool) {
	if v, ok := o.names[name]; ok {
		return v, true
	}
	return o.parent.ResolveName(name)
}

// Parent returns the scope below.
func (o overlay) Parent() interpreter.Activation { return o.parent }

func (p *Pass) schemaValue() ref.Val {
	if p.self == nil {
		p.self = p.program.Types.Value(p.program.Instance.Schema, withoutStatus(p.instance))
	}
	return p.self
}

// withoutStatus hides the status of the instance: it is an output, never an input (a loop otherwise).
func withoutStatus(instance map[string]any) map[string]any {
	if _, has := instance["status"]; !has {
		return instance
	}
	rest := make(map[string]any, len(instance))
	for k, v := range instance {
		if k != "status" {
			rest[k] = v
		}
	}
	return rest
}

// value gives what other expressions see of a node: its observed object, or the list of them for a collection. It is
// nil while the node has none.
func (p *Pass) value(index int) ref.Val {
	n := &p.nodes[index]
	if n.phase != Observed {
		return nil
	}
	if n.value == nil {
		n.value = p.program.Types.Value(n.valueSchema(), n.rawValue())
	}
	return n.value
}

func (n *node) rawValue() any {
	if !n.def.Collection {
		if len(n.observed) == 0 {
			return nil
		}
		return n.observed[0]
	}
	list := make([]any, len(n.observed))
	for i, o := range n.observed {
		list[i] = o
	}
	return list
}

func (n *node) valueSchema() *schema.Node {
	if !n.def.Collection {
		return n.def.Schema
	}
	items := n.def.Schema
	if items == nil {
		items = &schema.Node{PreserveUnknown: true}
	}
	return &schema.Node{Type: "array", Items: items}
}
