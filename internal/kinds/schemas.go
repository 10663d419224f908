package kinds

import (
	"container/list"
	"context"
	"fmt"
	"sync"
	"time"
	"weak"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"golang.org/x/sync/singleflight"

	"kro.run/kro/schema"
)

// keptSchemas bounds how many schemas of CRDs are held on the catalog's own account. Schemas that somebody uses live as long as they are used, and
// are found again without a request.
const keptSchemas = 64

// crdGetter fetches whole CRDs.
type crdGetter interface {
	Get(ctx context.Context, name string, options metav1.GetOptions) (*apiextensionsv1.CustomResourceDefinition, error)
}

// crdSchemas gives the kinds of CRDs from the CRDs themselves.
type crdSchemas struct {
	client crdGetter
	calls  caller
	keep   int

	flight singleflight.Group
	mu     sync.Mutex
	known  map[kschema.GroupVersionKind]*held
	recent *list.List // of *held with a strong reference, the latest first
}

// held is a resolved kind. Its schema is held weakly, and strongly too while it is among the recent ones.
type held struct {
	uid        types.UID
	generation int64
	fetched    time.Time
	kind       schema.Kind // without the schema
	root       weak.Pointer[schema.Node]
	strong     *schema.Node
	place      *list.Element
}

// resolve gives a version of a CRD that is known to be at least at the given generation.
func (s *crdSchemas) resolve(ctx context.Context, info *CRDInfo, gvk kschema.GroupVersionKind) (*schema.Kind, error) {
	fits := func(h *held) bool { return h.uid == info.UID && h.generation >= info.Generation }
	if kind := s.recall(gvk, fits); kind != nil {
		return kind, nil
	}
	return s.fetch(ctx, info.Name, fmt.Sprint(info.UID, "/", info.Generation), gvk)
}

// resolveNow gives a version of a CRD of which only the name is known. Until the catalog watches CRDs, what was fetched is believed for a moment.
func (s *crdSchemas) resolveNow(ctx context.Context, name string, gvk kschema.GroupVersionKind) (*schema.Kind, error) {
	since := s.calls.now().Add(-missAge)
	if kind := s.recall(gvk, func(h *held) bool { return h.fetched.After(since) }); kind != nil {
		return kind, nil
	}
	return s.fetch(ctx, name, "", gvk)
}

// recall finds a kind that is still in memory.
func (s *crdSchemas) recall(gvk kschema.GroupVersionKind, fits func(*held) bool) *schema.Kind {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.known[gvk]
	if h == nil || !fits(h) {
		return nil
	}
	root := h.root.Value()
	if root == nil {
		return nil
	}
	s.touch(h, root)
	s.calls.hooks.Hit()
	kind := h.kind
	kind.Schema = root
	return &kind
}

func (s *crdSchemas) fetch(ctx context.Context, name, state string, gvk kschema.GroupVersionKind) (*schema.Kind, error) {
	s.calls.hooks.Miss()
	kind, err := s.calls.once(&s.flight, fmt.Sprint(name, "/", state, "/", gvk.Version), func() (any, error) {
		asked := s.calls.now()
		crd, err := s.client.Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil, &schema.NotFoundError{GVK: gvk}
		}
		if err != nil {
			return nil, fmt.Errorf("reading CustomResourceDefinition %s: %w", name, err)
		}
		kind, err := kindOf(crd, gvk)
		if err != nil {
			return nil, err
		}
		s.remember(crd, kind, asked)
		return kind, nil
	})
	if err != nil {
		return nil, err
	}
	return kind.(*schema.Kind), nil
}

// kindOf converts one version of a CRD.
func kindOf(crd *apiextensionsv1.CustomResourceDefinition, gvk kschema.GroupVersionKind) (*schema.Kind, error) {
	if crd.Spec.Group != gvk.Group || crd.Spec.Names.Kind != gvk.Kind || !isEstablished(crd) {
		return nil, &schema.NotFoundError{GVK: gvk}
	}
	for i := range crd.Spec.Versions {
		if version := crd.Spec.Versions[i]; version.Served && version.Name == gvk.Version {
			alone := *crd
			alone.Spec.Versions = []apiextensionsv1.CustomResourceDefinitionVersion{version}
			kinds, err := schema.FromCRD(&alone)
			if err != nil {
				return nil, err
			}
			return kinds[0], nil
		}
	}
	return nil, &schema.NotFoundError{GVK: gvk}
}

func isEstablished(crd *apiextensionsv1.CustomResourceDefinition) bool {
	for _, condition := range crd.Status.Conditions {
		if condition.Type == apiextensionsv1.Established {
			return condition.Status == apiextensionsv1.ConditionTrue
		}
	}
	return false
}

func (s *crdSchemas) remember(crd *apiextensionsv1.CustomResourceDefinition, kind *schema.Kind, asked time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if old := s.known[kind.GVK]; old != nil {
		s.drop(old)
	}
	h := &held{uid: crd.UID, generation: crd.Generation, fetched: asked, kind: *kind, root: weak.Make(kind.Schema)}
	h.kind.Schema = nil
	s.known[kind.GVK] = h
	s.touch(h, kind.Schema)
}

// forget drops a kind whose CRD is gone.
func (s *crdSchemas) forget(gk kschema.GroupKind) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for gvk, h := range s.known {
		if gvk.GroupKind() == gk {
			s.drop(h)
			delete(s.known, gvk)
		}
	}
	s.calls.hooks.Size(s.recent.Len())
}

// touch makes h the most recent one, and lets go of the least recent ones beyond the bound.
func (s *crdSchemas) touch(h *held, root *schema.Node) {
	h.strong = root
	if h.place != nil {
		s.recent.MoveToFront(h.place)
		return
	}
	h.place = s.recent.PushFront(h)
	for s.recent.Len() > s.keep {
		s.drop(s.recent.Back().Value.(*held))
		s.calls.hooks.Evicted()
	}
	for gvk, h := range s.known {
		if h.place == nil && h.root.Value() == nil {
			delete(s.known, gvk)
		}
	}
	s.calls.hooks.Size(s.recent.Len())
}

func (s *crdSchemas) drop(h *held) {
	if h.place != nil {
		s.recent.Remove(h.place)
	}
	h.place, h.strong = nil, nil
}
