package simulation

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kro.run/kro/internal/executor"
)

// Server-side apply, as far as it matters here: each leaf of an object has owners; a manager that applies it with another value conflicts with the others
// unless it forces; what a manager no longer applies goes when nobody else owns it.

// unowned are the fields that nobody owns.
var unowned = []string{"\x00apiVersion", "\x00kind", "\x00metadata\x00name", "\x00metadata\x00namespace", "\x00metadata\x00uid"}

func (s *Server) apply(key executor.Key, sent *unstructured.Unstructured, options metav1.ApplyOptions, subresource string) (*unstructured.Unstructured, error) {
	o := s.objects[key]
	gr := key.GVR.GroupResource()
	uid := sent.GetUID()
	switch {
	case o == nil && subresource != "":
		return nil, apierrors.NewNotFound(gr, key.Name)
	case o == nil && uid != "":
		return nil, apierrors.NewConflict(gr, key.Name, errors.New("uid mismatch: the object does not exist"))
	case o == nil:
		o = &object{owners: map[string]map[string]any{}, live: map[string]any{
			"apiVersion": sent.GetAPIVersion(), "kind": sent.GetKind(),
			"metadata": map[string]any{"name": key.Name, "namespace": key.Namespace, "uid": string(s.newUID()), "generation": int64(1)},
		}}
	case uid != "" && uid != o.typed().GetUID():
		return nil, replaced(sent.GroupVersionKind(), key.Name, uid)
	}
	wanted := wantedBy(sent, subresource)
	if holder, path := o.conflict(options.FieldManager, wanted); holder != "" && !options.Force {
		return nil, managerConflict(gr, key.Name, holder, path)
	}
	before := deepCopy(o.live)
	o.take(options.FieldManager, wanted)
	if equal(before, o.live) && s.objects[key] != nil {
		return o.shown(), nil
	}
	s.Writes++
	s.commit(key, o, false)
	return o.shown(), nil
}

// replaced is what the server says of a request for an object of another UID.
func replaced(gvk kschema.GroupVersionKind, name string, uid types.UID) error {
	return apierrors.NewInvalid(gvk.GroupKind(), name, field.ErrorList{field.Invalid(field.NewPath("metadata", "uid"), string(uid), "field is immutable")})
}

// wantedBy are the leaves that an apply is about. The main resource leaves the status alone, the subresource everything else.
func wantedBy(sent *unstructured.Unstructured, subresource string) map[string]any {
	wanted := map[string]any{}
	leaves("", sent.Object, wanted)
	for path := range wanted {
		if slices.Contains(unowned, path) || strings.HasPrefix(path, "\x00status") != (subresource == "status") {
			delete(wanted, path)
		}
	}
	return wanted
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

func (o *object) conflict(manager string, wanted map[string]any) (holder, path string) {
	for _, path := range slices.Sorted(maps.Keys(wanted)) {
		for _, other := range slices.Sorted(maps.Keys(o.owners)) {
			if value, owns := o.owners[other][path]; owns && other != manager && !equal(value, wanted[path]) {
				return other, path
			}
		}
	}
	return "", ""
}

// conflicts tells that the server is going to refuse an apply without force.
func (s *Server) conflicts(r Request) bool {
	holder, _ := s.objects[r.Key].conflict(r.Manager, wantedBy(r.Object, r.Subresource))
	return holder != ""
}

func (o *object) take(manager string, wanted map[string]any) {
	for path := range o.owners[manager] {
		if _, keeps := wanted[path]; keeps || o.othersOwn(manager, path) {
			continue
		}
		remove(o.live, strings.Split(path, "\x00")[1:])
	}
	for path, value := range wanted {
		for other, owned := range o.owners {
			if old, owns := owned[path]; owns && other != manager && !equal(old, value) {
				delete(owned, path)
			}
		}
		set(o.live, strings.Split(path, "\x00")[1:], deepCopy(value))
	}
	if o.owners[manager] = wanted; len(wanted) == 0 {
		delete(o.owners, manager)
	}
}

func (o *object) othersOwn(manager, path string) bool {
	for other, owned := range o.owners {
		if _, owns := owned[path]; owns && other != manager {
			return true
		}
	}
	return false
}

// disown takes in a change that was no apply: who made it owns what he changed, and nobody owns what he took away.
func (o *object) disown(manager string, before map[string]any) {
	was, is := map[string]any{}, map[string]any{}
	leaves("", before, was)
	leaves("", o.live, is)
	for path := range was {
		if _, stays := is[path]; !stays {
			for _, owned := range o.owners {
				delete(owned, path)
			}
		}
	}
	for path, value := range is {
		if old, had := was[path]; had && equal(old, value) || slices.Contains(unowned, path) || strings.HasPrefix(path, "\x00metadata\x00deletion") {
			continue
		}
		for _, owned := range o.owners {
			delete(owned, path)
		}
		if o.owners[manager] == nil {
			o.owners[manager] = map[string]any{}
		}
		o.owners[manager][path] = deepCopy(value)
	}
	maps.DeleteFunc(o.owners, func(_ string, owned map[string]any) bool { return len(owned) == 0 })
}

// shown is the object with its managers, as a request gets it.
func (o *object) shown() *unstructured.Unstructured {
	out := o.typed().DeepCopy()
	var entries []metav1.ManagedFieldsEntry
	for _, manager := range slices.Sorted(maps.Keys(o.owners)) {
		fields := map[string]any{}
		for path := range o.owners[manager] {
			set(fields, strings.Split(strings.ReplaceAll(path, "\x00", "\x00f:"), "\x00")[1:], map[string]any{})
		}
		raw, _ := json.Marshal(fields)
		operation := metav1.ManagedFieldsOperationApply
		if isPerson(manager) {
			operation = metav1.ManagedFieldsOperationUpdate
		}
		entries = append(entries, metav1.ManagedFieldsEntry{
			Manager: manager, Operation: operation, APIVersion: out.GetAPIVersion(), FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(string(raw)),
		})
	}
	out.SetManagedFields(entries)
	return out
}

func isPerson(manager string) bool { return !strings.Contains(manager, "kro") }

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

func managerConflict(gr kschema.GroupResource, name, holder, path string) error {
	err := apierrors.NewConflict(gr, name, errors.New("conflict with another manager"))
	err.ErrStatus.Details.Causes = []metav1.StatusCause{{
		Type: metav1.CauseTypeFieldManagerConflict, Field: strings.ReplaceAll(path, "\x00", "."), Message: fmt.Sprintf("conflict with %q", holder),
	}}
	return err
}
