package schema

import (
	"errors"

	kschema "k8s.io/apimachinery/pkg/runtime/schema"
)

// Static resolves exactly the given kinds; of two with the same GroupVersionKind the first counts.
func Static(kinds ...*Kind) Resolver {
	known := make(static, len(kinds))
	for _, kind := range kinds {
		if _, taken := known[kind.GVK]; !taken {
			known[kind.GVK] = kind
		}
	}
	return known
}

type static map[kschema.GroupVersionKind]*Kind

func (s static) Resolve(gvk kschema.GroupVersionKind) (*Kind, error) {
	if kind, known := s[gvk]; known {
		return kind, nil
	}
	return nil, &NotFoundError{GVK: gvk}
}

// Join asks the resolvers in turn; the first that knows the kind answers. A resolver that fails for another reason than *NotFoundError ends the
// search: a later one might answer with another schema than the one that could not be read.
func Join(resolvers ...Resolver) Resolver {
	return joined(resolvers)
}

type joined []Resolver

func (j joined) Resolve(gvk kschema.GroupVersionKind) (*Kind, error) {
	for _, resolver := range j {
		kind, err := resolver.Resolve(gvk)
		if err == nil {
			return kind, nil
		}
		var missing *NotFoundError
		if !errors.As(err, &missing) {
			return nil, err
		}
	}
	return nil, &NotFoundError{GVK: gvk}
}
