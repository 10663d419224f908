// Package cel is the expression language of a graph: it finds expressions in text, types them from OpenAPI schemas, compiles and evaluates them.
//
// In come strings of a document and schema nodes. Scan splits a string into text and expressions, and Join makes one CEL source of them. Types turns
// schema nodes into CEL types, Env holds the typed variables of one place in the document, and Env.Compile checks a source against them once and
// gives an immutable Expression. Its Eval takes values that Types.Value wraps and gives a CEL value, which ToJSON turns into a JSON value again.
//
// The one rule of the package is that compile time and run time agree: a field that checks as a timestamp is a timestamp when it is read, bytes are
// bytes, and a name that does not check cannot be reached. Both sides therefore read the same classification of a schema node (see kind in shape.go).
//
// Two things differ from bare cel-go on purpose. Struct types are interned by shape, so a ternary over equal fields of two kinds checks. And
// comprehensions over maps visit keys in sorted order, so that evaluating twice gives the same list.
//
// The package knows no cluster and no clock. kro's own functions live in the sub-package library.
package cel
