package executor

import (
	"context"
	"errors"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"
)

// secretive is a Server that says of one namespace nothing.
type secretive struct{ Server }

// Get implements Server.
func (secretive) Get(_ context.Context, gvr kschema.GroupVersionResource, namespace, name string) (*unstructured.Unstructured, error) {
	if namespace == "hidden" {
		return nil, apierrors.NewForbidden(gvr.GroupResource(), name, errors.New("no"))
	}
	return nil, apierrors.NewNotFound(gvr.GroupResource(), name)
}

type noStores struct{ Stores }

// Members implements Stores.
func (noStores) Members(kschema.GroupVersionResource) Store { return nil }

func TestDoubtsThatCanBeSettledAre(t *testing.T) {
	e := &Executor{Memory: NewMemory(), Server: secretive{}}
	hidden, open := Key{GVR: widgets, Namespace: "hidden", Name: "a"}, Key{GVR: widgets, Namespace: "open", Name: "b"}
	e.Memory.doubt("owner", hidden)
	e.Memory.doubt("owner", open)
	if err := e.Settle(t.Context(), nil, "owner", noStores{}); !apierrors.IsForbidden(err) {
		t.Errorf("the error is %v", err)
	}
	if left := e.Memory.doubtful("owner"); len(left) != 1 || left[0] != hidden {
		t.Errorf("in doubt are %v, want only %v", left, hidden)
	}
}
