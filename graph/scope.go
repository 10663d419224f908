package graph

import (
	celgo "github.com/google/cel-go/cel"

	"kro.run/kro/cel"
)

// scopeOf returns the environment of a frame: schema, the nodes of the frame, and those of the frames around it that it
// does not hide. It is made when an expression first needs it. What a node computes has no type before it is checked, so
// until then the node is no variable: whoever depends on it comes later.
func (c *compiler) scopeOf(frame int) (*cel.Env, error) {
	f := c.frames[frame]
	if f.scope != nil {
		return f.scope, nil
	}
	var variables []cel.Variable
	if c.src.Door == DefinitionDoor {
		instance := cel.Variable{Name: "schema", Type: celgo.DynType}
		if c.api != nil && c.api.schema != nil {
			instance.Type = c.types.Declare("schema", c.api.schema)
		}
		variables = append(variables, instance)
	}
	for at := frame; at >= 0; at = c.frames[at].parent {
		for _, d := range c.frames[at].nodes {
			if c.declarable(d) && !d.untyped() && (at == frame || c.find(frame, d.src.ID) == d) {
				variables = append(variables, c.variable(d))
			}
		}
	}
	env, err := cel.NewEnv(c.types, variables...)
	if err != nil {
		return nil, err
	}
	if c.env.CostLimit > 0 {
		env = env.WithCostLimit(c.env.CostLimit)
	}
	f.scope = env
	return env, nil
}

// declarable tells whether a node can be a variable. Of one that cannot, the reason has been told, or nothing can refer
// to it.
func (c *compiler) declarable(d *draft) bool {
	return d.node.Kind != Patch && identifier.MatchString(d.src.ID) && !c.reserved(d.src.ID)
}

// untyped tells that the type of a node is still to be found.
func (d *draft) untyped() bool {
	return !d.typed && (d.node.Kind == Definition || d.node.Kind == Subgraph)
}

func (c *compiler) variable(d *draft) cel.Variable {
	t := c.objectType(d)
	if d.node.Kind == Selection || len(d.src.ForEach) > 0 {
		t = celgo.ListType(t)
	}
	return cel.Variable{Name: d.src.ID, Type: t}
}

// declare makes a node whose type has been found a variable of the scopes that see it.
func (c *compiler) declare(d *draft) error {
	d.typed = true
	for i, f := range c.frames {
		if f.scope == nil || c.find(i, d.src.ID) != d || !c.declarable(d) {
			continue
		}
		var err error
		if f.scope, err = f.scope.With(c.variable(d)); err != nil {
			return err
		}
	}
	return nil
}
