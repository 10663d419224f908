package watch

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// Store is the present state of one Source: what the watch has brought, and in front of it what was written since.
// (In progress: the signatures stand, the bodies follow within minutes.)
type Store struct{}

// Source is what the store holds.
func (s *Store) Source() Source { return Source{} }

// Synced tells whether the source has been read completely at least once.
func (s *Store) Synced() bool { return false }

// Done is closed when the source has been read completely for the first time.
func (s *Store) Done() <-chan struct{} { return nil }

// Err is why the source cannot be read at present, a *SourceError, or nil.
func (s *Store) Err() error { return nil }

// Get gives the object with that name; namespace is "" for cluster-scoped kinds.
func (s *Store) Get(namespace, name string) (*unstructured.Unstructured, bool) { return nil, false }

// ByUID gives the object with that UID.
func (s *Store) ByUID(uid types.UID) (*unstructured.Unstructured, bool) { return nil, false }

// ByIndex gives the objects that stand under value in IndexPartOf or IndexInstanceID, ordered by namespace and name.
func (s *Store) ByIndex(index, value string) []*unstructured.Unstructured { return nil }

// List gives all objects, ordered by namespace and name.
func (s *Store) List() []*unstructured.Unstructured { return nil }

// Record puts the object that the server returned for an own write in front of the cache until the cache has caught up. Its event wakes nobody.
func (s *Store) Record(obj *unstructured.Unstructured) {}

// RecordAs is Record for a source that others watch too: the event of the write does not wake owner, but wakes them.
func (s *Store) RecordAs(owner string, obj *unstructured.Unstructured) {}

// RecordDeleted hides an object whose own delete was answered by the server with "gone" until the cache knows it.
func (s *Store) RecordDeleted(obj *unstructured.Unstructured) {}

// Expect keeps the events of one object back while a write to it is under way; settle lets go of them, after Record.
func (s *Store) Expect(namespace, name string) (settle func()) { return func() {} }

// SourceError says that a source cannot be listed or watched, and why. It unwraps to the error of the API.
type SourceError struct {
	Source Source
	Err    error
}

// Error is a text fit for a condition.
func (e *SourceError) Error() string {
	return "cannot list/watch " + e.Source.String() + ": " + e.Err.Error()
}

// Unwrap gives the error of the API, for apierrors.IsNotFound and the like.
func (e *SourceError) Unwrap() error { return e.Err }
