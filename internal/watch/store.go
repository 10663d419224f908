package watch

import (
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
)

// Store is the present state of one Source: what the watch has brought, and in front of it what was written since. It goes on answering, from what it
// had last, when its source is released or cannot be read any more; Err says so.
type Store struct {
	source   Source
	selector labels.Selector
	log      logr.Logger
	hooks    Hooks
	compact  *compactor
	asked    time.Time
	now      func() time.Time
	done     chan struct{}

	mu     sync.RWMutex
	synced bool
	err    error
	// objects is the view: the cache with ahead in front of it.
	objects objects
	ahead   map[key]*ahead
	// progress is the version up to which the cache is complete.
	progress version
	router   router
}

func newStore(src Source, log logr.Logger, opts Options, compact *compactor) *Store {
	selector, err := labels.Parse(src.Selector)
	if err != nil {
		// The server is going to refuse it in its own words, which then stand in Err.
		selector = labels.Everything()
	}
	return &Store{
		source: src, selector: selector, log: log, hooks: opts.Hooks, compact: compact,
		asked: opts.Clock.Now(), now: opts.Clock.Now, done: make(chan struct{}), ahead: map[key]*ahead{},
	}
}

// Source is what the store holds.
func (s *Store) Source() Source { return s.source }

// Synced tells whether the source has been read completely at least once.
func (s *Store) Synced() bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.synced
}

// Done is closed when the source has been read completely for the first time.
func (s *Store) Done() <-chan struct{} { return s.done }

// Err is why the source cannot be read at present, a *SourceError, or nil.
func (s *Store) Err() error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.err
}

// Get gives the object with that name; namespace is "" for cluster-scoped kinds.
func (s *Store) Get(namespace, name string) (*unstructured.Unstructured, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	obj, ok := s.objects.byKey[key{namespace: namespace, name: name}]
	return obj, ok
}

// ByUID gives the object with that UID.
func (s *Store) ByUID(uid types.UID) (*unstructured.Unstructured, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	obj, ok := s.objects.byUID[uid]
	return obj, ok
}

// ByIndex gives the objects that stand under value in IndexPartOf or IndexInstanceID, ordered by namespace and name.
func (s *Store) ByIndex(index, value string) []*unstructured.Unstructured {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return slices.Clone(s.objects.index(index, value))
}

// List gives all objects, ordered by namespace and name.
func (s *Store) List() []*unstructured.Unstructured {
	s.mu.RLock()
	all := make([]*unstructured.Unstructured, 0, len(s.objects.byKey))
	for _, obj := range s.objects.byKey {
		all = append(all, obj)
	}
	s.mu.RUnlock()
	slices.SortFunc(all, compareObjects)
	return all
}

// Len is the number of objects.
func (s *Store) Len() int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return len(s.objects.byKey)
}

// subscribe puts an owner in place.
func (s *Store) subscribe(owner string, only Interest, on func(Event)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.router.put(owner, only, on)
}

// unsubscribe takes an owner away, and gives the number of those left.
func (s *Store) unsubscribe(owner string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.router.remove(owner)
	return s.router.owners()
}

// fail takes in that the source cannot be read.
func (s *Store) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = &SourceError{Source: s.source, Err: cause(err)}
}

// works takes in that the source is being read.
func (s *Store) works() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = nil
}

// matches tells whether obj belongs to the source.
func (s *Store) matches(obj *unstructured.Unstructured) bool {
	return (s.source.Namespace == "" || s.source.Namespace == obj.GetNamespace()) &&
		(s.source.Name == "" || s.source.Name == obj.GetName()) &&
		(s.selector.Empty() || s.selector.Matches(labels.Set(obj.GetLabels())))
}
