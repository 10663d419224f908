package graph

import (
	"context"
	"errors"

	"kro.run/kro/cel"
)

// Value is a compiled part of a document: a tree of literals and expressions.
type Value struct{}

// Eval returns the JSON value of the tree. omit() removes the map entry or list element it stands in. What it returns
// belongs to the caller and may be changed, except for the bytes of strings. The error is a *ValueError.
func (v *Value) Eval(ctx context.Context, vars cel.Activation) (any, error) {
	return nil, errors.New("not built yet")
}

// ValueError says which expression of a Value failed.
type ValueError struct {
	// Path is the place inside the Value, as in spec.replicas.
	Path string
	// Err is a *cel.EvalError unless the result could not be converted to JSON.
	Err error
}

// Error returns the text of the cause; the path is for those who want it.
func (e *ValueError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *ValueError) Unwrap() error { return e.Err }

// Projection maps the nodes of a program to the status fields that the author declared.
type Projection struct{}

// Eval evaluates every leaf on its own. A leaf that fails is absent from the status and reported, in document order.
func (p *Projection) Eval(ctx context.Context, vars cel.Activation) (map[string]any, []*LeafError) {
	return nil, nil
}

// LeafError says which leaf of a Projection failed.
type LeafError struct {
	// Path is the place in the status, as in endpoint.host.
	Path string
	Err  error
	// Pending tells that data is missing that may still come.
	Pending bool
}

// Error returns the path and the cause.
func (e *LeafError) Error() string { return "status." + e.Path + ": " + e.Err.Error() }

// Unwrap returns the cause.
func (e *LeafError) Unwrap() error { return e.Err }
