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

var identifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// checkTypes compiles the expressions of all nodes, in topological order as far as there is one: what a node computes is
// typed before others read it.
func (c *compiler) checkTypes() {
	for _, i := range c.order {
		c.checkNode(c.drafts[i])
	}
	for i, d := range c.drafts { // those on a cycle; what they compute has no type to each other
		if !slices.Contains(c.order, i) {
			c.checkNode(d)
		}
	}
}

// objectType is the type of one object of a node.
func (c *compiler) objectType(d *draft) *celgo.Type {
	if d.node.Schema == nil {
		return celgo.DynType
	}
	return c.types.Declare(d.src.ID, d.node.Schema)
}

func (c *compiler) checkNode(d *draft) {
	c.step = fmt.Sprintf("checking the types of %s %q", d.noun, d.name)
	iterators := map[string]*celgo.Type{}
	for _, name := range d.iterators {
		iterators[name] = celgo.DynType
	}
	local := &localScopes{compiler: c, draft: d, iterators: iterators}
	for _, s := range d.sites { // forEach expressions come first, those of readyWhen last
		if s.role == roleReadyWhen {
			c.typeNode(d)
		}
		if s.bad {
			continue
		}
		env, err := local.of(s)
		if err == nil {
			s.expr, err = env.CompileParsed(s.parsed, s.role.use())
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
	c.typeNode(d)
}

// localScopes are the scopes that only one node has, made when an expression needs them: most need none.
type localScopes struct {
	compiler  *compiler
	draft     *draft
	iterators map[string]*celgo.Type

	withIterators, withEach *cel.Env
}

func (l *localScopes) of(s *site) (*cel.Env, error) {
	if !l.compiler.shares(s) {
		return l.compiler.narrowScope(s, l.draft.name, l.names(s))
	}
	shared, err := l.compiler.sharedScope()
	if err != nil {
		return nil, err
	}
	switch {
	case s.role == roleReadyWhen && slices.Contains(s.references, "each"):
		return once(&l.withEach, func() (*cel.Env, error) {
			return shared.With(l.variables(s)...)
		})
	case s.role.seesIterators() && slices.ContainsFunc(s.references, func(name string) bool { return l.iterators[name] != nil }):
		return once(&l.withIterators, func() (*cel.Env, error) {
			return shared.With(l.variables(s)...)
		})
	}
	return shared, nil
}

// names are those that only expressions of the node see: each in its readyWhen, iterators elsewhere. Of an iterator that
// cannot be called as it is, the reason has been told.
func (l *localScopes) names(s *site) map[string]*celgo.Type {
	if s.role == roleReadyWhen {
		return map[string]*celgo.Type{"each": l.compiler.objectType(l.draft)}
	}
	names := map[string]*celgo.Type{}
	for name, t := range l.iterators {
		if s.role.seesIterators() && identifier.MatchString(name) && !l.compiler.reserved(name) && l.compiler.find(s.frame, name) == nil {
			names[name] = t
		}
	}
	return names
}

func (l *localScopes) variables(s *site) []cel.Variable {
	names := l.names(s)
	var variables []cel.Variable
	for _, name := range sortedKeys(names) {
		variables = append(variables, cel.Variable{Name: name, Type: names[name]})
	}
	return variables
}

func once(kept **cel.Env, build func() (*cel.Env, error)) (*cel.Env, error) {
	if *kept != nil {
		return *kept, nil
	}
	built, err := build()
	*kept = built
	return built, err
}

// reportCompile tells that an expression cannot be compiled.
func (c *compiler) reportCompile(d *draft, s *site, err error) {
	attempt := fmt.Sprintf("failed to validate %s %q: ", d.noun, d.name)
	switch s.role {
	case roleForEach:
		attempt += fmt.Sprintf("node %q: forEach iterator %q: ", d.name, s.iterator)
	case roleIncludeWhen, roleReadyWhen:
		attempt += fmt.Sprintf("failed to type-check %s expression %q in %s %q: ", s.role, s.text, d.noun, d.name)
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
		if unknown := compile.UnknownField; unknown != nil && fault.Hint == "" {
			fault.Hint = fieldHint(unknown.Name, unknown.Known)
		}
	}
	c.report(at, fault)
}

// checkResult holds the type of a compiled expression against what its place takes.
func (c *compiler) checkResult(d *draft, s *site) {
	t := s.expr.Type()
	attempt := fmt.Sprintf("failed to validate %s %q: ", d.noun, d.name)
	refuse := func(message, hint string) {
		s.bad = true
		c.report(s.at, Diagnostic{Code: CodeType, Message: attempt + message, Hint: hint})
	}
	switch s.role {
	case roleForEach:
		if _, err := s.expr.ListElement(); err != nil && !c.mayBeList(t) {
			refuse(fmt.Sprintf("node %q: forEach iterator %q %s", d.name, s.iterator, err), listHint(t))
		}
	case roleIncludeWhen, roleReadyWhen:
		if err := s.expr.BoolResult(); err != nil {
			refuse(fmt.Sprintf("%s expression %q in %s %q %s", s.role, s.text, d.noun, d.name, err), boolHint(t))
		}
	case roleDefinition:
		if _, err := c.types.Result(t); err != nil {
			refuse(fmt.Sprintf("value %q of %s %q cannot be kept: expression %q: %s", s.path, d.noun, d.name, s.text, err), "convert it: string(…)")
		}
	default:
		if err := c.fits(s, d.src.ID+"."+s.path); err != nil {
			refuse(fmt.Sprintf("type mismatch in %s %q at path %q: expression %q %s", d.noun, d.name, s.path, s.text, err), assignHint(err))
		}
	}
}

// mayBeList lets what is not known stand for a list in a Graph, where values of computed kinds have no types. In a
// definition everything that is a list can be known to be one.
func (c *compiler) mayBeList(t *celgo.Type) bool {
	return c.src.Door == GraphDoor && t.Kind() == celgo.DynKind
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
