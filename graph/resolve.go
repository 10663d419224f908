package graph

import (
	"fmt"
	"slices"
	"strings"

	"kro.run/kro/cel"
)

// What expressions refer to: the names in them decide the edges of the graph, before any type is known.

type parseResult struct {
	parsed *cel.Parsed
	err    error
}

// parse reads the syntax of an expression, each distinct text once.
func (c *compiler) parse(text string) (*cel.Parsed, error) {
	known, done := c.parsed[text]
	if !done {
		known.parsed, known.err = cel.Parse(text)
		c.parsed[text] = known
	}
	return known.parsed, known.err
}

// read parses the expression of a site and takes over what it uses. The fault of one that cannot be parsed begins with
// attempt.
func (c *compiler) read(s *site, attempt string) bool {
	parsed, err := c.parse(s.text)
	if err != nil {
		c.reportExpression(s.at, attempt+"failed to inspect expression: ", err)
		return false
	}
	s.parsed, s.references = parsed, parsed.References
	return true
}

// resolveNames checks the names in all expressions of a node, and collects the nodes that it depends on.
func (c *compiler) resolveNames(d *draft) {
	d.dependencies, d.include, d.firm, d.deferred = map[int]bool{}, map[int]bool{}, map[int]bool{}, map[int]bool{}
	for _, s := range d.sites {
		if s.bad || !c.resolveSite(d, s) {
			s.bad = true
			continue
		}
		if s.role == roleReadyWhen {
			continue // it looks at the node itself, after the fact
		}
		for _, name := range s.references {
			if other := c.find(d.frame, name); other != nil {
				d.refer(s, name, other.index)
			}
		}
	}
	c.checkIteratorsUsed(d)
}

// refer notes that an expression of the node refers to another one. Whether a node takes part is not decided on half of
// what decides it, so includeWhen waits for all that it names.
func (d *draft) refer(s *site, name string, other int) {
	if s.parsed.Deferred {
		d.deferred[other] = true
		return
	}
	d.dependencies[other] = true
	if s.role == roleIncludeWhen {
		d.include[other] = true
	}
	if s.role == roleIncludeWhen || !slices.Contains(s.parsed.Conditional, name) {
		d.firm[other] = true
	}
}

// resolveSite parses an expression of a node and tells whether the names in it are ones it may use.
func (c *compiler) resolveSite(d *draft, s *site) bool {
	if !c.read(s, fmt.Sprintf("%s%s: ", connecting, s.extracting(d))) {
		return false
	}
	if s.role.seesIterators() && slices.ContainsFunc(s.references, func(name string) bool { return slices.Contains(d.badIterators, name) }) {
		return false // told with the names
	}
	if s.role == roleForEach {
		if siblings := d.siblings(s); len(siblings) > 0 {
			c.report(s.at, Diagnostic{Code: CodeExpression,
				Message: fmt.Sprintf("%snode %q: forEach iterator %q cannot reference other iterators %v - forEach iterators are independent (cartesian product)",
					connecting, d.name, s.iterator, siblings),
				Hint: "build one list of all combinations: a.map(x, x.parts.map(y, {'x': x, 'y': y})).flatten()"})
			return false
		}
	}
	if !c.checkScope(s, c.namesFor(d, s), func(problem string) string {
		switch s.role {
		case roleReadyWhen:
			return fmt.Sprintf("failed to validate %s %q: %s %q readyWhen: %s", d.noun, d.name, d.noun, d.name, problem)
		case roleIncludeWhen:
			return fmt.Sprintf("%s%s %q includeWhen: %s", connecting, d.noun, d.name, problem)
		}
		return fmt.Sprintf("%s%s: %s", connecting, s.extracting(d), problem)
	}) {
		return false
	}
	if s.role != roleReadyWhen && slices.Contains(s.references, d.src.ID) && c.find(d.frame, d.src.ID) == d {
		c.report(s.at, Diagnostic{Code: CodeCycle,
			Message: fmt.Sprintf("%snode %q: self references are not allowed, found in expression %q", connecting, d.name, s.text),
			Hint:    "repeat the expression that gives the value, or read the object after the fact in status or readyWhen"})
		return false
	}
	return c.checkDefer(d, s) && c.checkFrames(d, s)
}

// checkScope reports what an expression refers to and cannot see.
func (c *compiler) checkScope(s *site, visible func(string) bool, message func(problem string) string) bool {
	if s.parsed.UsesRuntime && s.role != roleCondition {
		c.report(s.at, Diagnostic{Code: CodeExpression, Message: message("runtime is only available in status.conditions expressions")})
		return false
	}
	if s.parsed.UsesOmit && c.env.NoOmit {
		c.report(s.at, Diagnostic{Code: CodeExpression, Message: message("omit() requires the CELOmitFunction feature gate to be enabled")})
		return false
	}
	unknown := slices.DeleteFunc(slices.Clone(s.references), visible)
	if len(unknown) == 0 {
		return c.checkValues(s, message)
	}
	c.report(s.at, Diagnostic{Code: CodeExpression,
		Message: message(fmt.Sprintf("references unknown identifiers: [%s]", strings.Join(unknown, " "))),
		Hint:    c.scopeHint(s, unknown[0], visible)})
	return false
}

func (c *compiler) scopeHint(s *site, name string, visible func(string) bool) string {
	switch {
	case s.role == roleReadyWhen && visible("each"):
		return "readyWhen of a collection looks at one item, as each"
	case s.role == roleReadyWhen:
		return fmt.Sprintf("readyWhen may refer to its own %s only, by its id", c.noun())
	case name == "each":
		return "node each does not exist; each stands for an item in the readyWhen of a collection only"
	}
	if functions := cel.FunctionsOf(name); len(functions) > 0 {
		return "there are " + strings.Join(functions, ", ")
	}
	candidates := []string{"schema"}
	for _, d := range c.drafts {
		candidates = append(candidates, d.src.ID)
	}
	candidates = slices.DeleteFunc(candidates, func(name string) bool { return !visible(name) })
	return didYouMean(name, candidates)
}

// namesFor tells which names an expression of a node sees.
func (c *compiler) namesFor(d *draft, s *site) func(string) bool {
	switch s.role {
	case roleReadyWhen:
		selection := d.ref != nil && d.ref.Selector != nil
		items := len(d.src.ForEach) > 0 || selection
		return func(name string) bool {
			return name == "each" && items || name == d.src.ID && (!items || selection)
		}
	case roleTemplate, roleDefinition, roleKey:
		return func(name string) bool { return c.visible(d.frame)(name) || slices.Contains(d.iterators, name) }
	}
	return c.visible(d.frame)
}

// visible tells whether a name is one that all expressions of a frame see.
func (c *compiler) visible(frame int) func(name string) bool {
	return func(name string) bool {
		return name == "schema" && c.src.Door == DefinitionDoor || c.find(frame, name) != nil
	}
}

// siblings are the other iterators of the node that a forEach expression refers to.
func (d *draft) siblings(s *site) []string {
	var siblings []string
	for _, name := range s.references {
		if slices.Contains(d.iterators, name) {
			siblings = append(siblings, name)
		}
	}
	return siblings
}

// extracting names the place of an expression in messages.
func (s *site) extracting(d *draft) string {
	switch s.role {
	case roleForEach:
		return fmt.Sprintf("%s %q: failed to extract dependencies from forEach iterator %q", d.noun, d.name, s.iterator)
	case roleIncludeWhen, roleReadyWhen:
		return fmt.Sprintf("%s %q: failed to extract dependencies from %s", d.noun, d.name, strings.TrimRight(s.path, "[]0123456789"))
	}
	return fmt.Sprintf("%s %q at path %q: failed to extract dependencies", d.noun, d.name, s.path)
}

// checkIteratorsUsed reports iterators that do not become part of the identity of the items, which would then be one
// object many times.
func (c *compiler) checkIteratorsUsed(d *draft) {
	if len(d.iterators) == 0 || d.node.Body == nil || d.node.Kind != Template && d.node.Kind != Patch {
		return
	}
	used := map[string]bool{}
	for _, s := range d.identitySites() {
		if s.bad {
			return // told already; which names it would use is a guess
		}
		for _, name := range s.references {
			used[name] = true
		}
	}
	var missing []string
	for _, name := range d.iterators {
		if !used[name] && !slices.Contains(missing, name) {
			missing = append(missing, name)
		}
	}
	if len(missing) == 0 {
		return
	}
	hint := "let metadata.name or metadata.namespace depend on every iterator"
	if d.kind != nil && !d.kind.Namespaced {
		hint = "let metadata.name depend on every iterator"
	}
	c.report(d.at(fieldForEach, d.path+".forEach"), Diagnostic{Code: CodeIdentity, Hint: hint,
		Message: fmt.Sprintf("%snode %q: all forEach dimensions must be used to produce a unique resource identity, missing: [%s]",
			connecting, d.name, strings.Join(missing, " "))})
}

// connect makes the graph and its order, and reports cycles.
func (c *compiler) connect() {
	c.connectInline()
	c.edges = make([][]int, len(c.drafts))
	for i, d := range c.drafts {
		c.edges[i] = sortedIndexes(d.dependencies)
	}
	c.order = topologicalOrder(c.edges)
	if len(c.order) == len(c.drafts) {
		return
	}
	for _, cycle := range cycles(c.edges) {
		ids := make([]string, len(cycle))
		for i, v := range cycle {
			ids[i] = c.drafts[v].name
		}
		first := c.drafts[cycle[0]]
		c.report(first.at(fieldGraph, first.path), Diagnostic{Code: CodeCycle,
			Message: connecting + "graph contains a cycle: " + strings.Join(ids, " -> "),
			Hint:    "each refers to the next; one of the references has to go, or to be a field ${defer(…)} that may come later"})
	}
}

func sortedIndexes(set map[int]bool) []int {
	var indexes []int
	for i := range set {
		indexes = append(indexes, i)
	}
	slices.Sort(indexes)
	return indexes
}

// without lists the indexes of a set that another one does not have.
func without(set, other map[int]bool) []int {
	rest := map[int]bool{}
	for i := range set {
		if !other[i] {
			rest[i] = true
		}
	}
	return sortedIndexes(rest)
}
