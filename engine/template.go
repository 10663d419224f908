package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"k8s.io/apimachinery/pkg/runtime"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"

	"kro.run/kro/cel"
	"kro.run/kro/graph"
	"kro.run/kro/schema"
)

func (p *Pass) resolveTemplate(ctx context.Context, n *node) error {
	if len(n.def.ForEach) == 0 {
		desired, err := p.render(ctx, n, scope{p, n})
		if err != nil {
			return err
		}
		n.desired = []Desired{desired}
		return nil
	}
	axes, err := p.axes(ctx, n)
	if err != nil {
		return err
	}
	desired := make([]Desired, 0, product(axes))
	err = eachCombination(axes, func(values []ref.Val) error {
		names := make(map[string]ref.Val, len(values))
		for i, v := range values {
			names[n.def.ForEach[i].Name] = v
		}
		item, err := p.render(ctx, n, overlay{names: names, parent: scope{p, n}})
		if err != nil {
			return err
		}
		desired = append(desired, item)
		return nil
	})
	if err != nil {
		return err
	}
	n.desired = desired
	p.options.Meter.collection(len(desired))
	return nil
}

// axes evaluates the lists of a forEach and bounds the size of their product.
func (p *Pass) axes(ctx context.Context, n *node) ([][]ref.Val, error) {
	axes := make([][]ref.Val, len(n.def.ForEach))
	size, limit := 1, p.options.maxCollectionSize()
	for i, it := range n.def.ForEach {
		values, err := list(ctx, it, scope{p, n})
		if err != nil {
			return nil, err
		}
		axes[i] = values
		size *= len(values)
		if size > limit {
			return nil, fmt.Errorf("collection size of %d is over the maximum collection size of %d", size, limit)
		}
	}
	return axes, nil
}

func list(ctx context.Context, it graph.Iterator, act cel.Activation) ([]ref.Val, error) {
	value, err := it.List.Eval(ctx, act)
	if err != nil {
		return nil, fmt.Errorf("forEach %q: %w", it.Name, err)
	}
	lister, ok := value.(traits.Lister)
	if !ok {
		if native, convErr := cel.ToJSON(value); convErr == nil && native == nil {
			return nil, fmt.Errorf("forEach %q: expression %q returned null, expected list", it.Name, it.List.Source())
		}
		return nil, fmt.Errorf("forEach %q: expression %q returned %s, expected list", it.Name, it.List.Source(), value.Type().TypeName())
	}
	var values []ref.Val
	for i := lister.Iterator(); i.HasNext() == trueVal; {
		values = append(values, i.Next())
	}
	return values, nil
}

func product(axes [][]ref.Val) int {
	size := 1
	for _, a := range axes {
		size *= len(a)
	}
	return size
}

// eachCombination calls f with every element of the cartesian product; the last axis varies fastest.
func eachCombination(axes [][]ref.Val, f func([]ref.Val) error) error {
	values := make([]ref.Val, len(axes))
	var walk func(int) error
	walk = func(axis int) error {
		if axis == len(axes) {
			return f(values)
		}
		for _, v := range axes[axis] {
			values[axis] = v
			if err := walk(axis + 1); err != nil {
				return err
			}
		}
		return nil
	}
	return walk(0)
}

// render evaluates the template once and fixes the identity of the object.
func (p *Pass) render(ctx context.Context, n *node, act cel.Activation) (Desired, error) {
	raw, err := n.def.Body.Eval(ctx, act)
	if err == nil && len(n.unmet) > 0 {
		raw, err = p.renderOver(ctx, n, act, raw)
	}
	if err != nil {
		return Desired{}, fmt.Errorf("failed to evaluate expression: %w", err)
	}
	object, ok := raw.(map[string]any)
	if !ok {
		return Desired{}, fmt.Errorf("the template gave %T, expected an object", raw)
	}
	metadata, ok := object["metadata"].(map[string]any)
	if !ok {
		return Desired{}, fmt.Errorf("metadata is %T, expected an object", object["metadata"])
	}
	name, ok := metadata["name"].(string)
	if !ok || name == "" {
		return Desired{}, fmt.Errorf("metadata.name must be a non-empty string, got %v", metadata["name"])
	}
	kind, err := p.kindOf(n, object["apiVersion"], object["kind"])
	if err != nil {
		return Desired{}, err
	}
	namespace, err := p.namespace(n, kind.namespaced, metadata)
	if err != nil {
		return Desired{}, err
	}
	if len(n.unmet) > 0 {
		n.rendered = append(n.rendered, runtime.DeepCopyJSON(object)) // the driver adds to what it gets
	}
	return Desired{
		Identity: Identity{Group: kind.gvk.Group, Kind: kind.gvk.Kind, Namespace: namespace, Name: name},
		GVK:      kind.gvk, Resource: kind.resource, Object: object,
	}, nil
}

// resolvedKind is what kind of object a node is about.
type resolvedKind struct {
	gvk        kschema.GroupVersionKind
	resource   kschema.GroupVersionResource
	namespaced bool
}

// kindOf gives the kind of a node: the one of the document, or for a dynamic node the one that its expressions gave.
func (p *Pass) kindOf(n *node, apiVersion, kind any) (resolvedKind, error) {
	if !n.def.Dynamic {
		return resolvedKind{gvk: n.def.GVK, resource: n.def.Resource, namespaced: n.def.Namespaced}, nil
	}
	version, _ := apiVersion.(string)
	name, _ := kind.(string)
	gv, err := kschema.ParseGroupVersion(version)
	if err != nil || version == "" || name == "" {
		return resolvedKind{}, fmt.Errorf("apiVersion %v and kind %v do not name a kind", apiVersion, kind)
	}
	gvk := gv.WithKind(name)
	if p.options.Resolve == nil {
		return resolvedKind{}, fmt.Errorf("%s: kinds that expressions give cannot be resolved here", gvk)
	}
	resource, namespaced, err := p.options.Resolve(gvk)
	var missing *schema.NotFoundError
	if errors.As(err, &missing) {
		p.missing = append(p.missing, gvk)
		return resolvedKind{}, &MissingKindError{GVK: gvk}
	}
	if err != nil {
		return resolvedKind{}, fmt.Errorf("resolving %s: %w", gvk, err)
	}
	return resolvedKind{gvk: gvk, resource: resource, namespaced: namespaced}, nil
}

// MissingKindError says that a kind which an expression gave is not served. The node waits for it.
type MissingKindError struct {
	GVK kschema.GroupVersionKind
}

// Error names the kind.
func (e *MissingKindError) Error() string {
	return fmt.Sprintf("kind %s of %s is not served", e.GVK.Kind, e.GVK.GroupVersion())
}

// ScopeError says that an object of a cluster-scoped instance has no namespace to be in.
type ScopeError struct {
	Node string
}

// Error names the node and the field.
func (e *ScopeError) Error() string {
	return fmt.Sprintf("node %q is namespaced and must resolve metadata.namespace when the instance is cluster-scoped", e.Node)
}

// namespace settles metadata.namespace: namespaced objects default to the instance's namespace.
func (p *Pass) namespace(n *node, namespaced bool, metadata map[string]any) (string, error) {
	if !namespaced {
		delete(metadata, "namespace")
		return "", nil
	}
	namespace, _ := metadata["namespace"].(string)
	if namespace == "" {
		namespace = p.defaultNamespace()
	}
	if namespace == "" {
		return "", &ScopeError{Node: n.def.ID}
	}
	metadata["namespace"] = namespace
	return namespace, nil
}

func (p *Pass) defaultNamespace() string {
	if p.options.Namespace != "" {
		return p.options.Namespace
	}
	metadata, _ := p.instance["metadata"].(map[string]any)
	namespace, _ := metadata["namespace"].(string)
	return namespace
}
