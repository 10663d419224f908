package programs

import (
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/workqueue"

	"kro.run/kro/api/v1alpha1"
	"kro.run/kro/graph"
	"kro.run/kro/internal/metrics"
)

// Key names a spec: the definition it belongs to and its hash. Revisions and definitions with the same spec have the same key.
type Key struct {
	Definition, Hash string
}

// Result is what is known about a spec.
type Result struct {
	// Program is the spec compiled. Together with Diagnostics or Err it is what last compiled, against kinds that have changed since; nil when the
	// spec never compiled.
	Program *graph.Program
	// Diagnostics are the faults of the spec against the kinds as they are now.
	Diagnostics graph.Diagnostics
	// Err says that the cluster could not be asked about a kind: neither valid nor invalid, asking again may help.
	Err error
}

// Valid says that the spec compiles against the kinds as they are now.
func (r Result) Valid() bool {
	return r.Program != nil && len(r.Diagnostics) == 0 && r.Err == nil
}

// Error is the text of what is wrong; empty when nothing is.
func (r Result) Error() string {
	if r.Err != nil {
		return r.Err.Error()
	}
	if len(r.Diagnostics) > 0 {
		return r.Diagnostics.Error()
	}
	return ""
}

func (r Result) state() metrics.RevisionState {
	switch {
	case r.Valid():
		return metrics.RevisionActive
	case r.Err != nil:
		return metrics.RevisionPending
	}
	return metrics.RevisionFailed
}

// same says that two results lead to the same behaviour and the same texts.
func (r Result) same(other Result) bool {
	if (r.Program == nil) != (other.Program == nil) || r.Error() != other.Error() {
		return false
	}
	return r.Program == nil || r.Program.Hash == other.Program.Hash
}

// Change says that the result of a spec is new or another one.
type Change struct {
	Key
	// First is true for a spec that had no result in memory.
	First bool
}

// CompileFunc is graph.Compile.
type CompileFunc func(graph.Source, graph.Env) (*graph.Program, graph.Diagnostics)

// Store holds the results. It is safe for concurrent use.
type Store struct {
	compile CompileFunc
	env     graph.Env
	log     logr.Logger
	// suspects are entries whose kinds may have changed; Start looks at them.
	suspects workqueue.TypedRateLimitingInterface[Key]

	mu      sync.Mutex
	entries map[Key]*entry
	// users indexes the entries by the kinds that they use or miss.
	users       map[kschema.GroupKind]map[Key]bool
	subscribers []func(Change)
}

// entry is one spec.
type entry struct {
	key Key

	// compiling is held while the entry is compiled or checked, so that the second who asks waits for the answer of the first. It guards what
	// follows and is taken before Store.mu.
	compiling sync.Mutex
	source    graph.Source
	known     bool
	result    Result
	answers   answers

	// What follows is guarded by Store.mu.
	suspect bool
	gone    bool
	// filed are the kinds under which the entry stands in Store.users; state is what it counts as, empty before the first result.
	filed []kschema.GroupKind
	state metrics.RevisionState
}

// New makes an empty store. env.Kinds resolves the kinds of the cluster.
func New(env graph.Env, log logr.Logger) *Store {
	return newStore(graph.Compile, env, log)
}

func newStore(compile CompileFunc, env graph.Env, log logr.Logger) *Store {
	backoff := workqueue.NewTypedItemExponentialFailureRateLimiter[Key](200*time.Millisecond, 5*time.Minute)
	return &Store{
		compile:  compile,
		env:      env,
		log:      log,
		suspects: workqueue.NewTypedRateLimitingQueue(backoff),
		entries:  map[Key]*entry{},
		users:    map[kschema.GroupKind]map[Key]bool{},
	}
}

// Subscribe calls f for every change from now on. It is called from the goroutine that compiled and must not block.
func (s *Store) Subscribe(f func(Change)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.subscribers = append(s.subscribers, f)
}

// Compile returns the result of a spec, from memory when nothing has happened since. The spec must not be changed afterwards.
func (s *Store) Compile(key Key, spec *v1alpha1.ResourceGraphDefinitionSpec) Result {
	return s.CompileSource(key, func() graph.Source { return graph.FromDefinition(key.Definition, spec) })
}

// CompileSource is Compile for any document; source is called when the key has no result yet.
func (s *Store) CompileSource(key Key, source func() graph.Source) Result {
	e := s.entry(key)
	e.compiling.Lock()
	if !e.known {
		e.source = source()
	}
	result, change := s.bringUpToDate(e)
	e.compiling.Unlock()
	s.publish(change)
	return result
}

// Known says whether a spec has a result in memory.
func (s *Store) Known(key Key) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.entries[key] != nil
}

// Retain forgets all specs of a definition but those with one of the hashes.
func (s *Store) Retain(definition string, hashes ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, e := range s.entries {
		if key.Definition == definition && !slices.Contains(hashes, key.Hash) {
			s.evict(e)
		}
	}
}

// KindChanged says that a kind appeared, went or changed. It does not block: the specs that use or missed it are looked at by Start, or by the next
// Compile of them, whichever comes first.
func (s *Store) KindChanged(gk kschema.GroupKind) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key := range s.users[gk] {
		s.entries[key].suspect = true
		s.suspects.Add(key)
	}
}

func (s *Store) entry(key Key) *entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.entries[key]
	if e == nil {
		e = &entry{key: key}
		s.entries[key] = e
	}
	return e
}

// bringUpToDate compiles what has to be compiled. The caller holds e.compiling and publishes the change.
func (s *Store) bringUpToDate(e *entry) (Result, *Change) {
	s.mu.Lock()
	suspect := e.suspect
	e.suspect = false
	s.mu.Unlock()
	if e.known && e.result.Err == nil && !e.answers.outdated(s.env.Kinds, suspect) {
		return e.result, nil
	}
	before, first := e.result, !e.known
	e.result, e.answers = s.run(e)
	if e.result.Program == nil {
		e.result.Program = before.Program
	}
	e.known = true
	s.file(e)
	if !first && e.result.same(before) {
		e.result = before // the same program stays the same pointer: whoever compares sees that nothing changed
		return e.result, nil
	}
	return e.result, &Change{Key: e.key, First: first}
}

// run compiles the source of an entry. A panic of the compiler is a fault of that one source.
func (s *Store) run(e *entry) (result Result, asked answers) {
	source, env := e.source, s.env
	recorder := newRecorder(s.env.Kinds, func(gk kschema.GroupKind) { s.note(e, gk) })
	env.Kinds = recorder
	began := time.Now()
	defer func() {
		if cause := recover(); cause != nil {
			result = Result{Diagnostics: graph.Diagnostics{panicked(source.Name, cause)}}
			asked = recorder.answers
			s.log.Error(errors.New(result.Error()), "Compiler panicked", "definition", source.Name, "stack", stack())
		}
		took := time.Since(began)
		if source.Door == graph.DefinitionDoor { // Graphs are too many, and too short-lived, for series by name
			metrics.DefinitionCompiled(source.Name, took, !result.Valid())
		}
		metrics.RevisionCompiled(took, !result.Valid())
	}()
	result.Program, result.Diagnostics = s.compile(source, env)
	if len(result.Diagnostics) > 0 {
		result.Program = nil
		result.Err = recorder.answers.failure()
	}
	return result, recorder.answers
}

// note indexes the entry under a kind that its compilation is about to ask for. It comes before the question, so that a change that arrives between
// the answer and the end of the compilation makes the entry suspect.
func (s *Store) note(e *entry, gk kschema.GroupKind) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e.gone || slices.Contains(e.filed, gk) {
		return
	}
	if s.users[gk] == nil {
		s.users[gk] = map[Key]bool{}
	}
	s.users[gk][e.key] = true
	e.filed = append(e.filed, gk)
}

// file counts the entry after a compilation and takes it out of the index where it was not needed any more.
func (s *Store) file(e *entry) {
	asked := map[kschema.GroupKind]bool{}
	for gvk := range e.answers {
		asked[gvk.GroupKind()] = true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if e.gone {
		return
	}
	e.filed = slices.DeleteFunc(e.filed, func(gk kschema.GroupKind) bool {
		if !asked[gk] {
			s.drop(e.key, gk)
		}
		return !asked[gk]
	})
	before := e.state
	e.state = e.result.state()
	if before == "" {
		metrics.RegistryEntered(e.state)
		return
	}
	metrics.RegistryMoved(before, e.state)
}

// drop takes a key out of the index of one kind; s.mu is held.
func (s *Store) drop(key Key, gk kschema.GroupKind) {
	delete(s.users[gk], key)
	if len(s.users[gk]) == 0 {
		delete(s.users, gk)
	}
}

// evict drops an entry; s.mu is held. Its result lives on with whoever holds it.
func (s *Store) evict(e *entry) {
	e.gone = true
	delete(s.entries, e.key)
	for _, gk := range e.filed {
		s.drop(e.key, gk)
	}
	e.filed = nil
	s.suspects.Forget(e.key)
	if e.state != "" {
		metrics.RegistryEvicted(e.state)
	}
}

func (s *Store) publish(change *Change) {
	if change == nil {
		return
	}
	s.mu.Lock()
	subscribers := s.subscribers
	s.mu.Unlock()
	for _, f := range subscribers {
		f(*change)
	}
}
