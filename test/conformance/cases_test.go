package conformance

import (
	"os"
	"path/filepath"
	"testing"

	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/restmapper"

	"kro.run/kro/test/cluster"
)

func TestMain(m *testing.M) { os.Exit(cluster.Main(m)) }

// The cases of this project.
func TestCases(t *testing.T) {
	paths, err := filepath.Glob("cases/*.yaml")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	c := cluster.Of(t)
	client, err := dynamic.NewForConfig(c.Config)
	if err != nil {
		t.Fatal(err)
	}
	kinds, err := discovery.NewDiscoveryClientForConfig(c.Config)
	if err != nil {
		t.Fatal(err)
	}
	c.Kro(t)
	for _, path := range paths {
		name, tc, err := load(path)
		t.Run(name, func(t *testing.T) {
			if err != nil {
				t.Fatal(err)
			}
			t.Parallel()
			run := &Run{
				Client: client, Namespace: name,
				Mapper: restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(kinds)),
			}
			run.Clear(t.Context()) // a control plane may outlive a run of the tests that was cut short
			err := run.Do(t.Context(), tc.Steps)
			if err != nil {
				// Cases have deadlines of seconds, which a machine that does something else may miss once.
				t.Logf("first try: %v", err)
				run.Clear(t.Context())
				err = run.Do(t.Context(), tc.Steps)
			}
			if err != nil {
				t.Errorf("%s\n%v", tc.Why, err)
			}
			run.Clear(t.Context())
		})
	}
}
