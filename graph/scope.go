package graph

import (
	"fmt"
	"strings"

	celgo "github.com/google/cel-go/cel"

	"kro.run/kro/cel"
)

// An environment costs as much to make as it has variables. Nearly all expressions share one, with all nodes of the
// document whose types are known from the start. Those that read more, what nodes compute or what inline graphs hold,
// get small ones with just the names that they use.

// scopes are the environments of a compilation, made when an expression first needs them.
type scopes struct {
	shared *cel.Env
	empty  *cel.Env
	// narrow are the small ones, by what their names mean.
	narrow map[string]*cel.Env
}

// sharedScope returns the environment with schema and the nodes of the document, but for those that compute values.
func (c *compiler) sharedScope() (*cel.Env, error) {
	if c.scopes.shared != nil {
		return c.scopes.shared, nil
	}
	var variables []cel.Variable
	if c.src.Door == DefinitionDoor {
		variables = append(variables, c.instanceVariable())
	}
	for _, d := range c.frames[0].nodes {
		if d.isShared() && identifier.MatchString(d.src.ID) && !c.reserved(d.src.ID) {
			variables = append(variables, c.variable(d))
		}
	}
	env, err := c.newScope(variables...)
	c.scopes.shared = env
	return env, err
}

func (c *compiler) newScope(variables ...cel.Variable) (*cel.Env, error) {
	env, err := cel.NewEnv(c.types, variables...)
	if err == nil && c.env.CostLimit > 0 {
		env = env.WithCostLimit(c.env.CostLimit)
	}
	return env, err
}

func (c *compiler) instanceVariable() cel.Variable {
	if c.api == nil || c.api.schema == nil {
		return cel.Variable{Name: "schema", Type: celgo.DynType}
	}
	return cel.Variable{Name: "schema", Type: c.types.Declare("schema", c.api.schema)}
}

// isShared tells whether a node is a variable of the shared scope.
func (d *draft) isShared() bool {
	return d.frame == 0 && (d.node.Kind == Template || d.node.Kind == Reference || d.node.Kind == Selection || d.node.Kind == 0)
}

// shares tells whether an expression finds all it refers to in the shared scope, or among the names of its own node.
func (c *compiler) shares(s *site) bool {
	for _, name := range s.references {
		if other := c.find(s.frame, name); other != nil && !other.isShared() {
			return false
		}
	}
	return true
}

// scopeOf returns the environment of an expression that is no node's.
func (c *compiler) scopeOf(s *site) (*cel.Env, error) {
	if c.shares(s) {
		return c.sharedScope()
	}
	return c.narrowScope(s, "", nil)
}

// narrowScope returns an environment with the names that an expression uses. Those that are no nodes are given by local,
// and mean what they mean to the owner.
func (c *compiler) narrowScope(s *site, owner string, local map[string]*celgo.Type) (*cel.Env, error) {
	var variables []cel.Variable
	var key strings.Builder
	for _, name := range s.references {
		switch other := c.find(s.frame, name); {
		case other != nil:
			variables = append(variables, c.variable(other))
			fmt.Fprintf(&key, "%s %d %v\n", name, other.index, other.typed)
		case local[name] != nil:
			variables = append(variables, cel.Variable{Name: name, Type: local[name]})
			fmt.Fprintf(&key, "%s of %s\n", name, owner)
		case name == "schema":
			variables = append(variables, c.instanceVariable())
			fmt.Fprintln(&key, name)
		}
	}
	if env := c.scopes.narrow[key.String()]; env != nil {
		return env, nil
	}
	if c.scopes.empty == nil {
		var err error
		if c.scopes.empty, err = c.newScope(); err != nil {
			return nil, err
		}
	}
	env, err := c.scopes.empty.With(variables...)
	if err != nil {
		return nil, err
	}
	c.scopes.narrow[key.String()] = env
	return env, nil
}

// variable is a node as expressions see it. What has no type yet, or never gets one, is dyn.
func (c *compiler) variable(d *draft) cel.Variable {
	t := c.objectType(d)
	if d.node.Kind == Selection || len(d.src.ForEach) > 0 {
		t = celgo.ListType(t)
	}
	return cel.Variable{Name: d.src.ID, Type: t}
}
