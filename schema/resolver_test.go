package schema

import (
	"errors"
	"testing"

	kschema "k8s.io/apimachinery/pkg/runtime/schema"
)

type resolverFunc func(kschema.GroupVersionKind) (*Kind, error)

func (f resolverFunc) Resolve(gvk kschema.GroupVersionKind) (*Kind, error) { return f(gvk) }

func TestJoin(t *testing.T) {
	gvk := kschema.GroupVersionKind{Group: "g", Version: "v1", Kind: "K"}
	first, second := &Kind{GVK: gvk, Resource: "first"}, &Kind{GVK: gvk, Resource: "second"}
	down := errors.New("down")
	failing := resolverFunc(func(kschema.GroupVersionKind) (*Kind, error) { return nil, down })
	cases := map[string]struct {
		reason    string
		resolvers []Resolver
		want      *Kind
		err       error
	}{
		"First":   {"the first that knows it answers", []Resolver{Static(), Static(first), Static(second), failing}, first, nil},
		"Twice":   {"of two in one, too", []Resolver{Static(first, second)}, first, nil},
		"Failing": {"a later one might answer otherwise than the one that cannot answer", []Resolver{failing, Static(second)}, nil, down},
		"Nobody":  {"nobody knows it", []Resolver{Static(), Static()}, nil, &NotFoundError{GVK: gvk}},
		"None":    {"nobody is asked", nil, nil, &NotFoundError{GVK: gvk}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := Join(c.resolvers...).Resolve(gvk)
			if got != c.want {
				t.Errorf("%s: got %v, want %v", c.reason, got, c.want)
			}
			var missing *NotFoundError
			switch {
			case c.err == nil && err != nil, c.err == down && !errors.Is(err, down):
				t.Errorf("%s: got error %v, want %v", c.reason, err, c.err)
			case c.err != nil && c.err != down && (!errors.As(err, &missing) || missing.GVK != gvk):
				t.Errorf("%s: got error %v, want %v", c.reason, err, c.err)
			}
		})
	}
}
