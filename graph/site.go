package graph

import (
	"fmt"

	"kro.run/kro/cel"
	"kro.run/kro/schema"
)

// A site is an expression at its place in the document. Reading the document collects sites; later phases look at the
// names that they use, check their types, and put the compiled expressions where they belong.

// role is what an expression is for. It decides what the expression may refer to and what it must return.
type role int

const (
	roleTemplate role = iota + 1
	roleReference
	roleForEach
	roleIncludeWhen
	roleReadyWhen
	roleStatus
	roleCondition
	// roleDefinition is a value of a def.
	roleDefinition
	// roleKey is a key of a map.
	roleKey
)

// seesIterators tells that such expressions are evaluated once for each combination of the iterators.
func (r role) seesIterators() bool { return r == roleTemplate || r == roleDefinition || r == roleKey }

// String is the name of the field that holds such expressions, for messages.
func (r role) String() string {
	switch r {
	case roleForEach:
		return "forEach"
	case roleIncludeWhen:
		return "includeWhen"
	case roleReadyWhen:
		return "readyWhen"
	case roleStatus, roleCondition:
		return "status"
	case roleReference:
		return "externalRef"
	case roleDefinition:
		return "def"
	}
	return "template"
}

func (r role) use() cel.Use {
	switch r {
	case roleTemplate, roleDefinition, roleKey:
		return cel.Template
	case roleStatus:
		return cel.Status
	case roleCondition:
		return cel.StatusConditions
	case roleIncludeWhen, roleReadyWhen:
		return cel.Condition
	}
	return cel.Iterator // neither omit() nor runtime
}

type site struct {
	role role
	at   place
	// path is the place inside the part of the document that role names: data.v, or a bare index.
	path string
	// text is CEL. Text around expressions has become part of it.
	text string
	// joined tells that text was made of more than one piece: the value is text too. pieces are the expressions in it.
	joined bool
	pieces []string
	// frame is the index of the frame whose names the expression sees.
	frame int
	// target is the schema of the field that takes the value; nil takes anything.
	target *schema.Node
	// value receives the compiled expression; nil when nobody needs it there.
	value *Value
	// iterator is the name that a forEach expression gives its elements.
	iterator string

	// parsed is nil until the names in the expression are resolved; references are those names.
	parsed     *cel.Parsed
	references []string
	// expr is nil until the site is compiled, and stays nil when it cannot be.
	expr *cel.Expression
	bad  bool
}

// wholeExpression reads a text that must be exactly one expression.
func wholeExpression(text string) (string, error) {
	segments, err := cel.Scan(text)
	if err != nil {
		return "", err
	}
	if !cel.Standalone(segments) {
		return "", fmt.Errorf("only standalone expressions are allowed, got %q", text)
	}
	return cel.Join(segments), nil
}

const standaloneHint = "write the whole text as one ${...} with nothing around it; in block text use |- or >- so that no line break follows"

// readExpression makes a site of a text that must be exactly one expression; nil, and a fault that begins with attempt,
// when it is something else.
func (c *compiler) readExpression(r role, at place, path, text, attempt string) *site {
	source, err := wholeExpression(text)
	if err != nil {
		c.report(at, Diagnostic{Code: CodeExpression, Message: attempt + err.Error(), Hint: standaloneHint})
		return nil
	}
	return &site{role: r, at: at, path: path, text: source}
}

// hasExpression tells whether a text contains `${`, finished or not.
func hasExpression(text string) bool {
	segments, err := cel.Scan(text)
	if err != nil {
		return true
	}
	return cel.HasExpression(segments)
}
