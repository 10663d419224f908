package graph

import "fmt"

// Limits on what an expression may refer to, beyond that the name must exist.

// checkValues reports references to patches, which have no value.
func (c *compiler) checkValues(s *site, message func(problem string) string) bool {
	for _, name := range s.references {
		if other := c.find(s.frame, name); other != nil && other.node.Kind == Patch && s.role != roleReadyWhen {
			c.report(s.at, Diagnostic{Code: CodeExpression,
				Message: message(fmt.Sprintf("references %q, which is a patch and has no value", name)),
				Hint:    "read the object with a reference of its own"})
			return false
		}
	}
	return true
}

// checkFrames reports an expression that reads nodes of two frames. Text around expressions is not one expression: each
// of those in it may read from another frame.
func (c *compiler) checkFrames(d *draft, s *site) bool {
	pieces := s.pieces
	if !s.joined {
		pieces = []string{s.text}
	}
	for _, piece := range pieces {
		parsed, err := c.parse(piece)
		if err != nil {
			continue // told for the text as a whole
		}
		var first *draft
		for _, name := range parsed.References {
			other := c.find(d.frame, name)
			if other == nil {
				continue
			}
			if first != nil && first.frame != other.frame {
				c.report(s.at, Diagnostic{Code: CodeExpression,
					Message: fmt.Sprintf("%s%s: expression %q reads nodes of different graphs: %q and %q", connecting, s.extracting(d), piece, first.name, other.name),
					Hint:    "give the value of one of them a name with a def in the graph of the other"})
				return false
			}
			first = other
		}
	}
	return true
}

// checkDefer reports defer(…) where a field cannot be left out until its data are there.
func (c *compiler) checkDefer(d *draft, s *site) bool {
	if !s.parsed.UsesDefer {
		return true
	}
	problem := ""
	switch {
	case s.role != roleTemplate:
		problem = "defer() can only be used in fields of a template or a patch"
	case s.joined || !s.parsed.Deferred:
		problem = "defer() must be the whole expression of a field, with nothing around it"
	case isIdentityPath(s.path):
		problem = "defer() cannot be used for what says which object it is"
	default:
		s.value.deferred = true
		return true
	}
	c.report(s.at, Diagnostic{Code: CodeExpression, Hint: "write the field as one ${defer(…)}",
		Message: fmt.Sprintf("%s%s: %s", connecting, s.extracting(d), problem)})
	return false
}

// isIdentityPath tells whether a field of a manifest is part of the identity of its object.
func isIdentityPath(path string) bool {
	switch path {
	case "apiVersion", "kind", "metadata.name", "metadata.namespace":
		return true
	}
	return false
}
