package kinds

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"kro.run/kro/schema"
)

var (
	deployment = kschema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}
	gadget     = kschema.GroupVersionKind{Group: "foreign.example.org", Version: "v1", Kind: "Gadget"}
)

// gadgetCRD is a CRD in a given state.
func gadgetCRD(generation int64, established bool, fields ...string) *apiextensionsv1.CustomResourceDefinition {
	properties := map[string]apiextensionsv1.JSONSchemaProps{}
	for _, field := range fields {
		properties[field] = apiextensionsv1.JSONSchemaProps{Type: "string", Description: "some text"}
	}
	crd := gadgets(properties)
	crd.UID, crd.Generation = "uid-1", generation
	status := apiextensionsv1.ConditionFalse
	if established {
		status = apiextensionsv1.ConditionTrue
	}
	crd.Status.Conditions = []apiextensionsv1.CustomResourceDefinitionCondition{{Type: apiextensionsv1.Established, Status: status}}
	return crd
}

// markerName is a CRD that tests use to see how far the watch is.
const markerName = "markers.sync.example.com"

func marker(generation int64) *apiextensionsv1.CustomResourceDefinition {
	crd := gadgetCRD(generation, true)
	crd.Name, crd.UID = markerName, "uid-sync"
	crd.Spec.Group, crd.Spec.Names.Kind, crd.Spec.Names.Plural = "sync.example.com", "Marker", "markers"
	return crd
}

// start runs the catalog's watch until the test ends, and returns when it is synced. The channel gets the changes from then on.
func start(t *testing.T, server *fakeServer, c *Catalog) <-chan Change {
	t.Helper()
	changes := make(chan Change, 1000)
	c.Subscribe(func(change Change) { changes <- change })
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	server.put(marker(1))
	go func() { ended <- c.Start(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("Start ended with %v", err)
		}
	})
	isMarker := func(change Change) bool { return change.Name == markerName }
	await(t, changes, "the marker", isMarker)
	server.put(marker(2)) // told only when all of the first list has been taken in
	await(t, changes, "the marker's change", isMarker)
	select {
	case <-c.Done():
	default:
		t.Fatal("the catalog is not synced")
	}
	if !c.Synced() {
		t.Fatal("the catalog is done, but not synced")
	}
	return changes
}

func wantNotFound(t *testing.T, what string, err error) {
	t.Helper()
	var missing *schema.NotFoundError
	if !errors.As(err, &missing) {
		t.Errorf("%s: got %v, want a NotFoundError", what, err)
	}
}

func fieldsOf(t *testing.T, kind *schema.Kind, err error) []string {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for name := range kind.Schema.Properties["spec"].Properties {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func TestCRDComesAfterAMiss(t *testing.T) {
	server, clock := newFakeServer(t), newClock()
	catalog := newCatalog(t, server, clock, Hooks{})
	changes := start(t, server, catalog)

	_, err := catalog.Resolve(gadget)
	wantNotFound(t, "before there is a CRD", err)
	_, _, err = catalog.Mapping(gadget.GroupKind())
	wantNotFound(t, "mapping before there is a CRD", err)

	server.put(gadgetCRD(1, false, "size"))
	change := await(t, changes, "the CRD", func(c Change) bool { return c.Kind == "Gadget" })
	if change.Established || !change.SpecChanged {
		t.Errorf("a new CRD: got established %v, spec changed %v", change.Established, change.SpecChanged)
	}
	_, err = catalog.Resolve(gadget)
	wantNotFound(t, "before the CRD is established", err)
	_, _, err = catalog.Mapping(gadget.GroupKind())
	wantNotFound(t, "mapping before the CRD is established", err)

	server.put(gadgetCRD(1, true, "size"))
	change = await(t, changes, "the established CRD", func(c Change) bool { return c.Kind == "Gadget" })
	if !change.Established || change.SpecChanged {
		t.Errorf("the CRD is established: got established %v, spec changed %v", change.Established, change.SpecChanged)
	}
	kind, err := catalog.Resolve(gadget)
	if diff := cmp.Diff([]string{"size"}, fieldsOf(t, kind, err)); diff != "" {
		t.Errorf("fields (-want +got):\n%s", diff)
	}
	gvr, namespaced, err := catalog.Mapping(gadget.GroupKind())
	if err != nil || !namespaced || gvr != gadget.GroupVersion().WithResource("gadgets") {
		t.Errorf("mapping: got %v, namespaced %v, error %v", gvr, namespaced, err)
	}
	_, err = catalog.Resolve(kschema.GroupVersionKind{Group: gadget.Group, Version: "v2", Kind: gadget.Kind})
	wantNotFound(t, "a version that the CRD does not serve", err)
}

func TestCRDSchemaIsFetchedOncePerGeneration(t *testing.T) {
	server, clock := newFakeServer(t), newClock()
	catalog := newCatalog(t, server, clock, Hooks{})
	server.put(gadgetCRD(1, true, "size"))
	changes := start(t, server, catalog)
	get := "GET " + crdPath + "/gadgets.foreign.example.org"

	first, err := catalog.Resolve(gadget)
	if err != nil {
		t.Fatal(err)
	}
	again, err := catalog.Resolve(gadget)
	if err != nil {
		t.Fatal(err)
	}
	if first.Schema != again.Schema {
		t.Error("two questions got two copies of the schema")
	}
	relabelled := gadgetCRD(1, true, "size")
	relabelled.Labels = map[string]string{"team": "b"}
	server.put(relabelled)
	if change := await(t, changes, "the labels", func(c Change) bool { return c.Kind == "Gadget" && c.Labels["team"] == "b" }); change.SpecChanged {
		t.Error("a change of labels is told as a change of the spec")
	}
	if _, err := catalog.Resolve(gadget); err != nil {
		t.Fatal(err)
	}
	if n := server.count(get); n != 1 {
		t.Errorf("%d requests for the CRD, want 1", n)
	}

	server.put(gadgetCRD(2, true, "size", "color"))
	await(t, changes, "the new spec", func(c Change) bool { return c.SpecChanged && c.Kind == "Gadget" })
	kind, err := catalog.Resolve(gadget)
	if diff := cmp.Diff([]string{"color", "size"}, fieldsOf(t, kind, err)); diff != "" {
		t.Errorf("fields of the new generation (-want +got):\n%s", diff)
	}

	replaced := gadgetCRD(1, true, "weight")
	replaced.UID = "uid-2"
	server.put(replaced)
	await(t, changes, "the CRD's successor", func(c Change) bool { return c.SpecChanged && c.Kind == "Gadget" })
	kind, err = catalog.Resolve(gadget)
	if diff := cmp.Diff([]string{"weight"}, fieldsOf(t, kind, err)); diff != "" {
		t.Errorf("fields of a CRD of the same name, with a lower generation (-want +got):\n%s", diff)
	}
	if n := server.count(get); n != 3 {
		t.Errorf("%d requests for the CRD, want 3", n)
	}
}

func TestCRDGoes(t *testing.T) {
	server, clock := newFakeServer(t), newClock()
	catalog := newCatalog(t, server, clock, Hooks{})
	server.put(gadgetCRD(1, true, "size"))
	changes := start(t, server, catalog)
	if _, err := catalog.Resolve(gadget); err != nil {
		t.Fatal(err)
	}
	// Discovery and OpenAPI go on to show the kind for a while.
	server.answer("/openapi/v3", paths("apis/foreign.example.org/v1", "hash"))
	server.answer("/openapi/v3/apis/foreign.example.org/v1", document("foreign.example.org", "v1", "Gadget", ""))
	server.answer("/apis", groups("foreign.example.org/v1"))
	server.answer("/apis/foreign.example.org/v1", resources("foreign.example.org/v1", metav1.APIResource{Name: "gadgets", Kind: "Gadget", Namespaced: true}))

	server.remove("gadgets.foreign.example.org")
	got := await(t, changes, "the deletion", func(c Change) bool { return c.Deleted })
	want := Change{
		Name: "gadgets.foreign.example.org", Group: "foreign.example.org", Kind: "Gadget", Plural: "gadgets",
		Versions: []string{"v1"}, Labels: map[string]string{"team": "a"}, Deleted: true,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the deletion (-want +got):\n%s", diff)
	}
	_, err := catalog.Resolve(gadget)
	wantNotFound(t, "while OpenAPI still shows the kind", err)
	_, _, err = catalog.Mapping(gadget.GroupKind())
	wantNotFound(t, "mapping while discovery still shows the kind", err)
	if _, known := catalog.CRD(got.Name); known {
		t.Error("the CRD is still known")
	}

	clock.move(lag + time.Second)
	if _, err := catalog.Resolve(gadget); err != nil {
		t.Errorf("when the kind is still there long after, some other API serves it: %v", err)
	}
}

func TestOnlyChangesThatMatterAreTold(t *testing.T) {
	server, clock := newFakeServer(t), newClock()
	catalog := newCatalog(t, server, clock, Hooks{})
	server.put(gadgetCRD(1, true, "size"))
	changes := start(t, server, catalog)
	drain(changes)

	touched := gadgetCRD(1, true, "size")
	touched.Annotations = map[string]string{"a": "b"}
	touched.Status.StoredVersions = []string{"v1"}
	server.put(touched)
	server.put(marker(3))
	if change := await(t, changes, "any", func(Change) bool { return true }); change.Name != markerName {
		t.Errorf("a change of annotations and status is told: %+v", change)
	}
	if info, _ := catalog.CRD("gadgets.foreign.example.org"); info.ResourceVersion == "" || info.Namespaced != true || len(info.Versions) != 1 || !info.Versions[0].Storage {
		t.Errorf("what is known of the CRD: %+v", info)
	}
}

func drain(changes <-chan Change) {
	for {
		select {
		case <-changes:
		default:
			return
		}
	}
}

func TestServerThatCannotStream(t *testing.T) {
	server, clock := newFakeServer(t), newClock()
	server.noStream = true
	catalog := newCatalog(t, server, clock, Hooks{})
	server.put(gadgetCRD(1, true, "size"))
	changes := start(t, server, catalog)
	if _, err := catalog.Resolve(gadget); err != nil {
		t.Fatal(err)
	}
	server.put(gadgetCRD(2, true, "size", "color"))
	await(t, changes, "the new spec", func(c Change) bool { return c.SpecChanged && c.Kind == "Gadget" })
	kind, err := catalog.Resolve(gadget)
	if diff := cmp.Diff([]string{"color", "size"}, fieldsOf(t, kind, err)); diff != "" {
		t.Errorf("fields (-want +got):\n%s", diff)
	}
}

func TestSchemasInUseAreFoundAgain(t *testing.T) {
	server, clock := newFakeServer(t), newClock()
	evicted, size := 0, 0
	catalog := newCatalog(t, server, clock, Hooks{Evicted: func() { evicted++ }, Size: func(n int) { size = n }})
	catalog.schemas.keep = 1
	server.put(gadgetCRD(1, true, "size"))
	start(t, server, catalog)
	markerKind := kschema.GroupVersionKind{Group: "sync.example.com", Version: "v1", Kind: "Marker"}

	used, err := catalog.Resolve(gadget)
	if err != nil {
		t.Fatal(err)
	}
	root := used.Schema
	if _, err := catalog.Resolve(markerKind); err != nil {
		t.Fatal(err)
	}
	if evicted != 1 || size != 1 {
		t.Errorf("%d evicted, %d held; want 1 and 1", evicted, size)
	}
	runtime.GC()
	again, err := catalog.Resolve(gadget)
	if err != nil || again.Schema != root {
		t.Errorf("a schema in use, beyond those held: got another one, or %v", err)
	}
	if n := server.count("GET " + crdPath + "/gadgets.foreign.example.org"); n != 1 {
		t.Errorf("%d requests for the CRD, want 1", n)
	}
	runtime.KeepAlive(root)
}

func TestStartTwice(t *testing.T) {
	server, clock := newFakeServer(t), newClock()
	catalog := newCatalog(t, server, clock, Hooks{})
	start(t, server, catalog)
	if err := catalog.Start(context.Background()); err == nil {
		t.Error("want an error")
	}
}

func TestStartLeavesNothingBehind(t *testing.T) {
	server, clock := newFakeServer(t), newClock()
	idle := &http.Transport{}
	cfg := &rest.Config{Host: server.url, QPS: -1, Transport: idle}
	before := goleak.IgnoreCurrent()
	catalog, err := New(cfg, logr.Discard(), Options{Now: clock.now})
	if err != nil {
		t.Fatal(err)
	}
	server.put(marker(1))
	synced := make(chan Change, 10)
	catalog.Subscribe(func(c Change) { synced <- c })
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- catalog.Start(ctx) }()
	await(t, synced, "the first list", func(Change) bool { return true })
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	idle.CloseIdleConnections()
	goleak.VerifyNone(t, before, goleak.IgnoreAnyFunction("net/http.(*conn).serve"), goleak.IgnoreAnyFunction("net/http.(*connReader).backgroundRead"))
}

// TestLargeCRDsLeaveNothing: what stays in memory of a CRD does not depend on its schema.
func TestLargeCRDsLeaveNothing(t *testing.T) {
	server, clock := newFakeServer(t), newClock()
	const crds = 100
	large := strings.Repeat("x", 100_000)
	for i := range crds {
		crd := gadgetCRD(1, true, "size")
		crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Description = large
		crd.Name, crd.UID = fmt.Sprintf("things%d.example.com", i), types.UID(fmt.Sprint(i))
		crd.Spec.Names.Kind, crd.Spec.Names.Plural = fmt.Sprintf("Thing%d", i), fmt.Sprintf("things%d", i)
		crd.Annotations = map[string]string{"kubectl.kubernetes.io/last-applied-configuration": large}
		server.put(crd)
	}
	server.drain()
	catalog := newCatalog(t, server, clock, Hooks{})
	before := heap()
	start(t, server, catalog)
	if grown := heap() - before; grown > 2<<20 {
		t.Errorf("%d large CRDs leave %d bytes in memory, want less than 2 MiB", crds, grown)
	}
	if _, known := catalog.CRD("things7.example.com"); !known {
		t.Error("a CRD of the first list is not known")
	}
}

func heap() int64 {
	var stats runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}
