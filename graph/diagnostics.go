package graph

import (
	"strings"

	kschema "k8s.io/apimachinery/pkg/runtime/schema"
)

// Diagnostic is one fault of a document.
type Diagnostic struct {
	// Path is the place in the document, as in spec.resources[1].template.spec.replicas.
	Path string
	// Code names the class of the fault; see the Code constants.
	Code string
	// Message says what was attempted on what, what was found, and what would be right.
	Message string
	// Hint, when not empty, names the form that would work.
	Hint string
	// Missing is the kind whose absence is the fault, when that is so: the same document may compile once the kind is
	// served.
	Missing kschema.GroupVersionKind
	// Transient tells that the fault is not one of the document: a question could not be answered, and compiling the
	// same document again may succeed.
	Transient bool
}

// Error returns the message, followed by the place and the hint.
func (d Diagnostic) Error() string {
	var b strings.Builder
	b.WriteString(d.Message)
	if d.Path != "" {
		b.WriteString(" (at ")
		b.WriteString(d.Path)
		b.WriteString(")")
	}
	if d.Hint != "" {
		b.WriteString("; hint: ")
		b.WriteString(d.Hint)
	}
	return b.String()
}

// Diagnostics are the faults of a document in document order.
type Diagnostics []Diagnostic

// Error joins the texts of all faults, a line each.
func (ds Diagnostics) Error() string {
	lines := make([]string, len(ds))
	for i, d := range ds {
		lines[i] = d.Error()
	}
	return strings.Join(lines, "\n")
}

// Missing returns the kinds whose absence is a fault, in document order and unique.
func (ds Diagnostics) Missing() []kschema.GroupVersionKind {
	var missing []kschema.GroupVersionKind
	seen := map[kschema.GroupVersionKind]bool{{}: true}
	for _, d := range ds {
		if !seen[d.Missing] {
			seen[d.Missing] = true
			missing = append(missing, d.Missing)
		}
	}
	return missing
}

// The classes of faults.
const (
	CodeName       = "Name"       // a name that is malformed, reserved or taken
	CodeSchema     = "Schema"     // the SimpleSchema of the API
	CodeShape      = "Shape"      // a part of the document that does not have the form it must have
	CodeKind       = "Kind"       // a kind that cannot be resolved
	CodeLiteral    = "Literal"    // a literal that does not fit the schema of its place
	CodeExpression = "Expression" // an expression that cannot be parsed or checked
	CodeType       = "Type"       // an expression whose type does not fit its place
	CodeIdentity   = "Identity"   // name, namespace or labels of an object that cannot be as written
	CodeCycle      = "Cycle"      // nodes that depend on each other
	CodeInternal   = "Internal"   // a fault of the compiler itself
)
