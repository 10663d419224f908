package graph

import (
	"errors"
	"fmt"
	"regexp"
	"slices"

	celgo "github.com/google/cel-go/cel"

	"kro.run/kro/cel"
)

// The types of expressions: each is compiled once in the environment that it sees, and its type is held against what its
// place takes.

// scope is a set of variables that expressions are compiled in.
type scope struct {
	env *cel.Env
}

var identifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// checkTypes compiles the expressions of all nodes, in topological order as far as there is one.
func (c *compiler) checkTypes() {
	c.step = "typing the variables"
	env, err := cel.NewEnv(c.types, c.variables()...)
	if err == nil && c.env.CostLimit > 0 {
		env = env.WithCostLimit(c.env.CostLimit)
	}
	if err != nil {
		c.report(place{node: apiPlace, field: fieldNames}, Diagnostic{Code: CodeInternal,
			Message: "failed to create typed CEL environment: " + err.Error()})
		return
	}
	c.scope = &scope{env: env}
	for _, i := range c.order {
		c.checkNode(c.drafts[i])
	}
	for i, d := range c.drafts { // those on a cycle
		if !slices.Contains(c.order, i) {
			c.checkNode(d)
		}
	}
}

// variables are schema and all nodes.
func (c *compiler) variables() []cel.Variable {
	variables := []cel.Variable{{Name: "schema", Type: celgo.DynType}}
	if c.api != nil && c.api.schema != nil {
		variables[0].Type = c.types.Declare("schema", c.api.schema)
	}
	for _, d := range c.drafts {
		id := d.src.ID
		if c.byID[id] != d || !identifier.MatchString(id) || reservedWords[id] {
			continue // told already, and nothing can refer to it
		}
		t := c.objectType(d)
		if d.node.Kind == Selection || len(d.src.ForEach) > 0 {
			t = celgo.ListType(t)
		}
		variables = append(variables, cel.Variable{Name: id, Type: t})
	}
	return variables
}

// objectType is the type of one object of a node.
func (c *compiler) objectType(d *draft) *celgo.Type {
	if d.kind == nil {
		return celgo.DynType
	}
	return c.types.Declare(d.src.ID, d.kind.Schema)
}

// extend adds variables to the shared scope.
func (c *compiler) extend(variables ...cel.Variable) (*scope, error) {
	env, err := c.scope.env.With(variables...)
	if err != nil {
		return nil, err
	}
	return &scope{env: env}, nil
}

func (c *compiler) checkNode(d *draft) {
	c.step = fmt.Sprintf("checking the types of resource %q", d.src.ID)
	iterators := map[string]*celgo.Type{}
	for _, name := range d.iterators {
		iterators[name] = celgo.DynType
	}
	local := &localScopes{compiler: c, draft: d, iterators: iterators}
	for _, s := range d.sites { // forEach expressions come first
		if s.bad {
			continue
		}
		sc, err := local.of(s)
		if err == nil {
			s.expr, err = sc.env.CompileParsed(s.parsed, s.role.use())
		}
		if err != nil {
			s.bad = true
			c.reportCompile(d, s, err)
			continue
		}
		c.checkResult(d, s)
		if element, err := s.expr.ListElement(); s.role == roleForEach && err == nil {
			iterators[s.iterator] = element
		}
		if s.value != nil {
			s.value.expr = s.expr
		}
	}
}

// localScopes are the scopes that only one node has, made when an expression needs them: most need none.
type localScopes struct {
	compiler  *compiler
	draft     *draft
	iterators map[string]*celgo.Type

	withIterators, withEach *scope
}

func (l *localScopes) of(s *site) (*scope, error) {
	switch {
	case s.role == roleReadyWhen && slices.Contains(s.references, "each"):
		return once(&l.withEach, func() (*scope, error) {
			return l.compiler.extend(cel.Variable{Name: "each", Type: l.compiler.objectType(l.draft)})
		})
	case s.role == roleTemplate && slices.ContainsFunc(s.references, func(name string) bool { return l.iterators[name] != nil }):
		return once(&l.withIterators, func() (*scope, error) {
			var variables []cel.Variable
			for _, name := range sortedKeys(l.iterators) {
				if identifier.MatchString(name) && !reservedWords[name] && l.compiler.byID[name] == nil {
					variables = append(variables, cel.Variable{Name: name, Type: l.iterators[name]})
				}
			}
			return l.compiler.extend(variables...)
		})
	}
	return l.compiler.scope, nil
}

func once(kept **scope, build func() (*scope, error)) (*scope, error) {
	if *kept != nil {
		return *kept, nil
	}
	built, err := build()
	*kept = built
	return built, err
}

// reportCompile tells that an expression cannot be compiled.
func (c *compiler) reportCompile(d *draft, s *site, err error) {
	attempt := fmt.Sprintf("failed to validate resource %q: ", d.src.ID)
	switch s.role {
	case roleForEach:
		attempt += fmt.Sprintf("node %q: forEach iterator %q: ", d.src.ID, s.iterator)
	case roleIncludeWhen, roleReadyWhen:
		attempt += fmt.Sprintf("failed to type-check %s expression %q in resource %q: ", s.role, s.text, d.src.ID)
	default:
		attempt += fmt.Sprintf("failed to compile template expression %q at path %q: ", s.text, s.path)
	}
	c.reportExpression(s.at, attempt, err)
}

// reportExpression files the fault that the checker found in an expression.
func (c *compiler) reportExpression(at place, attempt string, err error) {
	fault := Diagnostic{Code: CodeExpression, Message: attempt + err.Error()}
	var compile *cel.CompileError
	if errors.As(err, &compile) {
		fault.Message, fault.Hint = attempt+compile.Message, compile.Hint
	}
	c.report(at, fault)
}

// checkResult holds the type of a compiled expression against what its place takes.
func (c *compiler) checkResult(d *draft, s *site) {
	t := s.expr.Type()
	attempt := fmt.Sprintf("failed to validate resource %q: ", d.src.ID)
	refuse := func(message, hint string) {
		s.bad = true
		c.report(s.at, Diagnostic{Code: CodeType, Message: attempt + message, Hint: hint})
	}
	switch s.role {
	case roleForEach:
		if _, err := s.expr.ListElement(); err != nil {
			refuse(fmt.Sprintf("node %q: forEach iterator %q %s", d.src.ID, s.iterator, err), listHint(t))
		}
	case roleIncludeWhen, roleReadyWhen:
		if err := s.expr.BoolResult(); err != nil {
			refuse(fmt.Sprintf("%s expression %q in resource %q %s", s.role, s.text, d.src.ID, err), boolHint(t))
		}
	default:
		if err := c.fits(s, d.src.ID+"."+s.path); err != nil {
			refuse(fmt.Sprintf("type mismatch in resource %q at path %q: expression %q %s", d.src.ID, s.path, s.text, err), assignHint(err))
		}
	}
}

// fits tells whether an expression may fill its field, looking into literals that it spells out. An expression that is
// dyn as a whole is left to run time even where one of its branches is a literal of another type: null is a common one,
// and means that the field has no value.
func (c *compiler) fits(s *site, path string) error {
	if s.expr.Type().Kind() == celgo.DynKind {
		return c.types.Assignable(s.expr.Type(), s.target, path)
	}
	return s.expr.AssignableTo(c.types, s.target, path)
}

func listHint(t *celgo.Type) string {
	switch t.Kind() {
	case celgo.OpaqueKind:
		return "give a list for when the value is absent: .orValue([])"
	case celgo.MapKind:
		return "make a sorted list of the keys: m.map(k, k).sort()"
	case celgo.DynKind:
		return "the type of the list must be known: declare the field as []string or the like"
	}
	return ""
}

func boolHint(t *celgo.Type) string {
	switch t.Kind() {
	case celgo.DynKind:
		return "the value is untyped: compare it, as in … == true"
	case celgo.StringKind:
		return "compare it, as in … != ''"
	}
	return ""
}

func assignHint(err error) string {
	var assign *cel.AssignError
	if !errors.As(err, &assign) {
		return ""
	}
	switch from := assign.From; {
	case assign.To == "string" && from == "bytes":
		return "encode it: base64.encode(…), or string(…) for text"
	case assign.To == "string" && slices.Contains([]string{"int", "uint", "double", "bool"}, from):
		return "convert it: string(…)"
	case assign.To == "int" && slices.Contains([]string{"string", "uint", "double"}, from):
		return "convert it: int(…)"
	case assign.To == "double" && slices.Contains([]string{"string", "uint", "int"}, from):
		return "convert it: double(…)"
	}
	return ""
}
