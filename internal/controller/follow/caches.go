package follow

import (
	kschema "k8s.io/apimachinery/pkg/runtime/schema"

	"kro.run/kro/api/v1alpha1"
	"kro.run/kro/internal/executor"
	"kro.run/kro/internal/watch"
)

// Caches hold what is known of the cluster. See watch.Fleet, whose contract this is.
type Caches interface {
	Ensure(src watch.Source, owner string, on func(watch.Event)) executor.Store
	EnsureFor(src watch.Source, owner string, only watch.Interest, on func(watch.Event)) executor.Store
	Release(src watch.Source, owner string)
	ReleaseOwner(owner string)
}

// Fleet makes an informer fleet the Caches of a controller.
func Fleet(f *watch.Fleet) Caches { return fleet{f} }

type fleet struct{ *watch.Fleet }

// Ensure implements Caches.
func (f fleet) Ensure(src watch.Source, owner string, on func(watch.Event)) executor.Store {
	return f.Fleet.Ensure(src, owner, on)
}

// EnsureFor implements Caches.
func (f fleet) EnsureFor(src watch.Source, owner string, only watch.Interest, on func(watch.Event)) executor.Store {
	return f.Fleet.EnsureFor(src, owner, only, on)
}

// Members is the watch of all objects of a resource that kro owns, whoever their owner is.
func Members(gvr kschema.GroupVersionResource) watch.Source {
	return watch.Source{GVR: gvr, Selector: v1alpha1.OwnedLabel + "=true"}
}
