package graph

import (
	celgo "github.com/google/cel-go/cel"

	"kro.run/kro/cel"
)

// scopeOf returns the environment of a frame: schema, and the nodes of the frame and of those around it. It is made when
// an expression first needs it.
func (c *compiler) scopeOf(index int) (*cel.Env, error) {
	f := c.frames[index]
	if f.scope != nil {
		return f.scope, nil
	}
	var err error
	if f.parent < 0 {
		f.scope, err = c.documentScope(c.variables(f))
		return f.scope, err
	}
	around, err := c.scopeOf(f.parent)
	if err != nil {
		return nil, err
	}
	f.scope, err = around.With(c.variables(f)...)
	return f.scope, err
}

func (c *compiler) documentScope(variables []cel.Variable) (*cel.Env, error) {
	if c.src.Door == DefinitionDoor {
		instance := cel.Variable{Name: "schema", Type: celgo.DynType}
		if c.api != nil && c.api.schema != nil {
			instance.Type = c.types.Declare("schema", c.api.schema)
		}
		variables = append([]cel.Variable{instance}, variables...)
	}
	env, err := cel.NewEnv(c.types, variables...)
	if err == nil && c.env.CostLimit > 0 {
		env = env.WithCostLimit(c.env.CostLimit)
	}
	return env, err
}

// variables are the nodes of a frame.
func (c *compiler) variables(f *frame) []cel.Variable {
	var variables []cel.Variable
	for _, d := range c.drafts {
		id := d.src.ID
		if f.names[id] != d || d.node.Kind == Patch || !identifier.MatchString(id) || c.reserved(id) {
			continue // told already, or nothing can refer to it
		}
		variables = append(variables, cel.Variable{Name: id, Type: c.variableType(d)})
	}
	return variables
}

// variableType is the type of a node as others see it.
func (c *compiler) variableType(d *draft) *celgo.Type {
	t := c.objectType(d)
	if d.node.Kind == Selection || len(d.src.ForEach) > 0 {
		return celgo.ListType(t)
	}
	return t
}

// retype makes a new type of a node known to the expressions that come after.
func (c *compiler) retype(d *draft) error {
	for i, f := range c.frames {
		if i != d.frame && c.within(i, d.frame) {
			f.scope = nil
		}
	}
	f := c.frames[d.frame]
	if f.scope == nil || f.names[d.src.ID] != d || !identifier.MatchString(d.src.ID) || c.reserved(d.src.ID) {
		return nil
	}
	var err error
	f.scope, err = f.scope.With(cel.Variable{Name: d.src.ID, Type: c.variableType(d)})
	return err
}
