package engine

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"

	"kro.run/kro/cel"
	"kro.run/kro/graph"
)

// Target says which existing objects a reference reads.
type Target struct {
	GVK      kschema.GroupVersionKind
	Resource kschema.GroupVersionResource
	// Namespace is empty for cluster-scoped kinds, and for a selection over all namespaces.
	Namespace string
	// Name is set for a Reference.
	Name string
	// Selector is the text of a label selector, for a Selection; empty selects everything.
	Selector string
}

// path is namespace/name, or the name.
func (t *Target) path() string {
	if t.Namespace == "" {
		return t.Name
	}
	return t.Namespace + "/" + t.Name
}

func (p *Pass) resolveTarget(ctx context.Context, n *node) (*Target, error) {
	kind, err := p.targetKind(ctx, n)
	if err != nil {
		return nil, err
	}
	namespace, err := text(ctx, n.def.Ref.Namespace, scope{p, n}, "metadata.namespace")
	if err != nil {
		return nil, err
	}
	if !kind.namespaced {
		namespace = ""
	}
	if n.def.Kind == graph.Selection {
		selector, err := selector(ctx, n.def.Ref.Selector, scope{p, n})
		if err != nil {
			return nil, err
		}
		return &Target{GVK: kind.gvk, Resource: kind.resource, Namespace: namespace, Selector: selector}, nil
	}
	name, err := text(ctx, n.def.Ref.Name, scope{p, n}, "metadata.name")
	if err != nil {
		return nil, err
	}
	if name == "" {
		return nil, fmt.Errorf("metadata.name of the external reference is empty")
	}
	if kind.namespaced && namespace == "" {
		namespace = p.defaultNamespace()
	}
	if kind.namespaced && namespace == "" {
		return nil, fmt.Errorf("node %q is namespaced and must resolve metadata.namespace when the instance is cluster-scoped", n.def.ID)
	}
	return &Target{GVK: kind.gvk, Resource: kind.resource, Namespace: namespace, Name: name}, nil
}

// targetKind gives the kind that a reference reads.
func (p *Pass) targetKind(ctx context.Context, n *node) (resolvedKind, error) {
	if !n.def.Dynamic {
		return p.kindOf(n, nil, nil)
	}
	version, err := text(ctx, n.def.Ref.APIVersion, scope{p, n}, "apiVersion")
	if err != nil {
		return resolvedKind{}, err
	}
	name, err := text(ctx, n.def.Ref.Kind, scope{p, n}, "kind")
	if err != nil {
		return resolvedKind{}, err
	}
	return p.kindOf(n, version, name)
}

func text(ctx context.Context, value *graph.Value, act cel.Activation, path string) (string, error) {
	if value == nil {
		return "", nil
	}
	raw, err := value.Eval(ctx, act)
	if err != nil {
		return "", fmt.Errorf("failed to evaluate expression: %w", err)
	}
	switch s := raw.(type) {
	case string:
		return s, nil
	case nil:
		return "", nil
	default:
		return "", fmt.Errorf("%s is %T, expected a string", path, raw)
	}
}

// selector renders a label selector. It fails closed: a selector of the wrong shape must never select everything.
func selector(ctx context.Context, value *graph.Value, act cel.Activation) (string, error) {
	if value == nil {
		return "", nil
	}
	raw, err := value.Eval(ctx, act)
	if err != nil {
		return "", fmt.Errorf("failed to evaluate expression: %w", err)
	}
	object, ok := raw.(map[string]any)
	if !ok {
		return "", fmt.Errorf("metadata.selector is %T, expected a label selector (matchLabels, matchExpressions)", raw)
	}
	var decoded metav1.LabelSelector
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(object, &decoded, true); err != nil {
		return "", fmt.Errorf("metadata.selector is not a label selector: %w", err)
	}
	parsed, err := metav1.LabelSelectorAsSelector(&decoded)
	if err != nil {
		return "", fmt.Errorf("metadata.selector: %w", err)
	}
	return parsed.String(), nil
}
