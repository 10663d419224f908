package watch

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"
)

// What the metrics are told: every change that the watch brought, and how many owners it concerned.
func TestHooks(t *testing.T) {
	var mu sync.Mutex
	var calls []string
	note := func(format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		calls = append(calls, fmt.Sprintf(format, args...))
	}
	opts := quick()
	opts.Hooks = Hooks{
		Event:   func(gvr kschema.GroupVersionResource, kind string) { note("%s %s", gvr.Resource, kind) },
		Routed:  func(gvr kschema.GroupVersionResource, owners int) { note("%s to %d", gvr.Resource, owners) },
		Watches: func(n int) { note("watches %d", n) },
		Synced:  func(gvr kschema.GroupVersionResource, _ time.Duration) { note("%s synced", gvr.Resource) },
	}
	server := newAPIServer(t)
	fleet := start(t, server, opts)
	events := newTold()
	store := fleet.Ensure(Source{GVR: configMaps}, "me", events.on)
	synced(t, store)
	server.put("configmaps", configMap("ns", "a", "1"))
	events.expect(t, "+a=1")
	server.put("configmaps", configMap("ns", "a", "1"))
	server.remove("configmaps", "ns", "a")
	events.expect(t, "-a=1")
	fleet.ReleaseOwner("me")
	want := []string{
		"watches 1", "configmaps synced", "configmaps add", "configmaps to 1", "configmaps update", "configmaps to 0",
		"configmaps delete", "configmaps to 1", "watches 0",
	}
	mu.Lock()
	defer mu.Unlock()
	if diff := cmp.Diff(want, calls); diff != "" {
		t.Errorf("hooks: -want, +got:\n%s", diff)
	}
}

// The fake client of client-go cannot stream lists. Tests of others use it with a Fleet, so that has to work.
func TestFakeClient(t *testing.T) {
	client := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(),
		map[kschema.GroupVersionResource]string{configMaps: "ConfigMapList"}, configMap("ns", "a", "1"))
	watching := make(chan struct{})
	client.PrependWatchReactor("configmaps", func(action clienttesting.Action) (bool, apiwatch.Interface, error) {
		w, err := client.Tracker().Watch(configMaps, action.GetNamespace())
		close(watching)
		return true, w, err
	})
	fleet := New(client, logr.Discard(), quick())
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- fleet.Start(ctx) }()
	events := newTold()
	fleet.Ensure(Source{GVR: configMaps}, "me", events.on)
	events.expect(t, "+a=1")
	// The fake forgets what happens between its list and its watch, so the watch must be there first.
	select {
	case <-watching:
	case <-time.After(10 * time.Second):
		t.Fatal("waited in vain for the watch")
	}
	if _, err := client.Resource(configMaps).Namespace("ns").Update(ctx, configMap("ns", "a", "2"), metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	events.expect(t, "a=1>a=2")
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("Start: %v", err)
	}
}
