package watch

import (
	"context"

	"github.com/go-logr/logr"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
)

// Fleet runs one informer for each Source that somebody asked for. (In progress: the signatures stand, the bodies follow within minutes.)
type Fleet struct{}

// New makes a Fleet that reads through client. Nothing is read before Start.
func New(client dynamic.Interface, log logr.Logger, opts Options) *Fleet { return &Fleet{} }

// Start runs the fleet until ctx ends, then stops every informer and waits for it. Sources may be asked for before and after.
func (f *Fleet) Start(ctx context.Context) error { <-ctx.Done(); return nil }

// Ensure watches src on behalf of owner, and calls on with its events. The same owner again replaces its function. It does not block: Store.Done
// tells when the source has been read.
//
// The objects of the first read are events too (Old is nil). An owner that joins a source that has been read already gets no events for what is
// there: it reads the Store.
func (f *Fleet) Ensure(src Source, owner string, on func(Event)) *Store { return &Store{} }

// EnsureFor is Ensure for an owner that wants only some events: those of objects that only describes. One owner has one interest in a source.
func (f *Fleet) EnsureFor(src Source, owner string, only Interest, on func(Event)) *Store {
	return &Store{}
}

// Release takes owner off src. When nobody is left the informer is stopped and the Store no longer follows the cluster.
func (f *Fleet) Release(src Source, owner string) {}

// ReleaseOwner takes owner off every source.
func (f *Fleet) ReleaseOwner(owner string) {}

// Kick tries the failing sources of a resource again at once, in whatever version: call it when a CRD appears, is established or goes.
func (f *Fleet) Kick(gr kschema.GroupResource) {}
