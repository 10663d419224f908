package kinds

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

const crdPath = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

// fakeServer answers what a Catalog asks an API server, and counts the questions.
type fakeServer struct {
	requestLog
	url string

	mu sync.Mutex
	// answers to GET requests by path: an object to marshal, or a func to call.
	answers map[string]any
	crds    map[string]*apiextensionsv1.CustomResourceDefinition
	// noStream: the server does not know sendInitialEvents.
	noStream bool
	events   chan []byte
	version  int
}

func newFakeServer(t *testing.T) *fakeServer {
	t.Helper()
	f := &fakeServer{crds: map[string]*apiextensionsv1.CustomResourceDefinition{}, events: make(chan []byte, 1000)}
	f.answers = map[string]any{
		"/openapi/v3": paths("apis/apps/v1", "hash1"),
		"/openapi/v3/apis/apps/v1": func() any {
			return document("apps", "v1", "Deployment", `"replicas": {"type": "integer"}`)
		},
		"/api":  metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}},
		"/apis": groups("apps/v1"),
		"/apis/apps/v1": resources("apps/v1",
			metav1.APIResource{Name: "deployments", Kind: "Deployment", Namespaced: true},
			metav1.APIResource{Name: "deployments/scale", Kind: "Scale", Group: "autoscaling", Version: "v1", Namespaced: true}),
	}
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	f.url = server.URL
	return f
}

func paths(pathsAndHashes ...string) any {
	index := map[string]any{}
	for i := 0; i < len(pathsAndHashes); i += 2 {
		path := pathsAndHashes[i]
		index[path] = map[string]any{"serverRelativeURL": "/openapi/v3/" + path + "?hash=" + pathsAndHashes[i+1]}
	}
	return map[string]any{"paths": index}
}

func document(group, version, kind, properties string) any {
	gvk := fmt.Sprintf(`{"group": %q, "version": %q, "kind": %q}`, group, version, kind)
	return json.RawMessage(fmt.Sprintf(`{"openapi": "3.0.0",
 "paths": {"/apis/%s/%s/namespaces/{namespace}/%ss": {"get": {"x-kubernetes-group-version-kind": %s}}},
 "components": {"schemas": {"c": {"type": "object", "properties": {%s}, "x-kubernetes-group-version-kind": [%s]}}}}`,
		group, version, strings.ToLower(kind), gvk, properties, gvk))
}

func groups(groupVersions ...string) metav1.APIGroupList {
	list := metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}}
	for _, groupVersion := range groupVersions {
		group, version, _ := strings.Cut(groupVersion, "/")
		served := metav1.GroupVersionForDiscovery{GroupVersion: groupVersion, Version: version}
		if n := len(list.Groups); n > 0 && list.Groups[n-1].Name == group {
			list.Groups[n-1].Versions = append(list.Groups[n-1].Versions, served)
			continue
		}
		list.Groups = append(list.Groups, metav1.APIGroup{Name: group, Versions: []metav1.GroupVersionForDiscovery{served}, PreferredVersion: served})
	}
	return list
}

func resources(groupVersion string, served ...metav1.APIResource) metav1.APIResourceList {
	return metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: groupVersion, APIResources: served}
}

// answer sets what the server says at a path; nil makes it 404.
func (f *fakeServer) answer(path string, with any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.answers[path] = with
}

// put creates or changes a CRD.
func (f *fakeServer) put(crd *apiextensionsv1.CustomResourceDefinition) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.version++
	crd = crd.DeepCopy()
	crd.TypeMeta = metav1.TypeMeta{Kind: "CustomResourceDefinition", APIVersion: "apiextensions.k8s.io/v1"}
	crd.ResourceVersion = fmt.Sprint(f.version)
	kind := "ADDED"
	if f.crds[crd.Name] != nil {
		kind = "MODIFIED"
	}
	f.crds[crd.Name] = crd
	f.events <- event(kind, crd)
}

func (f *fakeServer) remove(name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.version++
	gone := f.crds[name].DeepCopy()
	gone.ResourceVersion = fmt.Sprint(f.version)
	delete(f.crds, name)
	f.events <- event("DELETED", gone)
}

func event(kind string, object any) []byte {
	text, err := json.Marshal(map[string]any{"type": kind, "object": object})
	if err != nil {
		panic(err)
	}
	return append(text, '\n')
}

func (f *fakeServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.note(r)
	w.Header().Set("Content-Type", "application/json")
	query := r.URL.Query()
	switch {
	case r.URL.Path == crdPath && query.Get("watch") != "":
		f.watch(w, r)
	case r.URL.Path == crdPath:
		f.list(w)
	case strings.HasPrefix(r.URL.Path, crdPath+"/"):
		f.mu.Lock()
		crd := f.crds[strings.TrimPrefix(r.URL.Path, crdPath+"/")]
		f.mu.Unlock()
		if crd == nil {
			notFound(w)
			return
		}
		_ = json.NewEncoder(w).Encode(crd)
	default:
		f.mu.Lock()
		with := f.answers[r.URL.Path]
		f.mu.Unlock()
		if call, is := with.(func() any); is {
			with = call()
		}
		if with == nil {
			notFound(w)
			return
		}
		_ = json.NewEncoder(w).Encode(with)
	}
}

func notFound(w http.ResponseWriter) {
	w.WriteHeader(http.StatusNotFound)
	_ = json.NewEncoder(w).Encode(metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure, Reason: metav1.StatusReasonNotFound, Code: http.StatusNotFound,
	})
}

func (f *fakeServer) list(w http.ResponseWriter) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.drain()
	list := apiextensionsv1.CustomResourceDefinitionList{TypeMeta: metav1.TypeMeta{Kind: "CustomResourceDefinitionList", APIVersion: "apiextensions.k8s.io/v1"}}
	list.ResourceVersion = fmt.Sprint(f.version)
	for _, crd := range f.crds {
		list.Items = append(list.Items, *crd)
	}
	_ = json.NewEncoder(w).Encode(list)
}

// drain drops the events that a list that is being sent contains already.
func (f *fakeServer) drain() {
	for len(f.events) > 0 {
		<-f.events
	}
}

func (f *fakeServer) watch(w http.ResponseWriter, r *http.Request) {
	if r.URL.Query().Get("sendInitialEvents") == "true" {
		if f.noStream {
			w.WriteHeader(http.StatusUnprocessableEntity)
			_ = json.NewEncoder(w).Encode(metav1.Status{
				TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure, Reason: metav1.StatusReasonInvalid, Code: http.StatusUnprocessableEntity,
			})
			return
		}
		f.mu.Lock()
		f.drain()
		for _, crd := range f.crds {
			_, _ = w.Write(event("ADDED", crd))
		}
		_, _ = w.Write(event("BOOKMARK", map[string]any{
			"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
			"metadata": map[string]any{"resourceVersion": fmt.Sprint(f.version), "annotations": map[string]string{metav1.InitialEventsAnnotationKey: "true"}},
		}))
		f.mu.Unlock()
	}
	w.(http.Flusher).Flush()
	for {
		select {
		case <-r.Context().Done():
			return
		case event := <-f.events:
			_, _ = w.Write(event)
			w.(http.Flusher).Flush()
		}
	}
}

// fakeClock stands still until it is moved.
type fakeClock struct {
	mu sync.Mutex
	t  time.Time
}

func (c *fakeClock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.t
}

func (c *fakeClock) move(by time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.t = c.t.Add(by)
}

func newClock() *fakeClock { return &fakeClock{t: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)} }

func newCatalog(t *testing.T, server *fakeServer, clock *fakeClock, hooks Hooks) *Catalog {
	t.Helper()
	c, err := New(&rest.Config{Host: server.url, QPS: -1}, logr.Discard(), Options{Hooks: hooks, Now: clock.now})
	if err != nil {
		t.Fatal(err)
	}
	return c
}
