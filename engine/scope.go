package engine

import (
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"

	"kro.run/kro/schema"
)

// SchemaVariable is the name under which expressions see the instance.
const SchemaVariable = "schema"

// scope resolves the variables of expressions: the instance and every node whose value is there. It is a CEL
// activation; a name that is not there makes the expression fail as pending.
type scope struct {
	pass *Pass
}

// ResolveName returns the value of a variable.
func (s scope) ResolveName(name string) (any, bool) {
	if name == SchemaVariable {
		return s.pass.schemaValue(), true
	}
	index, known := s.pass.byID[name]
	if !known {
		return nil, false
	}
	value := s.pass.value(index)
	return value, value != nil
}

// Parent is nil: there is no outer scope.
func (s scope) Parent() interpreter.Activation { return nil }

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
