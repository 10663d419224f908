package instance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"kro.run/kro/internal/executor"
)

// simServer is an API server in memory and in one goroutine, as far as the controller uses one: server-side apply with
// field managers, JSON patches of status and finalizers, deletion with finalizers and preconditions. Requests can be
// made to fail. Every change goes into a history that caches read at their own pace.
type simServer struct {
	version int64
	uids    int64
	objects map[executor.Key]*simObject
	history []simEvent
	writes  int
	// fault decides what happens to the next write.
	fault func(op string, object *unstructured.Unstructured) simFault
	// dead refuses every request: the controller that makes them has crashed.
	dead bool
	// check is asked before a child is written.
	check func(gvr kschema.GroupVersionResource, object *unstructured.Unstructured)
}

type simFault int

const (
	noFault simFault = iota
	faultConflict
	faultThrottle
	faultInternal
	faultDenied
	faultLost        // the write happens, the answer is lost
	faultCrashBefore // the controller dies before the write
	faultCrashAfter  // the controller dies after the write
)

type simObject struct {
	live   map[string]any
	owners map[string]map[string]any // manager → leaf path → value
}

type simEvent struct {
	key     executor.Key
	object  *unstructured.Unstructured
	deleted bool
}

var errDead = errors.New("connection refused: the controller is dead")

func newSimServer() *simServer {
	return &simServer{objects: map[executor.Key]*simObject{}}
}

func (s *simServer) commit(key executor.Key, o *simObject, deleted bool) *unstructured.Unstructured {
	s.version++
	live := &unstructured.Unstructured{Object: o.live}
	live.SetResourceVersion(strconv.FormatInt(s.version, 10))
	if deleted {
		delete(s.objects, key)
	} else {
		s.objects[key] = o
	}
	published := live.DeepCopy()
	s.history = append(s.history, simEvent{key: key, object: published, deleted: deleted})
	return published.DeepCopy()
}

// around runs a write with whatever fault is due.
func (s *simServer) around(op string, object *unstructured.Unstructured, write func() (*unstructured.Unstructured, error)) (*unstructured.Unstructured, error) {
	if s.dead {
		return nil, errDead
	}
	fault := noFault
	if s.fault != nil {
		fault = s.fault(op, object)
	}
	gr := kschema.GroupResource{Resource: "things"}
	switch fault {
	case faultConflict:
		return nil, apierrors.NewConflict(gr, object.GetName(), errors.New("injected"))
	case faultThrottle:
		return nil, apierrors.NewTooManyRequests("injected", 1)
	case faultInternal:
		return nil, apierrors.NewInternalError(errors.New("injected"))
	case faultDenied:
		return nil, apierrors.NewForbidden(gr, object.GetName(), errors.New("injected admission denial"))
	case faultCrashBefore:
		s.dead = true
		return nil, errDead
	}
	answer, err := write()
	switch fault {
	case faultLost:
		return nil, apierrors.NewTimeoutError("injected: the answer was lost", 1)
	case faultCrashAfter:
		s.dead = true
		return nil, errDead
	}
	return answer, err
}

func (s *simServer) apply(key executor.Key, object *unstructured.Unstructured, manager string, force bool) (*unstructured.Unstructured, error) {
	o := s.objects[key]
	gr := key.GVR.GroupResource()
	uid := object.GetUID()
	if o == nil {
		if uid != "" {
			return nil, apierrors.NewConflict(gr, key.Name, errors.New("uid mismatch: the object does not exist"))
		}
		s.uids++
		o = &simObject{owners: map[string]map[string]any{}, live: map[string]any{
			"apiVersion": object.GetAPIVersion(), "kind": object.GetKind(),
			"metadata": map[string]any{"name": key.Name, "uid": fmt.Sprintf("uid-%d", s.uids), "generation": int64(1)},
		}}
		if key.Namespace != "" {
			o.live["metadata"].(map[string]any)["namespace"] = key.Namespace
		}
	} else if uid != "" && uid != (&unstructured.Unstructured{Object: o.live}).GetUID() {
		return nil, apierrors.NewConflict(gr, key.Name, errors.New("uid mismatch"))
	}
	wanted := map[string]any{}
	leaves("", object.Object, wanted)
	for path := range wanted {
		if slices.Contains([]string{".apiVersion", ".kind", ".metadata.name", ".metadata.namespace", ".metadata.uid"}, path) {
			delete(wanted, path)
		}
	}
	if conflict := o.conflict(manager, wanted); conflict != "" && !force {
		return nil, managerConflict(gr, key.Name, conflict)
	}
	before := deepCopyJSON(o.live)
	o.take(manager, wanted)
	if equalJSON(before, o.live) && s.objects[key] != nil {
		return (&unstructured.Unstructured{Object: o.live}).DeepCopy(), nil
	}
	s.writes++
	return s.commit(key, o, false), nil
}

// leaves flattens an object: maps are walked, everything else is a leaf.
func leaves(prefix string, value any, into map[string]any) {
	m, ok := value.(map[string]any)
	if !ok || len(m) == 0 {
		into[prefix] = value
		return
	}
	for k, v := range m {
		leaves(prefix+"\x00"+k, v, into)
	}
}

func (o *simObject) conflict(manager string, wanted map[string]any) string {
	for _, path := range slices.Sorted(maps.Keys(wanted)) {
		for other, owned := range o.owners {
			if value, owns := owned[path]; owns && other != manager && !equalJSON(value, wanted[path]) {
				return path
			}
		}
	}
	return ""
}

func (o *simObject) take(manager string, wanted map[string]any) {
	for path := range o.owners[manager] {
		if _, keeps := wanted[path]; keeps || o.othersOwn(manager, path) {
			continue
		}
		remove(o.live, strings.Split(path, "\x00")[1:])
	}
	for path, value := range wanted {
		for other, owned := range o.owners {
			if old, owns := owned[path]; owns && other != manager && !equalJSON(old, value) {
				delete(owned, path)
			}
		}
		set(o.live, strings.Split(path, "\x00")[1:], deepCopyJSON(value))
	}
	o.owners[manager] = wanted
}

func (o *simObject) othersOwn(manager, path string) bool {
	for other, owned := range o.owners {
		if _, owns := owned[path]; owns && other != manager {
			return true
		}
	}
	return false
}

func set(into map[string]any, path []string, value any) {
	for _, step := range path[:len(path)-1] {
		next, ok := into[step].(map[string]any)
		if !ok {
			next = map[string]any{}
			into[step] = next
		}
		into = next
	}
	into[path[len(path)-1]] = value
}

// remove takes a leaf out, and the parents that become empty with it, as structured merge does.
func remove(from map[string]any, path []string) {
	if len(path) > 1 {
		next, ok := from[path[0]].(map[string]any)
		if !ok {
			return
		}
		remove(next, path[1:])
		if len(next) > 0 {
			return
		}
	}
	delete(from, path[0])
}

func managerConflict(gr kschema.GroupResource, name, path string) error {
	err := apierrors.NewConflict(gr, name, errors.New("conflict with another manager"))
	err.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: metav1.CauseTypeFieldManagerConflict, Field: path}}
	return err
}

func (s *simServer) delete(key executor.Key, uid types.UID) error {
	o := s.objects[key]
	if o == nil {
		return apierrors.NewNotFound(key.GVR.GroupResource(), key.Name)
	}
	live := &unstructured.Unstructured{Object: o.live}
	if uid != "" && live.GetUID() != uid {
		return apierrors.NewConflict(key.GVR.GroupResource(), key.Name, errors.New("uid precondition"))
	}
	s.writes++
	if len(live.GetFinalizers()) > 0 {
		if live.GetDeletionTimestamp() == nil {
			now := metav1.Now().Rfc3339Copy()
			live.SetDeletionTimestamp(&now)
			s.commit(key, o, false)
		}
		return nil
	}
	s.commit(key, o, true)
	return nil
}

// patch carries out the JSON patches that the controller sends.
func (s *simServer) patch(key executor.Key, patch []byte) (*unstructured.Unstructured, error) {
	o := s.objects[key]
	if o == nil {
		return nil, apierrors.NewNotFound(key.GVR.GroupResource(), key.Name)
	}
	var ops []struct {
		Op, Path string
		Value    any
	}
	if err := json.Unmarshal(patch, &ops); err != nil {
		return nil, err
	}
	live := &unstructured.Unstructured{Object: o.live}
	for _, op := range ops {
		switch {
		case op.Path == "/metadata/uid":
			if op.Value != string(live.GetUID()) {
				return nil, apierrors.NewInvalid(live.GroupVersionKind().GroupKind(), key.Name, nil)
			}
		case op.Path == "/status" && op.Op == "add":
			raw, _ := json.Marshal(op.Value)
			var status map[string]any
			if err := decodeJSON(raw, &status); err != nil {
				return nil, err
			}
			o.live["status"] = status
		case strings.HasPrefix(op.Path, "/metadata/finalizers/"):
			at, _ := strconv.Atoi(strings.TrimPrefix(op.Path, "/metadata/finalizers/"))
			finalizers := live.GetFinalizers()
			if at >= len(finalizers) {
				return nil, apierrors.NewInvalid(live.GroupVersionKind().GroupKind(), key.Name, nil)
			}
			if op.Op == "remove" {
				live.SetFinalizers(slices.Delete(finalizers, at, at+1))
			}
		default:
			return nil, fmt.Errorf("the simulated server does not know %s %s", op.Op, op.Path)
		}
	}
	s.writes++
	gone := live.GetDeletionTimestamp() != nil && len(live.GetFinalizers()) == 0
	return s.commit(key, o, gone), nil
}

// edit changes an object as somebody else would, and publishes it.
func (s *simServer) edit(key executor.Key, f func(live *unstructured.Unstructured)) {
	o := s.objects[key]
	if o == nil {
		return
	}
	live := &unstructured.Unstructured{Object: o.live}
	f(live)
	gone := live.GetDeletionTimestamp() != nil && len(live.GetFinalizers()) == 0
	s.commit(key, o, gone)
}

// create makes an object as somebody else would.
func (s *simServer) create(key executor.Key, object *unstructured.Unstructured) {
	s.uids++
	o := &simObject{live: object.DeepCopy().Object, owners: map[string]map[string]any{}}
	live := &unstructured.Unstructured{Object: o.live}
	live.SetUID(types.UID(fmt.Sprintf("uid-%d", s.uids)))
	live.SetGeneration(1)
	s.commit(key, o, false)
}

func decodeJSON(raw []byte, into *map[string]any) error {
	u := &unstructured.Unstructured{}
	wrapped := []byte(`{"apiVersion":"v1","kind":"X","v":` + string(raw) + `}`)
	if err := u.UnmarshalJSON(wrapped); err != nil {
		return err
	}
	m, _ := u.Object["v"].(map[string]any)
	*into = m
	return nil
}

func deepCopyJSON[T any](v T) T { return runtime.DeepCopyJSONValue(any(v)).(T) }

func equalJSON(a, b any) bool {
	x, _ := json.Marshal(a)
	y, _ := json.Marshal(b)
	return string(x) == string(y)
}

// simClient is the dynamic client of one controller.
type simClient struct{ server *simServer }

var _ dynamic.Interface = simClient{}

// Resource implements dynamic.Interface.
func (c simClient) Resource(gvr kschema.GroupVersionResource) dynamic.NamespaceableResourceInterface {
	return simResource{server: c.server, gvr: gvr}
}

type simResource struct {
	dynamic.NamespaceableResourceInterface // what the controller does not use would panic
	server                                 *simServer
	gvr                                    kschema.GroupVersionResource
	namespace                              string
}

// Namespace implements dynamic.NamespaceableResourceInterface.
func (r simResource) Namespace(ns string) dynamic.ResourceInterface {
	r.namespace = ns
	return r
}

func (r simResource) key(name string) executor.Key {
	return executor.Key{GVR: r.gvr, Namespace: r.namespace, Name: name}
}

// Apply implements dynamic.ResourceInterface.
func (r simResource) Apply(_ context.Context, name string, object *unstructured.Unstructured, o metav1.ApplyOptions, _ ...string) (*unstructured.Unstructured, error) {
	return r.server.around("apply", object, func() (*unstructured.Unstructured, error) {
		if r.server.check != nil {
			r.server.check(r.gvr, object)
		}
		return r.server.apply(r.key(name), object.DeepCopy(), o.FieldManager, o.Force)
	})
}

// Patch implements dynamic.ResourceInterface.
func (r simResource) Patch(_ context.Context, name string, _ types.PatchType, data []byte, _ metav1.PatchOptions, sub ...string) (*unstructured.Unstructured, error) {
	object := &unstructured.Unstructured{Object: map[string]any{}}
	object.SetName(name)
	return r.server.around("patch"+strings.Join(sub, ""), object, func() (*unstructured.Unstructured, error) {
		return r.server.patch(r.key(name), data)
	})
}

// Get implements dynamic.ResourceInterface.
func (r simResource) Get(_ context.Context, name string, _ metav1.GetOptions, _ ...string) (*unstructured.Unstructured, error) {
	if r.server.dead {
		return nil, errDead
	}
	o := r.server.objects[r.key(name)]
	if o == nil {
		return nil, apierrors.NewNotFound(r.gvr.GroupResource(), name)
	}
	return (&unstructured.Unstructured{Object: o.live}).DeepCopy(), nil
}

// List implements dynamic.ResourceInterface, for a selector of one label.
func (r simResource) List(_ context.Context, o metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	if r.server.dead {
		return nil, errDead
	}
	label, value, _ := strings.Cut(o.LabelSelector, "=")
	list := &unstructured.UnstructuredList{}
	for key, object := range r.server.objects {
		live := unstructured.Unstructured{Object: object.live}
		if key.GVR == r.gvr && live.GetLabels()[label] == value {
			list.Items = append(list.Items, *live.DeepCopy())
		}
	}
	return list, nil
}

// Delete implements dynamic.ResourceInterface.
func (r simResource) Delete(_ context.Context, name string, o metav1.DeleteOptions, _ ...string) error {
	object := &unstructured.Unstructured{Object: map[string]any{}}
	object.SetName(name)
	var uid types.UID
	if o.Preconditions != nil && o.Preconditions.UID != nil {
		uid = *o.Preconditions.UID
	}
	_, err := r.server.around("delete", object, func() (*unstructured.Unstructured, error) {
		return nil, r.server.delete(r.key(name), uid)
	})
	return err
}
