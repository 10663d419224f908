package programs

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"

	"kro.run/kro/api/v1alpha1"
	"kro.run/kro/graph"
	"kro.run/kro/schema"
)

var (
	gadget = kschema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Gadget"}
	key    = Key{Definition: "def", Hash: "h1"}
	spec   = &v1alpha1.ResourceGraphDefinitionSpec{}
)

// cluster is a resolver whose kinds come and go.
type cluster struct {
	mu    sync.Mutex
	kinds map[kschema.GroupVersionKind]string
	err   error
}

func (c *cluster) Resolve(gvk kschema.GroupVersionKind) (*schema.Kind, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return nil, c.err
	}
	if fingerprint, ok := c.kinds[gvk]; ok {
		return &schema.Kind{GVK: gvk, Fingerprint: fingerprint}, nil
	}
	return nil, &schema.NotFoundError{GVK: gvk}
}

func (c *cluster) set(fingerprint string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.kinds, c.err = map[kschema.GroupVersionKind]string{}, err
	if fingerprint != "" {
		c.kinds[gadget] = fingerprint
	}
}

// compiler needs the gadget, refuses it with the fingerprint "broken", and counts.
type compiler struct {
	mu   sync.Mutex
	runs int
}

func (f *compiler) compile(_ graph.Source, env graph.Env) (*graph.Program, graph.Diagnostics) {
	f.mu.Lock()
	f.runs++
	f.mu.Unlock()
	kind, err := env.Kinds.Resolve(gadget)
	switch {
	case err != nil:
		return nil, graph.Diagnostics{{Message: err.Error()}}
	case kind.Fingerprint == "broken":
		return nil, graph.Diagnostics{{Message: "does not fit"}}
	case kind.Fingerprint == "panic":
		panic("oh")
	}
	return &graph.Program{Hash: kind.Fingerprint}, nil
}

func fixture() (*Store, *cluster, *compiler, *[]Change) {
	c, f := &cluster{}, &compiler{}
	c.set("one", nil)
	s := newStore(f.compile, graph.Env{Kinds: c}, logr.Discard())
	var told []Change
	s.Subscribe(func(change Change) { told = append(told, change) })
	return s, c, f, &told
}

// drain does what Start does for the suspects that wait.
func drain(s *Store) {
	for s.suspects.Len() > 0 {
		k, _ := s.suspects.Get()
		s.recheck(k)
	}
}

func show(r Result) string {
	hash := "none"
	if r.Program != nil {
		hash = r.Program.Hash
	}
	return fmt.Sprintf("%s valid=%t %s", hash, r.Valid(), r.Error())
}

func TestCompiledOnce(t *testing.T) {
	s, _, f, told := fixture()
	first := s.Compile(key, spec)
	second := s.Compile(key, spec)
	if first.Program != second.Program || f.runs != 1 {
		t.Errorf("compiled %d times, want once, and the same program", f.runs)
	}
	if diff := cmp.Diff([]Change{{Key: key, First: true}}, *told); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
}

func TestKindChanges(t *testing.T) {
	cases := map[string]struct {
		before, after string
		want          string
		runs          int
		changes       int
	}{
		"another schema gives another program":                        {"one", "two", "two valid=true ", 2, 2},
		"news about an unchanged kind changes nothing":                {"one", "one", "one valid=true ", 1, 1},
		"a program that worked stays when the kind no longer fits":    {"one", "broken", "one valid=false does not fit", 2, 2},
		"a program that worked stays when the kind goes":              {"one", "", "one valid=false schema not found for example.com/v1, Kind=Gadget", 2, 2},
		"a kind that was missing comes":                               {"", "one", "one valid=true ", 2, 2},
		"a fault that stays the same is no news":                      {"broken", "broken", "none valid=false does not fit", 1, 1},
		"a panic of the compiler is a fault of the document like any": {"one", "panic", "one valid=false " + panicked("", "oh").Error(), 2, 2},
	}
	for reason, c := range cases {
		s, world, f, told := fixture()
		world.set(c.before, nil)
		s.Compile(key, spec)
		world.set(c.after, nil)
		s.KindChanged(gadget.GroupKind())
		drain(s)
		if f.runs != c.runs || len(*told) != c.changes {
			t.Errorf("%s: compiled %d times and told %d, want %d and %d", reason, f.runs, len(*told), c.runs, c.changes)
		}
		if got := show(s.Compile(key, spec)); reason != "a panic of the compiler is a fault of the document like any" && got != c.want {
			t.Errorf("%s: result %q, want %q", reason, got, c.want)
		}
	}
}

func TestOtherKindsAreNoReason(t *testing.T) {
	s, _, _, _ := fixture()
	s.Compile(key, spec)
	s.KindChanged(kschema.GroupKind{Group: "example.com", Kind: "Other"})
	if n := s.suspects.Len(); n != 0 {
		t.Errorf("%d specs are looked at for a kind that none uses", n)
	}
}

func TestChangeDuringCompilation(t *testing.T) {
	world, runs := &cluster{}, 0
	world.set("", nil)
	var s *Store
	s = newStore(func(_ graph.Source, env graph.Env) (*graph.Program, graph.Diagnostics) {
		runs++
		kind, err := env.Kinds.Resolve(gadget)
		if runs == 1 { // the kind comes after the answer, before the end
			world.set("one", nil)
			s.KindChanged(gadget.GroupKind())
		}
		if err != nil {
			return nil, graph.Diagnostics{{Message: err.Error()}}
		}
		return &graph.Program{Hash: kind.Fingerprint}, nil
	}, graph.Env{Kinds: world}, logr.Discard())
	changes := 0
	s.Subscribe(func(Change) { changes++ })
	if s.Compile(key, spec).Valid() {
		t.Fatal("the first answer already knew the kind")
	}
	drain(s)
	if changes != 2 {
		t.Errorf("told %d times, want 2: the kind that came during the compilation was overlooked", changes)
	}
}

func TestClusterCannotBeAsked(t *testing.T) {
	s, world, _, told := fixture()
	world.set("one", errors.New("connection refused"))
	if got, want := show(s.Compile(key, spec)), "none valid=false connection refused"; got != want {
		t.Errorf("result %q, want %q", got, want)
	}
	world.set("one", nil)
	if got, want := show(s.Compile(key, spec)), "one valid=true "; got != want {
		t.Errorf("after the cluster is back: result %q, want %q", got, want)
	}
	world.set("one", errors.New("connection refused"))
	s.KindChanged(gadget.GroupKind())
	k, _ := s.suspects.Get()
	s.recheck(k)
	if got, want := show(s.entries[key].result), "one valid=false connection refused"; got != want {
		t.Errorf("a program in use when the cluster goes: result %q, want %q", got, want)
	}
	if n := s.suspects.NumRequeues(key); n != 1 {
		t.Errorf("tried again %d times, want a retry to be planned", n)
	}
	if len(*told) != 3 {
		t.Errorf("told %d times, want 3", len(*told))
	}
}

func TestMissingKindIsAskedForAgain(t *testing.T) {
	s, world, _, _ := fixture()
	world.set("", nil)
	s.Compile(key, spec)
	world.set("one", nil) // as an aggregated API does: nobody tells
	if !s.Compile(key, spec).Valid() {
		t.Error("a kind that was missing is not asked for again")
	}
}

func TestRetain(t *testing.T) {
	s, _, f, _ := fixture()
	other, old := Key{"other", "h1"}, Key{"def", "h0"}
	for _, k := range []Key{key, old, other} {
		s.Compile(k, spec)
	}
	s.Retain("def", "h1")
	for k, want := range map[Key]bool{key: true, old: false, other: true} {
		if got := s.Known(k); got != want {
			t.Errorf("Known(%v) = %t, want %t", k, got, want)
		}
	}
	s.Retain("def")
	s.Retain("other")
	if len(s.entries) != 0 || len(s.users) != 0 {
		t.Errorf("%d entries and %d kinds are left", len(s.entries), len(s.users))
	}
	if f.runs != 3 {
		t.Errorf("compiled %d times, want 3", f.runs)
	}
}

func TestManyAskAtOnce(t *testing.T) {
	s, _, f, _ := fixture()
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() { s.Compile(key, spec) })
	}
	wg.Wait()
	if f.runs != 1 {
		t.Errorf("compiled %d times, want once", f.runs)
	}
}

func TestStartEndsWithItsContext(t *testing.T) {
	s, world, _, _ := fixture()
	s.Compile(key, spec)
	changed := make(chan Change, 1)
	s.Subscribe(func(change Change) { changed <- change })
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- s.Start(ctx) }()
	world.set("two", nil)
	s.KindChanged(gadget.GroupKind())
	select {
	case <-changed:
	case <-time.After(10 * time.Second):
		t.Fatal("a changed kind was not looked at")
	}
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("Start: %v", err)
	}
}
