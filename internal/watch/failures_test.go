package watch

import (
	"net/http"
	"sync/atomic"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"
)

func TestKindThatIsNotServed(t *testing.T) {
	server := newAPIServer(t)
	server.uninstall("widgets")
	fleet := start(t, server, slow())
	events := newTold()
	store := fleet.Ensure(Source{GVR: widgets}, "me", events.on)
	other := fleet.Ensure(Source{GVR: configMaps}, "me", func(Event) {})
	synced(t, other)
	eventually(t, "the source says that it cannot be read", func() bool { return store.Err() != nil })
	const want = "cannot list/watch widgets.v1.example.com: the API server does not serve this resource; is its CRD installed?"
	if err := store.Err(); err.Error() != want || !apierrors.IsNotFound(err) {
		t.Errorf("Err: got %q, want %q that is NotFound", err, want)
	}
	if store.Synced() {
		t.Error("a source that was never read says that it is synced")
	}

	// The next try is an hour away, but for the kick.
	server.install("widgets")
	server.put("widgets", widget("ns", "w"))
	fleet.Kick(kschema.GroupResource{Group: "example.com", Resource: "widgets"})
	events.expect(t, "+w=")
	synced(t, store)
	if err := store.Err(); err != nil {
		t.Errorf("Err: got %v, want nil once it works", err)
	}
}

func TestKindThatGoesAway(t *testing.T) {
	server := newAPIServer(t)
	server.put("widgets", widget("ns", "w"))
	server.put("widgets", widget("ns", "v"))
	events := newTold()
	store := start(t, server, quick()).Ensure(Source{GVR: widgets}, "me", events.on)
	events.expect(t, "+v=", "+w=")
	server.uninstall("widgets")
	events.expect(t, "-v=", "-w=")
	if n := store.Len(); n != 0 {
		t.Errorf("the store still has %d objects of a kind that is gone", n)
	}
	if err := store.Err(); !apierrors.IsNotFound(err) {
		t.Errorf("Err: got %v, want NotFound", err)
	}

	server.install("widgets")
	server.put("widgets", widget("ns", "v"))
	events.expect(t, "+v=")
	eventually(t, "the source works again", func() bool { return store.Err() == nil })
}

func TestForbidden(t *testing.T) {
	const message = `widgets.example.com is forbidden: User "kro" cannot watch resource "widgets" in API group "example.com" at the cluster scope`
	tests := map[string]struct {
		reason string
		refuse []string
		synced bool
	}{
		"All":       {"nothing can be read", []string{"list widgets", "watch widgets", "stream widgets"}, false},
		"OnlyWatch": {"what is there can be read, but not followed: that must not look healthy now and then", []string{"watch widgets", "stream widgets"}, true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			server := newAPIServer(t)
			for _, request := range tc.refuse {
				server.refuse(request, http.StatusForbidden, metav1.StatusReasonForbidden, message)
			}
			var failures atomic.Int32
			opts := quick()
			opts.Hooks.Failed = func(kschema.GroupVersionResource, error) { failures.Add(1) }
			store := start(t, server, opts).Ensure(Source{GVR: widgets, Namespace: "ns", Selector: "kro.run/owned=true"}, "me", func(Event) {})
			eventually(t, "the third failure", func() bool { return failures.Load() > 2 })
			const want = `cannot list/watch widgets.v1.example.com in namespace "ns", selected by "kro.run/owned=true": ` + message
			for range 100 {
				if err := store.Err(); err == nil || err.Error() != want || !apierrors.IsForbidden(err) {
					t.Fatalf("%s\nErr: got %v, want %q that is Forbidden", tc.reason, err, want)
				}
			}
			if store.Synced() != tc.synced {
				t.Errorf("%s\nSynced: got %t, want %t", tc.reason, store.Synced(), tc.synced)
			}
			for _, request := range tc.refuse {
				server.refuse(request, 0, "", "")
			}
			eventually(t, "the source works again", func() bool { return store.Err() == nil })
		})
	}
}

func TestErrorTextsDoNotChangeFromTryToTry(t *testing.T) {
	server := newAPIServer(t)
	fleet := start(t, server, quick())
	server.http.CloseClientConnections()
	server.http.Listener.Close()
	store := fleet.Ensure(Source{GVR: widgets}, "me", func(Event) {})
	eventually(t, "the source says that it cannot be read", func() bool { return store.Err() != nil })
	want := "cannot list/watch widgets.v1.example.com: dial tcp " + server.http.Listener.Addr().String() + ": connect: connection refused"
	if got := store.Err().Error(); got != want {
		t.Errorf("Err: got %q, want %q", got, want)
	}
}

// C18b: what goes wrong with one source is nobody else's business.
func TestSourcesDoNotDisturbEachOther(t *testing.T) {
	server := newAPIServer(t)
	server.refuse("stream widgets", http.StatusForbidden, metav1.StatusReasonForbidden, "no")
	server.refuse("list widgets", http.StatusForbidden, metav1.StatusReasonForbidden, "no")
	fleet := start(t, server, quick())
	events := newTold()
	broken := fleet.Ensure(Source{GVR: widgets}, "one", func(Event) {})
	works := fleet.Ensure(Source{GVR: configMaps}, "one", func(Event) { panic("one owner has a fault") })
	fleet.Ensure(Source{GVR: configMaps}, "two", events.on)
	synced(t, works)
	eventually(t, "the failing source says so", func() bool { return broken.Err() != nil })
	fleet.Release(Source{GVR: widgets}, "one")
	server.put("configmaps", configMap("ns", "a", "1"))
	events.expect(t, "+a=1")
	fleet.ReleaseOwner("one")
	server.put("configmaps", configMap("ns", "a", "2"))
	events.expect(t, "a=1>a=2")
	if err := works.Err(); err != nil {
		t.Errorf("Err: %v", err)
	}
}
