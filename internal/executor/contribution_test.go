package executor

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"

	"kro.run/kro/api/v1alpha1"
)

func TestPatchManagers(t *testing.T) {
	mine, renamed, theirs := PatchManager("uid-1", "a"), PatchManager("uid-1", "b"), PatchManager("uid-2", "a")
	for reason, c := range map[string]struct {
		manager string
		want    bool
	}{
		"a node of the owner":          {mine, true},
		"a node that it has no more":   {renamed, true},
		"another owner":                {theirs, false},
		"the owner's templates":        {TemplateManager("uid-1"), false},
		"a person":                     {"kubectl-edit", false},
		"the prefix alone is nobody's": {v1alpha1.PatchManagerPrefix, false},
	} {
		if got := IsPatchManagerOf("uid-1", c.manager); got != c.want {
			t.Errorf("%s (%s): %t, want %t", reason, c.manager, got, c.want)
		}
	}
	if mine == renamed || mine == theirs {
		t.Errorf("two nodes share a manager: %s %s %s", mine, renamed, theirs)
	}
	// The server refuses names over 128 characters.
	if long := PatchManager("uid-1", strings.Repeat("graph/", 100)); len(long) > 128 {
		t.Errorf("%s is too long", long)
	}
}

// target is a server with at most one object, that notes what it is sent.
type target struct {
	Server
	object  *unstructured.Unstructured
	applied []string
}

var widgets = kschema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "widgets"}

// Get implements Server.
func (s *target) Get(_ context.Context, gvr kschema.GroupVersionResource, _, name string) (*unstructured.Unstructured, error) {
	if s.object == nil {
		return nil, apierrors.NewNotFound(gvr.GroupResource(), name)
	}
	return s.object, nil
}

// Apply implements Server.
func (s *target) Apply(_ context.Context, _ kschema.GroupVersionResource, o *unstructured.Unstructured, options ApplyOptions) (*unstructured.Unstructured, error) {
	s.applied = append(s.applied, fmt.Sprintf("%s uid=%s fields=%d manager=%s/%s", Describe(o), options.UID, len(o.Object), options.Manager, options.Subresource))
	return o, nil
}

func TestRelease(t *testing.T) {
	there := &unstructured.Unstructured{}
	there.SetUID("7")
	manager := PatchManager("uid-1", "a")
	for reason, c := range map[string]struct {
		object  *unstructured.Unstructured
		manager string
		refused bool
		want    []string
	}{
		"nothing but the identity is applied": {there, manager, false, []string{"Widget ns/w uid=7 fields=3 manager=" + manager + "/status"}},
		"what is gone is not created":         {nil, manager, false, nil},
		"only a patch is released":            {there, "kubectl", true, nil},
	} {
		t.Run(reason, func(t *testing.T) {
			server := &target{object: c.object}
			e := &Executor{Memory: NewMemory(), Slots: make(chan struct{}, 1)}
			err := e.Release(t.Context(), server, "uid-1", widgets, Contribution{
				GVK: widgets.GroupVersion().WithKind("Widget"), Namespace: "ns", Name: "w", Subresource: "status", Manager: c.manager,
			})
			if (err != nil) != c.refused || !slices.Equal(server.applied, c.want) {
				t.Errorf("error %v, applied %v, want %v", err, server.applied, c.want)
			}
		})
	}
}

func TestConflictingManagers(t *testing.T) {
	conflict := apierrors.NewApplyConflict([]metav1.StatusCause{
		{Type: metav1.CauseTypeFieldManagerConflict, Message: `conflict with "kubectl" using v1: .data.a`, Field: ".data.a"},
		{Type: metav1.CauseTypeFieldManagerConflict, Message: `conflict with "kubectl" using v1: .data.b`, Field: ".data.b"},
		{Type: metav1.CauseTypeFieldManagerConflict, Message: `conflict with "a \"quoted\" one": .data.c`, Field: ".data.c"},
		{Type: metav1.CauseTypeFieldManagerConflict, Message: "in words that nobody foresaw", Field: ".data.d"},
	}, "conflicts")
	want := []string{"kubectl", `a \"quoted\" one`, "another manager"}
	if got := conflictingManagers(conflict); !slices.Equal(got, want) {
		t.Errorf("managers %q, want %q", got, want)
	}
	if got := conflictingManagers(apierrors.NewConflict(widgets.GroupResource(), "w", nil)); got != nil {
		t.Errorf("managers of another conflict: %q", got)
	}
}
