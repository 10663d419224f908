package watch

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

var (
	configMaps = kschema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	widgets    = kschema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "widgets"}
)

// apiServer speaks list and watch as a Kubernetes API server does, over HTTP, and can misbehave on demand: the fake clients of client-go know no
// resource versions, no streamed lists and no failures in between.
type apiServer struct {
	http *httptest.Server

	mu       sync.Mutex
	changed  *sync.Cond
	version  int
	objects  map[string]*unstructured.Unstructured // by resource/namespace/name
	log      []change
	deny     map[string]metav1.Status // by "list resource", "watch resource" or "stream resource"
	requests []string                 // in the form of deny's keys
	// compacted is the version up to which watches cannot be resumed; dropped counts up to end all watches that are open.
	compacted int
	dropped   int
	closed    bool
}

// change is an entry of the log.
type change struct {
	version  int
	resource string
	old, new *unstructured.Unstructured
}

func newAPIServer(t testing.TB) *apiServer {
	s := &apiServer{version: 100, objects: map[string]*unstructured.Unstructured{}, deny: map[string]metav1.Status{}}
	s.changed = sync.NewCond(&s.mu)
	s.http = httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(func() {
		s.do(func() { s.closed = true })
		s.http.CloseClientConnections()
		s.http.Close()
	})
	return s
}

func (s *apiServer) client(t testing.TB) dynamic.Interface {
	client, err := dynamic.NewForConfig(&rest.Config{Host: s.http.URL, QPS: -1})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func (s *apiServer) do(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
	s.changed.Broadcast()
}

// put creates or updates an object, and gives what a client would get back.
func (s *apiServer) put(resource string, obj *unstructured.Unstructured) *unstructured.Unstructured {
	obj = obj.DeepCopy()
	s.do(func() {
		s.version++
		k := resource + "/" + obj.GetNamespace() + "/" + obj.GetName()
		old := s.objects[k]
		if old != nil {
			obj.SetUID(old.GetUID())
		} else {
			obj.SetUID(types.UID("uid-" + strconv.Itoa(s.version)))
		}
		obj.SetResourceVersion(strconv.Itoa(s.version))
		obj.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: "test", Operation: "Apply"}})
		s.objects[k] = obj
		s.log = append(s.log, change{version: s.version, resource: resource, old: old, new: obj})
	})
	return obj.DeepCopy()
}

// remove deletes an object.
func (s *apiServer) remove(resource, namespace, name string) {
	s.do(func() { s.removeLocked(resource, resource+"/"+namespace+"/"+name) })
}

func (s *apiServer) removeLocked(resource, k string) {
	old := s.objects[k]
	if old == nil {
		return
	}
	s.version++
	delete(s.objects, k)
	s.log = append(s.log, change{version: s.version, resource: resource, old: old})
}

// dropWatches ends the watches that are open, as servers do now and then.
func (s *apiServer) dropWatches() { s.do(func() { s.dropped++ }) }

// refuse answers requests of that form ("list widgets") with an error from now on; code 0 ends that.
func (s *apiServer) refuse(request string, code int, reason metav1.StatusReason, message string) {
	s.do(func() {
		if code == 0 {
			delete(s.deny, request)
			return
		}
		s.deny[request] = metav1.Status{
			TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
			Status:   metav1.StatusFailure, Code: int32(code), Reason: reason, Message: message,
		}
	})
}

// uninstall takes a kind away as a deleted CRD does, objects and all, but without the events that a careful server sends before.
func (s *apiServer) uninstall(resource string) {
	for _, verb := range []string{"list ", "watch ", "stream "} {
		s.refuse(verb+resource, http.StatusNotFound, metav1.StatusReasonNotFound, "the server could not find the requested resource")
	}
	s.do(func() {
		for k := range s.objects {
			if strings.HasPrefix(k, resource+"/") {
				delete(s.objects, k)
			}
		}
		s.dropped++
	})
}

func (s *apiServer) install(resource string) {
	for _, verb := range []string{"list ", "watch ", "stream "} {
		s.refuse(verb+resource, 0, "", "")
	}
}

// count is how many requests of that form there were.
func (s *apiServer) count(request string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, r := range s.requests {
		if r == request {
			n++
		}
	}
	return n
}

func (s *apiServer) serve(w http.ResponseWriter, r *http.Request) {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	resource, namespace := parts[len(parts)-1], ""
	if len(parts) > 2 && parts[len(parts)-3] == "namespaces" {
		namespace = parts[len(parts)-2]
	}
	query := r.URL.Query()
	verb := "list"
	if query.Get("watch") != "" {
		verb = "watch"
	}
	if query.Get("sendInitialEvents") == "true" {
		verb = "stream"
	}
	selector, _ := labels.Parse(query.Get("labelSelector"))
	field, _ := fields.ParseSelector(query.Get("fieldSelector"))
	selects := func(obj *unstructured.Unstructured) bool {
		return obj != nil && (namespace == "" || obj.GetNamespace() == namespace) && selector.Matches(labels.Set(obj.GetLabels())) &&
			field.Matches(fields.Set{"metadata.name": obj.GetName()})
	}

	s.mu.Lock()
	defer s.mu.Unlock()
	request := verb + " " + resource
	s.requests = append(s.requests, request)
	s.changed.Broadcast()
	w.Header().Set("Content-Type", "application/json")
	if status, ok := s.deny[request]; ok {
		w.WriteHeader(int(status.Code))
		_ = json.NewEncoder(w).Encode(status)
		return
	}
	from, _ := strconv.Atoi(query.Get("resourceVersion"))
	switch verb {
	case "list":
		s.list(w, resource, selects)
	case "stream":
		from = s.stream(w, resource, selects)
		s.watch(w, r, from, resource, selects)
	default:
		s.watch(w, r, from, resource, selects)
	}
}

func (s *apiServer) selected(resource string, selects func(*unstructured.Unstructured) bool) []*unstructured.Unstructured {
	var found []*unstructured.Unstructured
	for k, obj := range s.objects {
		if strings.HasPrefix(k, resource+"/") && selects(obj) {
			found = append(found, obj)
		}
	}
	slices.SortFunc(found, compareObjects)
	return found
}

func (s *apiServer) list(w http.ResponseWriter, resource string, selects func(*unstructured.Unstructured) bool) {
	items := []any{}
	for _, obj := range s.selected(resource, selects) {
		items = append(items, obj.Object)
	}
	_ = json.NewEncoder(w).Encode(map[string]any{
		"kind": "List", "apiVersion": "v1", "metadata": map[string]any{"resourceVersion": strconv.Itoa(s.version)}, "items": items,
	})
}

// stream sends a list as events, and gives the version it stands for.
func (s *apiServer) stream(w http.ResponseWriter, resource string, selects func(*unstructured.Unstructured) bool) int {
	for _, obj := range s.selected(resource, selects) {
		send(w, "ADDED", obj.Object)
	}
	s.bookmark(w, map[string]any{metav1.InitialEventsAnnotationKey: "true"})
	return s.version
}

func (s *apiServer) bookmark(w http.ResponseWriter, annotations map[string]any) {
	send(w, "BOOKMARK", map[string]any{"kind": "Bookmark", "apiVersion": "v1", "metadata": map[string]any{
		"resourceVersion": strconv.Itoa(s.version), "annotations": annotations,
	}})
}

// watch sends what the log holds after from, and goes on.
func (s *apiServer) watch(w http.ResponseWriter, r *http.Request, from int, resource string, selects func(*unstructured.Unstructured) bool) {
	dropped := s.dropped
	stop := make(chan struct{})
	defer close(stop)
	go func() {
		select {
		case <-r.Context().Done():
			s.do(func() {})
		case <-stop:
		}
	}()
	if from < s.compacted {
		send(w, "ERROR", map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 410, "reason": "Expired", "message": "too old resource version"})
		return
	}
	for !s.closed && s.dropped == dropped && r.Context().Err() == nil {
		for _, c := range s.log {
			if c.version > from && c.resource == resource {
				s.sendChange(w, c, selects)
			}
		}
		from = s.version
		flush(w)
		s.changed.Wait()
	}
}

func (s *apiServer) sendChange(w http.ResponseWriter, c change, selects func(*unstructured.Unstructured) bool) {
	before, after := selects(c.old), selects(c.new)
	switch {
	case after && before:
		send(w, "MODIFIED", c.new.Object)
	case after:
		send(w, "ADDED", c.new.Object)
	case before:
		last := c.old.DeepCopy()
		last.SetResourceVersion(strconv.Itoa(c.version))
		send(w, "DELETED", last.Object)
	}
}

func send(w http.ResponseWriter, kind string, obj map[string]any) {
	_ = json.NewEncoder(w).Encode(map[string]any{"type": kind, "object": obj})
}

func flush(w http.ResponseWriter) {
	if flusher, ok := w.(http.Flusher); ok {
		flusher.Flush()
	}
}

// configMap is an object to put.
func configMap(namespace, name, value string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{"namespace": namespace, "name": name},
		"data":     map[string]any{"v": value},
	}}
}

func widget(namespace, name string) *unstructured.Unstructured {
	obj := configMap(namespace, name, "")
	obj.SetAPIVersion("example.com/v1")
	obj.SetKind("Widget")
	return obj
}

func labelled(obj *unstructured.Unstructured, pairs ...string) *unstructured.Unstructured {
	set := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		set[pairs[i]] = pairs[i+1]
	}
	obj.SetLabels(set)
	return obj
}

// eventually waits until something holds that no channel tells.
func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	deadline := time.After(10 * time.Second)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-deadline:
			t.Fatalf("waited in vain: %s", what)
		case <-tick.C:
		}
	}
}

// told is a listener that tells its events as text.
type told chan string

func newTold() told { return make(told, 1000) }

func (e told) on(event Event) {
	switch {
	case event.Old == nil:
		e <- "+" + describe(event.New)
	case event.New == nil:
		e <- "-" + describe(event.Old)
	default:
		e <- describe(event.Old) + ">" + describe(event.New)
	}
}

func describe(obj *unstructured.Unstructured) string {
	value, _, _ := unstructured.NestedString(obj.Object, "data", "v")
	return fmt.Sprintf("%s=%s", obj.GetName(), value)
}

func (e told) expect(t testing.TB, want ...string) {
	t.Helper()
	for _, w := range want {
		select {
		case got := <-e:
			if got != w {
				t.Fatalf("event: got %q, want %q", got, w)
			}
		case <-time.After(10 * time.Second):
			t.Fatalf("waited in vain for event %q", w)
		}
	}
}

// none asserts that nothing has been told that was not expected. Call it when something later has been seen.
func (e told) none(t testing.TB) {
	t.Helper()
	select {
	case got := <-e:
		t.Fatalf("event %q, want none", got)
	default:
	}
}
