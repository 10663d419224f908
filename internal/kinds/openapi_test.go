package kinds

import (
	"errors"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"kro.run/kro/schema"
)

func TestBuiltInKinds(t *testing.T) {
	server, clock := newFakeServer(t), newClock()
	catalog := newCatalog(t, server, clock, Hooks{})
	for range 3 {
		if _, err := catalog.Resolve(deployment); err != nil {
			t.Fatal(err)
		}
		if gvr, namespaced, err := catalog.Mapping(deployment.GroupKind()); err != nil || !namespaced || gvr.Resource != "deployments" {
			t.Errorf("mapping: got %v, namespaced %v, error %v", gvr, namespaced, err)
		}
	}
	want := []string{"GET /api", "GET /apis", "GET /apis/apps/v1", "GET /openapi/v3", "GET /openapi/v3/apis/apps/v1"}
	if diff := cmp.Diff(want, slices.Sorted(slices.Values(server.lines()))); diff != "" {
		t.Errorf("requests of three questions each (-want +got):\n%s", diff)
	}
	_, _, err := catalog.Mapping(kschema.GroupKind{Group: "autoscaling", Kind: "Scale"})
	wantNotFound(t, "the kind of a subresource", err)
}

func TestDocumentIsFetchedAgainWhenItsHashChanges(t *testing.T) {
	server, clock := newFakeServer(t), newClock()
	catalog := newCatalog(t, server, clock, Hooks{})
	old, err := catalog.Resolve(deployment)
	if err != nil {
		t.Fatal(err)
	}
	clock.move(maxAge + time.Second)
	if same, err := catalog.Resolve(deployment); err != nil || same != old {
		t.Errorf("the same hash: got another kind, or %v", err)
	}
	server.answer("/openapi/v3", paths("apis/apps/v1", "hash2"))
	server.answer("/openapi/v3/apis/apps/v1", document("apps", "v1", "Deployment", `"replicas": {"type": "string"}`))
	clock.move(maxAge + time.Second)
	fresh, err := catalog.Resolve(deployment)
	if err != nil || fresh.Fingerprint == old.Fingerprint {
		t.Errorf("another hash: got the old schema, or %v", err)
	}
	if n := server.count("GET /openapi/v3/apis/apps/v1"); n != 2 {
		t.Errorf("%d requests for the document, want 2", n)
	}
	server.answer("/openapi/v3", nil)
	clock.move(maxAge + time.Second)
	if kept, err := catalog.Resolve(deployment); err != nil || kept != fresh {
		t.Errorf("while the index cannot be read, what is known serves on: got %v", err)
	}
}

func TestAggregatedAPIComesAfterAMiss(t *testing.T) {
	server, clock := newFakeServer(t), newClock()
	catalog := newCatalog(t, server, clock, Hooks{})
	start(t, server, catalog)
	metrics := kschema.GroupVersionKind{Group: "metrics.example.com", Version: "v1", Kind: "Metric"}
	for range 100 {
		_, err := catalog.Resolve(metrics)
		wantNotFound(t, "before the API is there", err)
		_, _, err = catalog.Mapping(metrics.GroupKind())
		wantNotFound(t, "mapping before the API is there", err)
	}
	for _, path := range []string{"GET /openapi/v3", "GET /apis"} {
		if n := server.count(path); n != 1 {
			t.Errorf("a hundred misses in no time are %d requests %s, want 1", n, path)
		}
	}
	server.answer("/openapi/v3", paths("apis/metrics.example.com/v1", "hash"))
	server.answer("/openapi/v3/apis/metrics.example.com/v1", document("metrics.example.com", "v1", "Metric", ""))
	server.answer("/apis", groups("metrics.example.com/v1"))
	server.answer("/apis/metrics.example.com/v1", resources("metrics.example.com/v1", metav1.APIResource{Name: "metrics", Kind: "Metric"}))
	clock.move(missAge + time.Millisecond)
	if kind, err := catalog.Resolve(metrics); err != nil || kind.Resource != "metrics" {
		t.Errorf("once the API is there: got %v, %v", kind, err)
	}
	if gvr, namespaced, err := catalog.Mapping(metrics.GroupKind()); err != nil || namespaced || gvr.Resource != "metrics" {
		t.Errorf("mapping once the API is there: got %v, namespaced %v, error %v", gvr, namespaced, err)
	}
}

func TestBeforeTheCRDsAreWatched(t *testing.T) {
	server, clock := newFakeServer(t), newClock()
	catalog := newCatalog(t, server, clock, Hooks{})
	server.put(gadgetCRD(1, true, "size"))
	server.answer("/apis", groups("foreign.example.org/v1", "networking.k8s.io/v1"))
	server.answer("/apis/foreign.example.org/v1", resources("foreign.example.org/v1", metav1.APIResource{Name: "gadgets", Kind: "Gadget", Namespaced: true}))
	server.answer("/apis/networking.k8s.io/v1", resources("networking.k8s.io/v1", metav1.APIResource{Name: "ingresss", Kind: "Ingress", Namespaced: true}))
	server.answer("/openapi/v3", paths("apis/networking.k8s.io/v1", "hash"))
	server.answer("/openapi/v3/apis/networking.k8s.io/v1", document("networking.k8s.io", "v1", "Ingress", ""))

	kind, err := catalog.Resolve(gadget)
	if diff := cmp.Diff([]string{"size"}, fieldsOf(t, kind, err)); diff != "" {
		t.Errorf("a CRD's kind (-want +got):\n%s", diff)
	}
	if gvr, namespaced, err := catalog.Mapping(gadget.GroupKind()); err != nil || !namespaced || gvr.Resource != "gadgets" {
		t.Errorf("mapping: got %v, namespaced %v, error %v", gvr, namespaced, err)
	}
	if _, err := catalog.Resolve(kschema.GroupVersionKind{Group: "networking.k8s.io", Version: "v1", Kind: "Ingress"}); err != nil {
		t.Errorf("a built-in kind of a group that could be a CRD's: %v", err)
	}
	if _, err := catalog.Resolve(gadget); err != nil {
		t.Fatal(err)
	}
	if n := server.count("GET " + crdPath + "/gadgets.foreign.example.org"); n != 1 {
		t.Errorf("%d requests for the CRD at one moment, want 1", n)
	}
	server.put(gadgetCRD(2, true, "size", "color"))
	clock.move(missAge + time.Millisecond)
	kind, err = catalog.Resolve(gadget)
	if diff := cmp.Diff([]string{"color", "size"}, fieldsOf(t, kind, err)); diff != "" {
		t.Errorf("what was fetched is not believed for long (-want +got):\n%s", diff)
	}
}

func TestManyQuestionsAreOneRequest(t *testing.T) {
	server, clock := newFakeServer(t), newClock()
	asked, release := make(chan struct{}), make(chan struct{})
	var once sync.Once
	server.answer("/openapi/v3/apis/apps/v1", func() any {
		once.Do(func() { close(asked) })
		<-release
		return document("apps", "v1", "Deployment", "")
	})
	var mu sync.Mutex
	counts := map[string]int{}
	count := func(name string) func() { return func() { mu.Lock(); defer mu.Unlock(); counts[name]++ } }
	catalog := newCatalog(t, server, clock, Hooks{
		Hit: count("hit"), Miss: count("miss"), Deduplicated: count("deduplicated"), Failed: count("failed"), Call: func(time.Duration) { count("call")() },
	})
	const askers = 10
	var running sync.WaitGroup
	ask := func() {
		if _, err := catalog.Resolve(deployment); err != nil {
			t.Error(err)
		}
	}
	running.Go(ask)
	<-asked
	for range askers - 1 {
		running.Go(ask)
	}
	for { // until all wait for the one request
		mu.Lock()
		waiting := counts["miss"]
		mu.Unlock()
		if waiting == askers {
			break
		}
		runtime.Gosched()
	}
	close(release)
	running.Wait()
	if n := server.count("GET /openapi/v3/apis/apps/v1"); n+counts["deduplicated"] != askers || n != counts["call"] {
		t.Errorf("%d requests, counted: %v; want as many calls, and all other askers served along", n, counts)
	}
	if counts["failed"] != 0 || counts["miss"] != askers {
		t.Errorf("counted: %v", counts)
	}
}

func TestErrorsAreNotRemembered(t *testing.T) {
	server, clock := newFakeServer(t), newClock()
	failed := 0
	catalog := newCatalog(t, server, clock, Hooks{Failed: func() { failed++ }})
	server.answer("/openapi/v3/apis/apps/v1", []string{"no document"})
	for range 2 {
		_, err := catalog.Resolve(deployment)
		var missing *schema.NotFoundError
		if err == nil || errors.As(err, &missing) || !strings.Contains(err.Error(), "apps/v1, Kind=Deployment") {
			t.Errorf("an unreadable document: got %v, want an error that names the kind and is no NotFoundError", err)
		}
	}
	if failed != 2 {
		t.Errorf("%d failures counted, want 2", failed)
	}
	server.answer("/openapi/v3/apis/apps/v1", document("apps", "v1", "Deployment", ""))
	if _, err := catalog.Resolve(deployment); err != nil {
		t.Errorf("once the document can be read: %v", err)
	}
}

func TestServerDown(t *testing.T) {
	catalog, err := New(&rest.Config{Host: "http://127.0.0.1:1", QPS: -1}, logr.Discard(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	var missing *schema.NotFoundError
	if _, err := catalog.Resolve(deployment); err == nil || errors.As(err, &missing) {
		t.Errorf("Resolve: got %v, want an error that is no NotFoundError", err)
	}
	if _, _, err := catalog.Mapping(deployment.GroupKind()); err == nil || errors.As(err, &missing) {
		t.Errorf("Mapping: got %v, want an error that is no NotFoundError", err)
	}
}
