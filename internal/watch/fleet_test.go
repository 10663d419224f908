package watch

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// quick backs off as in production, in a hundredth of the time.
func quick() Options {
	return Options{Backoff: &wait.Backoff{Duration: 2 * time.Millisecond, Factor: 2, Steps: 32, Cap: 50 * time.Millisecond}}
}

// slow does not try again within the time of a test.
func slow() Options {
	return Options{Backoff: &wait.Backoff{Duration: time.Hour, Steps: 1}}
}

// start runs a fleet against server until the test ends.
func start(t testing.TB, server *apiServer, opts Options) *Fleet {
	t.Helper()
	fleet := New(server.client(t), logr.Discard(), opts)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- fleet.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Start: %v", err)
		}
	})
	return fleet
}

func synced(t testing.TB, store *Store) {
	t.Helper()
	select {
	case <-store.Done():
	case <-time.After(10 * time.Second):
		t.Fatalf("waited in vain for %v: %v", store.Source(), store.Err())
	}
}

func names(store *Store) []string {
	var names []string
	for _, obj := range store.List() {
		names = append(names, describe(obj))
	}
	return names
}

// Both ways to read a source must give the same: a streamed list, and a plain list with a watch after it for servers that do not stream.
func TestFollowsTheCluster(t *testing.T) {
	for _, streaming := range []bool{true, false} {
		t.Run(fmt.Sprintf("streaming=%t", streaming), func(t *testing.T) {
			server := newAPIServer(t)
			if !streaming {
				server.refuse("stream configmaps", http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, "sendInitialEvents is forbidden")
			}
			server.put("configmaps", configMap("ns", "a", "1"))
			server.put("configmaps", configMap("ns", "b", "1"))
			events := newTold()
			store := start(t, server, quick()).Ensure(Source{GVR: configMaps}, "me", events.on)
			events.expect(t, "+a=1", "+b=1")
			if !store.Synced() {
				t.Error("the source was not synced when its first events came")
			}

			server.put("configmaps", configMap("ns", "b", "2"))
			server.put("configmaps", configMap("ns", "c", "1"))
			server.remove("configmaps", "ns", "a")
			events.expect(t, "b=1>b=2", "+c=1", "-a=1")
			if diff := cmp.Diff([]string{"b=2", "c=1"}, names(store)); diff != "" {
				t.Errorf("List: -want, +got:\n%s", diff)
			}
			if err := store.Err(); err != nil {
				t.Errorf("Err: %v", err)
			}
			obj, _ := store.Get("ns", "b")
			if len(obj.GetManagedFields()) != 0 {
				t.Error("managedFields are kept")
			}
			if byUID, ok := store.ByUID(obj.GetUID()); !ok || byUID != obj {
				t.Errorf("ByUID: got %v, want the object itself", byUID)
			}
		})
	}
}

func TestNarrowSources(t *testing.T) {
	server := newAPIServer(t)
	server.put("configmaps", labelled(configMap("ns", "a", "owned"), "kro.run/owned", "true"))
	server.put("configmaps", configMap("ns", "b", "free"))
	server.put("configmaps", configMap("other", "b", "far"))
	fleet := start(t, server, quick())
	tests := map[string]struct {
		source Source
		want   []string
	}{
		"Selector":      {Source{GVR: configMaps, Selector: "kro.run/owned=true"}, []string{"a=owned"}},
		"Name":          {Source{GVR: configMaps, Name: "b"}, []string{"b=free", "b=far"}},
		"NameNamespace": {Source{GVR: configMaps, Name: "b", Namespace: "other"}, []string{"b=far"}},
		"Namespace":     {Source{GVR: configMaps, Namespace: "ns"}, []string{"a=owned", "b=free"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			store := fleet.Ensure(tc.source, "me", func(Event) {})
			synced(t, store)
			if diff := cmp.Diff(tc.want, names(store)); diff != "" {
				t.Errorf("List: -want, +got:\n%s", diff)
			}
		})
	}
}

func TestLostWatchIsResumed(t *testing.T) {
	server := newAPIServer(t)
	server.put("configmaps", configMap("ns", "a", "1"))
	events := newTold()
	start(t, server, quick()).Ensure(Source{GVR: configMaps}, "me", events.on)
	events.expect(t, "+a=1")
	for i := 2; i < 5; i++ {
		server.dropWatches()
		server.put("configmaps", configMap("ns", "a", fmt.Sprint(i)))
		events.expect(t, fmt.Sprintf("a=%d>a=%d", i-1, i))
	}
	events.none(t)
}

func TestChangesMissedWhileTheWatchWasGone(t *testing.T) {
	server := newAPIServer(t)
	server.put("configmaps", configMap("ns", "gone", "1"))
	server.put("configmaps", configMap("ns", "kept", "1"))
	server.put("configmaps", configMap("ns", "other", "1"))
	events := newTold()
	store := start(t, server, quick()).Ensure(Source{GVR: configMaps}, "me", events.on)
	events.expect(t, "+gone=1", "+kept=1", "+other=1")

	// All of it happens in a stretch that the server cannot tell any more: only a new list shows it.
	server.do(func() {
		server.removeLocked("configmaps", "configmaps/ns/gone")
		changed := configMap("ns", "other", "2")
		server.version++
		changed.SetResourceVersion(fmt.Sprint(server.version))
		changed.SetUID(server.objects["configmaps/ns/other"].GetUID())
		server.objects["configmaps/ns/other"] = changed
		server.log = nil
		server.version++
		server.compacted = server.version
		server.dropped++
	})
	events.expect(t, "other=1>other=2", "-gone=1")
	events.none(t)
	if diff := cmp.Diff([]string{"kept=1", "other=2"}, names(store)); diff != "" {
		t.Errorf("List: -want, +got:\n%s", diff)
	}
}

func TestWritesThatChangeNothingAreNotForwarded(t *testing.T) {
	server := newAPIServer(t)
	server.put("configmaps", configMap("ns", "a", "1"))
	events := newTold()
	store := start(t, server, quick()).Ensure(Source{GVR: configMaps}, "me", events.on)
	events.expect(t, "+a=1")
	again := server.put("configmaps", configMap("ns", "a", "1"))
	server.put("configmaps", configMap("ns", "b", "1"))
	events.expect(t, "+b=1")
	events.none(t)
	if obj, _ := store.Get("ns", "a"); obj.GetResourceVersion() != again.GetResourceVersion() {
		t.Errorf("the store has version %s, want %s: what is not forwarded must still be stored", obj.GetResourceVersion(), again.GetResourceVersion())
	}
}

func TestOwnersShareAndLeave(t *testing.T) {
	server := newAPIServer(t)
	var watches atomic.Int32
	opts := quick()
	opts.Hooks.Watches = func(n int) { watches.Store(int32(n)) }
	fleet := start(t, server, opts)
	src := Source{GVR: configMaps}
	first, second, replaced := newTold(), newTold(), newTold()
	store := fleet.Ensure(src, "first", first.on)
	synced(t, store)
	if fleet.Ensure(src, "second", second.on) != store {
		t.Error("two owners of one source do not share a store")
	}
	server.put("configmaps", configMap("ns", "a", "1"))
	first.expect(t, "+a=1")
	second.expect(t, "+a=1")

	fleet.Ensure(src, "second", replaced.on)
	fleet.Release(src, "first")
	fleet.Release(src, "first")
	fleet.Release(src, "a stranger")
	server.put("configmaps", configMap("ns", "a", "2"))
	replaced.expect(t, "a=1>a=2")
	first.none(t)
	second.none(t)
	if n := server.count("stream configmaps"); n != 1 {
		t.Errorf("the source was read %d times, want once", n)
	}

	fleet.ReleaseOwner("second")
	eventually(t, "the watch is stopped", func() bool { return store.Err() != nil })
	if n := watches.Load(); n != 0 {
		t.Errorf("Hooks.Watches: %d left, want 0", n)
	}
	server.put("configmaps", configMap("ns", "a", "3"))
	later := newTold()
	fleet.Ensure(src, "later", later.on)
	later.expect(t, "+a=3")
}

// C18a: one leaves while another comes. Whoever holds the source must be told what happens.
func TestLeavingAndComingAtOnce(t *testing.T) {
	server := newAPIServer(t)
	fleet := start(t, server, quick())
	src := Source{GVR: configMaps}
	for round := range 50 {
		fleet.Ensure(src, "leaving", func(Event) {})
		events := newTold()
		var both sync.WaitGroup
		both.Go(func() { fleet.Release(src, "leaving") })
		var store *Store
		both.Go(func() { store = fleet.Ensure(src, "coming", events.on) })
		both.Wait()
		synced(t, store)
		name := fmt.Sprintf("a-%d", round)
		server.put("configmaps", configMap("ns", name, "1"))
		eventually(t, "the one who came has the new object", func() bool { _, ok := store.Get("ns", name); return ok })
		if err := store.Err(); err != nil {
			t.Fatalf("Err: %v", err)
		}
		fleet.Release(src, "coming")
	}
}

func TestInterests(t *testing.T) {
	server := newAPIServer(t)
	fleet := start(t, server, quick())
	src := Source{GVR: configMaps}
	byID, byPart, byName, unknown := newTold(), newTold(), newTold(), newTold()
	fleet.EnsureFor(src, "by-id", Interest{IndexInstanceID, "uid-1"}, byID.on)
	fleet.EnsureFor(src, "by-part", Interest{IndexPartOf, "set-1"}, byPart.on)
	fleet.EnsureFor(src, "by-name", Interest{IndexName, "ns/b"}, byName.on)
	store := fleet.EnsureFor(src, "unknown", Interest{"colour", "red"}, unknown.on)
	synced(t, store)
	server.put("configmaps", labelled(configMap("ns", "a", "1"), "kro.run/instance-id", "uid-1"))
	server.put("configmaps", configMap("ns", "b", "1"))
	// An object that leaves one set for another concerns both.
	server.put("configmaps", labelled(configMap("ns", "c", "1"), "applyset.kubernetes.io/part-of", "set-1"))
	server.put("configmaps", labelled(configMap("ns", "c", "2"), "applyset.kubernetes.io/part-of", "set-2"))
	server.put("configmaps", labelled(configMap("ns", "c", "3"), "applyset.kubernetes.io/part-of", "set-2"))
	unknown.expect(t, "+a=1", "+b=1", "+c=1", "c=1>c=2", "c=2>c=3")
	byID.expect(t, "+a=1")
	byName.expect(t, "+b=1")
	byPart.expect(t, "+c=1", "c=1>c=2")
	for _, events := range []told{byID, byPart, byName} {
		events.none(t)
	}
	if got := store.ByIndex(IndexPartOf, "set-1"); len(got) != 0 {
		t.Errorf("ByIndex: %d objects in a set that was left, want 0", len(got))
	}
	if got := store.ByIndex(IndexPartOf, "set-2"); len(got) != 1 {
		t.Errorf("ByIndex: %d objects in the set, want 1", len(got))
	}
}

func TestSourcesAskedForBeforeStart(t *testing.T) {
	server := newAPIServer(t)
	server.put("configmaps", configMap("ns", "a", "1"))
	fleet := New(server.client(t), logr.Discard(), quick())
	events := newTold()
	store := fleet.Ensure(Source{GVR: configMaps}, "me", events.on)
	early := fleet.Ensure(Source{GVR: widgets}, "me", events.on)
	fleet.Release(Source{GVR: widgets}, "me")
	if early.Err() == nil {
		t.Error("a source that was given up before the start does not say so")
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- fleet.Start(ctx) }()
	events.expect(t, "+a=1")
	if err := fleet.Start(ctx); err == nil {
		t.Error("a fleet was started twice")
	}
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("Start: %v", err)
	}
	if store.Err() == nil {
		t.Error("the source does not say that the fleet has ended")
	}
	if late := fleet.Ensure(Source{GVR: widgets}, "me", events.on); late.Err() == nil {
		t.Error("a source asked for after the end does not say so")
	}
}

// An event function may call back into the fleet and the store.
func TestEventFunctionsMayCallBack(t *testing.T) {
	server := newAPIServer(t)
	fleet := start(t, server, quick())
	src := Source{GVR: configMaps}
	done := make(chan struct{})
	var store *Store
	ready := make(chan struct{})
	store = fleet.Ensure(src, "me", func(e Event) {
		<-ready
		store.Record(e.New)
		store.Expect("ns", "a")()
		store.List()
		fleet.Ensure(Source{GVR: widgets}, "me", func(Event) {})
		fleet.Kick(configMaps.GroupResource())
		fleet.ReleaseOwner("me")
		close(done)
	})
	close(ready)
	server.put("configmaps", configMap("ns", "a", "1"))
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		t.Fatal("the event function did not come back")
	}
}
