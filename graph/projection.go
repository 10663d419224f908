package graph

import (
	"context"

	"kro.run/kro/cel"
	"kro.run/kro/schema"
)

// Projection maps the nodes of a program to the status fields that the author declared.
type Projection struct {
	root *projected
}

// projected is one place of a projection: an expression, an object or a list.
type projected struct {
	path string
	expr *cel.Expression
	// target is the schema of the field that takes the result of expr.
	target *schema.Node

	names  []string // of an object, sorted, each with an entry in places
	places []*projected
	list   bool

	site *site // while it is compiled
}

// Empty tells that the author declared no status fields.
func (p *Projection) Empty() bool { return len(p.root.places) == 0 }

// Eval evaluates every leaf on its own. A leaf that fails is absent from the status and reported, in document order; so
// is, without a report, a leaf without a value (null, or an optional that is none). An object or a list of which nothing
// is left is absent as well, and a list closes up over its absent elements.
func (p *Projection) Eval(ctx context.Context, vars cel.Activation) (map[string]any, []*LeafError) {
	var errs []*LeafError
	status, _ := p.root.eval(ctx, vars, &errs)
	if status == nil {
		return map[string]any{}, errs
	}
	return status.(map[string]any), errs
}

func (p *projected) eval(ctx context.Context, vars cel.Activation, errs *[]*LeafError) (any, bool) {
	if p.expr != nil {
		value, err := evalExpression(ctx, vars, p.expr, p.target)
		if err != nil {
			*errs = append(*errs, &LeafError{Path: p.path, Err: err, Pending: isPending(err)})
		}
		return value, err == nil && value != nil && !cel.IsOmitted(value)
	}
	if p.list {
		var items []any
		for _, place := range p.places {
			if item, there := place.eval(ctx, vars, errs); there {
				items = append(items, item)
			}
		}
		return items, items != nil
	}
	var object map[string]any
	for i, place := range p.places {
		value, there := place.eval(ctx, vars, errs)
		if !there {
			continue
		}
		if object == nil {
			object = map[string]any{}
		}
		object[p.names[i]] = value
	}
	if object == nil {
		return nil, false
	}
	return object, true
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
func (e *LeafError) Error() string { return joinPath("status", e.Path) + ": " + e.Err.Error() }

// Unwrap returns the cause.
func (e *LeafError) Unwrap() error { return e.Err }
