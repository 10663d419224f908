package simulation

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"kro.run/kro/api/v1alpha1"
	"kro.run/kro/internal/executor"
)

// Server is an API server in memory and in one goroutine, as far as kro uses one: server-side apply with field managers, patches, deletion with finalizers
// and preconditions. Requests can be made to fail. Every change goes into a history that caches read at their own pace.
type Server struct {
	// Writes counts the requests of the controller that changed something.
	Writes int
	// Fault decides what happens to the next request of the controller.
	Fault func(op string, object *unstructured.Unstructured) Fault
	// Check is told of each request of the controller that is about to be carried out.
	Check func(Request)
	// Dead refuses every request: the controller that makes them has crashed.
	Dead bool

	// Log tells of the last requests and changes, for people.
	Log []string

	version int64
	uids    int64
	objects map[executor.Key]*object
	history []event
	gone    map[kschema.GroupVersionResource]bool
	onFault func(Fault, Request)
	now     string // the request under way
}

// Request is a write of the controller.
type Request struct {
	// Op is apply, delete, merge or patch.
	Op          string
	Key         executor.Key
	Manager     string
	Subresource string
	Force       bool
	// Object is what is sent; of a deletion only its name is known.
	Object *unstructured.Unstructured
	// Live is what stands on the server, or nil.
	Live *unstructured.Unstructured
}

// Fault is what happens to a request.
type Fault int

// The faults.
const (
	NoFault Fault = iota
	Conflict
	Throttled
	Internal
	Denied      // a webhook refuses it
	Lost        // it is carried out, the answer is lost
	CrashBefore // the controller dies before it
	CrashAfter  // the controller dies after it
	Deleted     // somebody deletes the object just before it
	Edited      // somebody edits the object just before it
	Overtaken   // caches catch up while it is under way
	faults
)

// object is one object and who owns which of its fields.
type object struct {
	live   map[string]any
	owners map[string]map[string]any // manager → leaf path → value
}

func (o *object) typed() *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: o.live}
}

type event struct {
	key     executor.Key
	object  *unstructured.Unstructured
	deleted bool
}

var errDead = errors.New("connection refused: the controller is dead")

// NewServer returns an empty server.
func NewServer() *Server {
	return &Server{objects: map[executor.Key]*object{}, gone: map[kschema.GroupVersionResource]bool{}}
}

// Live is the object as it stands, or nil. It must not be changed.
func (s *Server) Live(key executor.Key) *unstructured.Unstructured {
	if o := s.objects[key]; o != nil {
		return o.typed()
	}
	return nil
}

// Keys are the keys of all objects, in a fixed order.
func (s *Server) Keys() []executor.Key {
	keys := make([]executor.Key, 0, len(s.objects))
	for k := range s.objects {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, compareKeys)
	return keys
}

func (s *Server) commit(key executor.Key, o *object, deleted bool) *unstructured.Unstructured {
	s.version++
	o.typed().SetResourceVersion(strconv.FormatInt(s.version, 10))
	if deleted {
		delete(s.objects, key)
	} else {
		s.objects[key] = o
	}
	s.note(fmt.Sprintf("%s %s is now %v", s.now, key.Name, summary(o.live, deleted)))
	published := o.typed().DeepCopy()
	s.history = append(s.history, event{key: key, object: published, deleted: deleted})
	return published.DeepCopy()
}

// around runs a request with whatever fault is due.
func (s *Server) around(r Request, carryOut func() (*unstructured.Unstructured, error)) (*unstructured.Unstructured, error) {
	if s.Dead {
		return nil, errDead
	}
	if s.gone[r.Key.GVR] {
		return nil, notServed(r.Key.GVR)
	}
	fault := NoFault
	if s.Fault != nil {
		fault = s.Fault(r.Op, r.Object)
	}
	if fault != NoFault {
		s.note(fmt.Sprintf("%s %s meets with fault %d", r.Op, r.Key.Name, fault))
	}
	if s.onFault != nil && fault != NoFault {
		s.onFault(fault, r)
	}
	gr := r.Key.GVR.GroupResource()
	switch fault {
	case Conflict:
		return nil, apierrors.NewConflict(gr, r.Key.Name, errors.New("injected"))
	case Throttled:
		return nil, apierrors.NewTooManyRequests("injected", 1)
	case Internal:
		return nil, apierrors.NewInternalError(errors.New("injected"))
	case Denied:
		return nil, apierrors.NewForbidden(gr, r.Key.Name, errors.New("injected admission denial"))
	case CrashBefore:
		s.Dead = true
		return nil, errDead
	}
	if s.gone[r.Key.GVR] {
		return nil, notServed(r.Key.GVR)
	}
	r.Live = s.Live(r.Key)
	if s.Check != nil {
		s.Check(r)
	}
	s.now = fmt.Sprintf("[%s by %s]", r.Op, r.Manager)
	answer, err := carryOut()
	if s.now = ""; err != nil {
		s.note(fmt.Sprintf("%s %s: %v", r.Op, r.Key.Name, err))
	}
	switch fault {
	case Lost:
		return nil, apierrors.NewTimeoutError("injected: the answer was lost", 1)
	case CrashAfter:
		s.Dead = true
		return nil, errDead
	}
	return answer, err
}

// Other carries out a write of the controller to something that the simulation does not hold itself, with whatever fault is due. change tells whether it
// changed anything.
func (s *Server) Other(op, name string, change func() (changed bool, err error)) error {
	named := &unstructured.Unstructured{Object: map[string]any{}}
	named.SetName(name)
	_, err := s.around(Request{Op: op, Key: executor.Key{Name: name}, Object: named}, func() (*unstructured.Unstructured, error) {
		changed, err := change()
		if changed {
			s.Writes++
			s.note(op + " " + name)
		}
		return nil, err
	})
	return err
}

const maxLog = 60

func (s *Server) note(text string) {
	if s.Log = append(s.Log, text); len(s.Log) > maxLog {
		s.Log = s.Log[1:]
	}
}

// summary is what of an object is worth a line of the log.
func summary(live map[string]any, deleted bool) string {
	if deleted {
		return "gone"
	}
	o := &unstructured.Unstructured{Object: live}
	ready, _, _ := unstructured.NestedBool(live, "status", "ready")
	spec := live["spec"]
	if o.GetKind() == v1alpha1.GraphKind {
		spec = fmt.Sprint("of generation ", o.GetGeneration())
	}
	return fmt.Sprintf("%s@%s spec %v ready %t finalizers %v deleting %t policy %q", o.GetUID(), o.GetResourceVersion(), spec, ready,
		o.GetFinalizers(), o.GetDeletionTimestamp() != nil, o.GetAnnotations()[v1alpha1.DeletionPolicyAnnotation])
}

func notServed(gvr kschema.GroupVersionResource) error {
	return apierrors.NewNotFound(gvr.GroupResource(), "")
}

// delete carries out a deletion of the controller, or of anybody.
func (s *Server) delete(key executor.Key, uid types.UID, version string) error {
	o := s.objects[key]
	if o == nil {
		return apierrors.NewNotFound(key.GVR.GroupResource(), key.Name)
	}
	live := o.typed()
	if uid != "" && live.GetUID() != uid {
		return apierrors.NewConflict(key.GVR.GroupResource(), key.Name, fmt.Errorf("the UID in the precondition (%s) does not match the UID in record (%s)", uid, live.GetUID()))
	}
	if version != "" && live.GetResourceVersion() != version {
		return apierrors.NewConflict(key.GVR.GroupResource(), key.Name, errors.New("the resourceVersion in the precondition does not match"))
	}
	s.Writes++
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

// Delete deletes an object as somebody else would.
func (s *Server) Delete(key executor.Key) {
	before := s.Writes
	_ = s.delete(key, "", "") // one that is not there is fine
	s.Writes = before
}

// jsonPatch carries out the JSON patches that kro sends for instances and Graphs.
func (s *Server) jsonPatch(key executor.Key, patch []byte) (*unstructured.Unstructured, error) {
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
	invalid := apierrors.NewInvalid(o.typed().GroupVersionKind().GroupKind(), key.Name, nil)
	changed := (&object{live: deepCopy(o.live)}).typed()
	for _, op := range ops {
		finalizers := changed.GetFinalizers()
		at, isIndex := strings.CutPrefix(op.Path, "/metadata/finalizers/")
		switch {
		case op.Path == "/metadata/uid":
			if op.Value != string(changed.GetUID()) {
				return nil, invalid
			}
		case op.Path == "/status" && op.Op == "add":
			raw, _ := json.Marshal(op.Value)
			status, err := decode(raw)
			if err != nil {
				return nil, err
			}
			changed.Object["status"] = status
		case op.Path == "/metadata/finalizers" && op.Op == "add":
			changed.SetFinalizers(texts(op.Value))
		case op.Path == "/metadata/finalizers" && op.Op == "test":
			if !slices.Equal(finalizers, texts(op.Value)) {
				return nil, invalid
			}
		case isIndex && at == "-":
			changed.SetFinalizers(append(finalizers, op.Value.(string)))
		case isIndex:
			n, _ := strconv.Atoi(at)
			if n >= len(finalizers) || op.Op == "test" && finalizers[n] != op.Value {
				return nil, invalid
			}
			if op.Op == "remove" {
				changed.SetFinalizers(slices.Delete(finalizers, n, n+1))
			}
		default:
			return nil, fmt.Errorf("the simulated server does not know %s %s", op.Op, op.Path)
		}
	}
	if equal(changed.Object, o.live) {
		return o.typed().DeepCopy(), nil
	}
	s.Writes++
	o.live = changed.Object
	gone := changed.GetDeletionTimestamp() != nil && len(changed.GetFinalizers()) == 0
	return s.commit(key, o, gone), nil
}

// mergePatch carries out the merge patch by which kro lets go of an object.
func (s *Server) mergePatch(key executor.Key, patch []byte) (*unstructured.Unstructured, error) {
	o := s.objects[key]
	if o == nil {
		return nil, apierrors.NewNotFound(key.GVR.GroupResource(), key.Name)
	}
	change, err := decode(patch)
	if err != nil {
		return nil, err
	}
	metadata, _ := change["metadata"].(map[string]any)
	if uid := metadata["uid"]; uid != nil && uid != string(o.typed().GetUID()) {
		return nil, replaced(o.typed().GroupVersionKind(), key.Name, types.UID(fmt.Sprint(uid)))
	}
	if version := metadata["resourceVersion"]; version != nil && version != o.typed().GetResourceVersion() {
		return nil, apierrors.NewConflict(key.GVR.GroupResource(), key.Name, errors.New("resourceVersion"))
	}
	before := deepCopy(o.live)
	for _, part := range []string{"labels", "annotations"} {
		entries, _ := metadata[part].(map[string]any)
		for name, value := range entries {
			if value != nil {
				return nil, fmt.Errorf("the simulated server takes %s away only", part)
			}
			remove(o.live, []string{"metadata", part, name})
		}
	}
	if equal(before, o.live) {
		return o.typed().DeepCopy(), nil
	}
	o.disown("merge", before)
	s.Writes++
	return s.commit(key, o, false), nil
}

// Edit changes an object as somebody else would, who then owns what he changed, and publishes it.
func (s *Server) Edit(key executor.Key, manager string, f func(live *unstructured.Unstructured)) {
	o := s.objects[key]
	if o == nil {
		return
	}
	before := deepCopy(o.live)
	f(o.typed())
	if equal(before, o.live) {
		return
	}
	o.disown(manager, before)
	s.commit(key, o, o.typed().GetDeletionTimestamp() != nil && len(o.typed().GetFinalizers()) == 0)
}

// Create makes an object as somebody else would.
func (s *Server) Create(key executor.Key, made *unstructured.Unstructured) {
	o := &object{live: made.DeepCopy().Object, owners: map[string]map[string]any{}}
	if o.typed().GetUID() == "" {
		o.typed().SetUID(s.newUID())
	}
	o.typed().SetGeneration(1)
	o.disown("somebody", map[string]any{})
	s.commit(key, o, false)
}

func (s *Server) newUID() types.UID {
	s.uids++
	return types.UID(fmt.Sprintf("uid-%d", s.uids))
}

// Unserve takes a kind away, as the deletion of its CRD does: its objects go with it.
func (s *Server) Unserve(gvr kschema.GroupVersionResource) {
	for _, key := range s.Keys() {
		if key.GVR == gvr {
			s.commit(key, s.objects[key], true)
		}
	}
	s.gone[gvr] = true
}

// ServeAgain brings a kind back.
func (s *Server) ServeAgain(gvr kschema.GroupVersionResource) { delete(s.gone, gvr) }

func decode(raw []byte) (map[string]any, error) {
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON([]byte(`{"apiVersion":"v1","kind":"X","v":` + string(raw) + `}`)); err != nil {
		return nil, err
	}
	m, _ := u.Object["v"].(map[string]any)
	return m, nil
}

func texts(value any) []string {
	list, _ := value.([]any)
	var out []string
	for _, v := range list {
		out = append(out, v.(string))
	}
	return out
}

func deepCopy[T any](v T) T { return runtime.DeepCopyJSONValue(any(v)).(T) }

func equal(a, b any) bool {
	x, _ := json.Marshal(a)
	y, _ := json.Marshal(b)
	return string(x) == string(y)
}
