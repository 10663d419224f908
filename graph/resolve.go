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
	d.dependencies, d.include = map[int]bool{}, map[int]bool{}
	for _, s := range d.sites {
		if s.bad || !c.resolveSite(d, s) {
			s.bad = true
			continue
		}
		if s.role == roleReadyWhen {
			continue // it looks at the node itself, after the fact
		}
		for _, name := range s.references {
			if other := c.byID[name]; other != nil {
				d.dependencies[other.index] = true
				if s.role == roleIncludeWhen {
					d.include[other.index] = true
				}
			}
		}
	}
	c.checkIteratorsUsed(d)
}

// resolveSite parses an expression of a node and tells whether the names in it are ones it may use.
func (c *compiler) resolveSite(d *draft, s *site) bool {
	if !c.read(s, fmt.Sprintf("failed to build dependency graph: %s: ", s.extracting(d))) {
		return false
	}
	if s.role == roleTemplate && slices.ContainsFunc(s.references, func(name string) bool { return slices.Contains(d.badIterators, name) }) {
		return false // told with the names
	}
	if s.role == roleForEach {
		if siblings := d.siblings(s); len(siblings) > 0 {
			c.report(s.at, Diagnostic{Code: CodeExpression,
				Message: fmt.Sprintf("failed to build dependency graph: node %q: forEach iterator %q cannot reference other iterators %v - forEach iterators are independent (cartesian product)",
					d.src.ID, s.iterator, siblings),
				Hint: "build one list of all combinations: a.map(x, x.parts.map(y, {'x': x, 'y': y})).flatten()"})
			return false
		}
	}
	if !c.checkScope(s, c.namesFor(d, s), func(problem string) string {
		switch s.role {
		case roleReadyWhen:
			return fmt.Sprintf("failed to validate resource %q: resource %q readyWhen: %s", d.src.ID, d.src.ID, problem)
		case roleIncludeWhen:
			return fmt.Sprintf("failed to build dependency graph: resource %q includeWhen: %s", d.src.ID, problem)
		}
		return fmt.Sprintf("failed to build dependency graph: %s: %s", s.extracting(d), problem)
	}) {
		return false
	}
	if s.role != roleReadyWhen && slices.Contains(s.references, d.src.ID) {
		c.report(s.at, Diagnostic{Code: CodeCycle,
			Message: fmt.Sprintf("failed to build dependency graph: node %q: self references are not allowed, found in expression %q", d.src.ID, s.text),
			Hint:    "repeat the expression that gives the value, or read the object after the fact in status or readyWhen"})
		return false
	}
	return true
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
		return true
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
		return "readyWhen may refer to its own resource only, by its id"
	case name == "each":
		return "each stands for an item in the readyWhen of a collection only"
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
		selection := d.src.Ref != nil && d.src.Ref.Selector != nil
		items := len(d.src.ForEach) > 0 || selection
		return func(name string) bool {
			return name == "each" && items || name == d.src.ID && (!items || selection)
		}
	case roleTemplate:
		return func(name string) bool { return c.visible(name) || slices.Contains(d.iterators, name) }
	}
	return c.visible
}

// visible tells whether a name is one that all expressions see.
func (c *compiler) visible(name string) bool { return name == "schema" || c.byID[name] != nil }

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
		return fmt.Sprintf("resource %q: failed to extract dependencies from forEach iterator %q", d.src.ID, s.iterator)
	case roleIncludeWhen, roleReadyWhen:
		return fmt.Sprintf("resource %q: failed to extract dependencies from %s", d.src.ID, strings.TrimRight(s.path, "[]0123456789"))
	}
	return fmt.Sprintf("resource %q at path %q: failed to extract dependencies", d.src.ID, s.path)
}

// checkIteratorsUsed reports iterators that do not become part of the identity of the items, which would then be one
// object many times.
func (c *compiler) checkIteratorsUsed(d *draft) {
	if len(d.iterators) == 0 || d.src.Template == nil || d.node.Body == nil {
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
		Message: fmt.Sprintf("failed to build dependency graph: node %q: all forEach dimensions must be used to produce a unique resource identity, missing: [%s]",
			d.src.ID, strings.Join(missing, " "))})
}

// connect makes the graph and its order, and reports cycles.
func (c *compiler) connect() {
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
			ids[i] = c.drafts[v].src.ID
		}
		first := c.drafts[cycle[0]]
		c.report(first.at(fieldGraph, first.path), Diagnostic{Code: CodeCycle,
			Message: "failed to build dependency graph: graph contains a cycle: " + strings.Join(ids, " -> "),
			Hint:    "each refers to the next; one of the references has to go"})
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
