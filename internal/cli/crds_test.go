package cli

import (
	"errors"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
)

// lists answers discovery by group version; what is not there is an error 404, or err.
type lists struct {
	discovery.ServerResourcesInterface
	kinds map[string]string
	err   error
}

func (l lists) ServerResourcesForGroupVersion(groupVersion string) (*metav1.APIResourceList, error) {
	kind, ok := l.kinds[groupVersion]
	switch {
	case l.err != nil:
		return nil, l.err
	case !ok:
		return nil, apierrors.NewNotFound(kschema.GroupResource{}, "")
	}
	return &metav1.APIResourceList{APIResources: []metav1.APIResource{{Kind: kind}}}, nil
}

func TestMissingCRDs(t *testing.T) {
	const definitions, revisions = "kro.run/v1alpha1", "internal.kro.run/v1alpha1"
	refused := errors.New("connection refused")
	cases := map[string]struct {
		client  lists
		missing string
		err     error
	}{
		"all are there": {lists{kinds: map[string]string{definitions: "ResourceGraphDefinition", revisions: "GraphRevision"}}, "", nil},
		"the group of a generated kind is there, the kind itself not": {
			lists{kinds: map[string]string{definitions: "App", revisions: "GraphRevision"}},
			"CustomResourceDefinition resourcegraphdefinitions.kro.run is not installed", nil,
		},
		"none is there": {
			lists{}, "CustomResourceDefinition resourcegraphdefinitions.kro.run is not installed\n" +
				"CustomResourceDefinition graphrevisions.internal.kro.run is not installed", nil,
		},
		"the server cannot be asked": {lists{err: refused}, "", refused},
	}
	for reason, c := range cases {
		missing, err := missingCRDs(c.client)
		text := ""
		if missing != nil {
			text = missing.Error()
		}
		if text != c.missing || !errors.Is(err, c.err) {
			t.Errorf("%s: missing %q, error %v", reason, text, err)
		}
	}
}
