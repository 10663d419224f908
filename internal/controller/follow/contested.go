package follow

import (
	"k8s.io/apimachinery/pkg/types"

	"kro.run/kro/internal/executor"
	"kro.run/kro/internal/watch"
)

// Contested are the objects of others that an owner wants, and waits for. The zero value is ready for use.
type Contested struct{ objects map[executor.Key]bool }

// Follow has the owner woken when one of the objects changes or goes, and no longer follows those that are not among them. The name is that of the owner in
// the caches.
func (c *Contested) Follow(caches Caches, name string, objects []executor.Key, wake func(watch.Event)) {
	wanted := make(map[executor.Key]bool, len(objects))
	for _, object := range objects {
		wanted[object] = true
		id := object.Name // as the index has it
		if object.Namespace != "" {
			id = types.NamespacedName{Namespace: object.Namespace, Name: object.Name}.String()
		}
		caches.EnsureFor(Members(object.GVR), contender(name, object), watch.Interest{Index: watch.IndexName, Value: id}, wake)
	}
	for object := range c.objects {
		if !wanted[object] {
			caches.ReleaseOwner(contender(name, object))
		}
	}
	c.objects = wanted
}

// Release follows none of the objects any longer.
func (c *Contested) Release(caches Caches, name string) {
	for object := range c.objects {
		caches.ReleaseOwner(contender(name, object))
	}
	c.objects = nil
}

// contender is the name in the caches of an owner that waits for an object. An owner has one interest in a source, and that of its own objects is taken, so
// each object that it waits for has a name.
func contender(owner string, object executor.Key) string {
	return owner + "/contest/" + object.GVR.String() + "/" + object.Namespace + "/" + object.Name
}

// When calls wake, once, when done is closed; not when stopped is closed before.
func When(done, stopped <-chan struct{}, wake func()) {
	go func() {
		select {
		case <-done:
			wake()
		case <-stopped:
		}
	}()
}
