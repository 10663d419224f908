package kinds

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsclient "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset/typed/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"kro.run/kro/schema"
)

// startServer runs a real API server, or skips the test when there are no binaries for one.
func startServer(t *testing.T) *rest.Config {
	t.Helper()
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		t.Skip("KUBEBUILDER_ASSETS names no directory with etcd and kube-apiserver")
	}
	server := &envtest.Environment{}
	cfg, err := server.Start()
	if err != nil {
		t.Fatalf("starting an API server: %v", err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Errorf("stopping the API server: %v", err)
		}
	})
	return cfg
}

func gadgets(properties map[string]apiextensionsv1.JSONSchemaProps) *apiextensionsv1.CustomResourceDefinition {
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "gadgets.foreign.example.org", Labels: map[string]string{"team": "a"}},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: "foreign.example.org", Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Kind: "Gadget", Plural: "gadgets", Singular: "gadget", ListKind: "GadgetList"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: "v1", Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
					Type: "object", ExternalDocs: &apiextensionsv1.ExternalDocumentation{URL: "https://example.org"},
					Properties: map[string]apiextensionsv1.JSONSchemaProps{"spec": {Type: "object", Properties: properties}},
				}},
			}},
		},
	}
}

// await takes changes until one is as wanted.
func await(t *testing.T, changes <-chan Change, wanted string, is func(Change) bool) Change {
	t.Helper()
	deadline := time.After(time.Minute)
	for {
		select {
		case change := <-changes:
			if is(change) {
				return change
			}
		case <-deadline:
			t.Fatalf("no change came: wanted %s", wanted)
		}
	}
}

func TestCatalogOnARealServer(t *testing.T) {
	cfg := startServer(t)
	ctx, stop := context.WithCancel(context.Background())
	crds := apiextensionsclient.NewForConfigOrDie(cfg).CustomResourceDefinitions()
	gadget := kschema.GroupVersionKind{Group: "foreign.example.org", Version: "v1", Kind: "Gadget"}

	counting := rest.CopyConfig(cfg)
	requests := &requestLog{}
	counting.Wrap(requests.wrap)
	catalog, err := New(counting, logr.Discard(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	deployment, err := catalog.Resolve(kschema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"})
	if err != nil {
		t.Fatalf("a built-in kind before Start: %v", err)
	}
	embedded, err := schema.Embedded().Resolve(deployment.GVK)
	if err != nil {
		t.Fatal(err)
	}
	if deployment.Fingerprint != embedded.Fingerprint {
		t.Errorf("the server's Deployment and the embedded one of the same Kubernetes differ: %s", cmp.Diff(describe(embedded.Schema), describe(deployment.Schema)))
	}

	changes := make(chan Change, 100)
	catalog.Subscribe(func(change Change) { changes <- change })
	ended := make(chan error, 1)
	go func() { ended <- catalog.Start(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("Start ended with %v", err)
		}
	})

	var missing *schema.NotFoundError
	if _, err := catalog.Resolve(gadget); !errors.As(err, &missing) {
		t.Fatalf("a kind without a CRD: got %v, want a NotFoundError", err)
	}
	if _, _, err := catalog.Mapping(gadget.GroupKind()); !errors.As(err, &missing) {
		t.Fatalf("mapping of a kind without a CRD: got %v, want a NotFoundError", err)
	}

	created, err := crds.Create(ctx, gadgets(map[string]apiextensionsv1.JSONSchemaProps{"size": {Type: "integer"}}), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	got := await(t, changes, "an established Gadget", func(c Change) bool { return c.Established })
	want := Change{
		Name: "gadgets.foreign.example.org", Group: "foreign.example.org", Kind: "Gadget", Plural: "gadgets",
		Versions: []string{"v1"}, Labels: map[string]string{"team": "a"}, Established: true,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("change when the CRD is established (-want +got):\n%s", diff)
	}
	first, err := catalog.Resolve(gadget)
	if err != nil {
		t.Fatalf("right after the CRD was established: %v", err)
	}
	if spec := first.Schema.Properties["spec"]; spec.Properties["size"] == nil || spec.Properties["color"] != nil {
		t.Errorf("schema of the new CRD: got spec %v, want size alone", describe(spec))
	}
	gvr, namespaced, err := catalog.Mapping(gadget.GroupKind())
	if err != nil || !namespaced || gvr != gadget.GroupVersion().WithResource("gadgets") {
		t.Errorf("mapping of the new CRD: got %v, namespaced %v, error %v", gvr, namespaced, err)
	}

	established, err := crds.Get(ctx, created.Name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	established.Spec = gadgets(map[string]apiextensionsv1.JSONSchemaProps{"size": {Type: "integer"}, "color": {Type: "string"}}).Spec
	if _, err := crds.Update(ctx, established, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	await(t, changes, "a changed spec", func(c Change) bool { return c.SpecChanged && c.Established })
	second, err := catalog.Resolve(gadget)
	if err != nil {
		t.Fatal(err)
	}
	if second.Schema.Properties["spec"].Properties["color"] == nil || second.Fingerprint == first.Fingerprint {
		t.Errorf("schema after the update: got spec %v, want color in it and another fingerprint", describe(second.Schema.Properties["spec"]))
	}

	if err := crds.Delete(ctx, created.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	await(t, changes, "a deletion", func(c Change) bool { return c.Deleted })
	if _, err := catalog.Resolve(gadget); !errors.As(err, &missing) {
		t.Errorf("after the CRD was deleted: got %v, want a NotFoundError", err)
	}
	if _, _, err := catalog.Mapping(gadget.GroupKind()); !errors.As(err, &missing) {
		t.Errorf("mapping after the CRD was deleted: got %v, want a NotFoundError", err)
	}
	t.Logf("requests:\n%s", strings.Join(requests.lines(), "\n"))
}

// TestEmbeddedKindsAreThoseOfTheServer holds the snapshot against a server of the same version: every kind that the server serves is in it, equal.
func TestEmbeddedKindsAreThoseOfTheServer(t *testing.T) {
	catalog, err := New(startServer(t), logr.Discard(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	known, err := catalog.directory.get(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if len(known.kinds) < 40 {
		t.Fatalf("the server serves %d kinds, expected at least 40", len(known.kinds))
	}
	for gk, at := range known.kinds {
		gvk := gk.WithVersion(at.gvr.Version)
		t.Run(fmt.Sprint(gvk), func(t *testing.T) {
			live, err := catalog.Resolve(gvk)
			if err != nil {
				t.Fatal(err)
			}
			if live.Resource != at.gvr.Resource || live.Namespaced != at.namespaced {
				t.Errorf("from OpenAPI: %s, namespaced %v; from discovery: %s, namespaced %v", live.Resource, live.Namespaced, at.gvr.Resource, at.namespaced)
			}
			embedded, err := schema.Embedded().Resolve(gvk)
			if err != nil {
				t.Fatal(err)
			}
			if live.Fingerprint != embedded.Fingerprint {
				t.Errorf("the server's schema and the embedded one differ")
			}
		})
	}
}
