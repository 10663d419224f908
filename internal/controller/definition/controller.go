package definition

import (
	"context"
	"sync"
	"time"

	"github.com/go-logr/logr"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kro.run/kro/api/v1alpha1"
	"kro.run/kro/internal/controller/instance"
	"kro.run/kro/internal/crd"
	"kro.run/kro/internal/kinds"
	"kro.run/kro/internal/programs"
)

// Programs compiles specs; programs.Store does.
type Programs interface {
	Compile(programs.Key, *v1alpha1.ResourceGraphDefinitionSpec) programs.Result
	Retain(definition string, hashes ...string)
	Subscribe(func(programs.Change))
}

// Instances serves the instances of definitions; instance.Controller does.
type Instances interface {
	// Serve keeps the instances as the definition says. It may be called as often as one likes.
	Serve(context.Context, instance.Definition) error
	// Withdraw stops it; the instances stay as they are.
	Withdraw(definition string)
	// Instances counts them; synced is false while they are not known.
	Instances(definition string) (n int, synced bool)
	// OnInstanceGone registers a function to be called when an instance has gone.
	OnInstanceGone(func(definition string))
}

// Catalog knows the CRDs of the cluster; kinds.Catalog does.
type Catalog interface {
	CRD(name string) (kinds.CRDInfo, bool)
	Synced() bool
}

// CRDs reads and writes generated CRDs; Extensions does, on an API server.
type CRDs interface {
	// Ensure makes the CRD of the cluster be as desired.
	Ensure(ctx context.Context, desired *apiextensionsv1.CustomResourceDefinition, options crd.Options) (crd.Result, error)
	// Get reads a CRD; nil when there is none.
	Get(ctx context.Context, name string) (*apiextensionsv1.CustomResourceDefinition, error)
	// Delete deletes the CRD that was read; one that has gone is no error.
	Delete(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition) error
	// Instances counts the objects of a kind on the server.
	Instances(ctx context.Context, gvr kschema.GroupVersionResource) (int64, error)
}

// Deps are what the controller works with.
type Deps struct {
	// Client reads definitions and revisions from the caches and writes them to the API server; Live reads from the server.
	Client client.Client
	Live   client.Reader

	Programs  Programs
	Instances Instances
	Catalog   Catalog
	CRDs      CRDs
	Log       logr.Logger
	// Clock is the real one when nil.
	Clock   clock.PassiveClock
	Options Options
}

// Options tune the controller.
type Options struct {
	// Workers is how many definitions are reconciled at the same time; 1 when 0.
	Workers int
	// MaxRevisions is how many revisions of a definition are kept; 0 or less keeps all.
	MaxRevisions int
	// AllowCRDDeletion deletes the CRD with its definition.
	AllowCRDDeletion bool
}

// Controller reconciles ResourceGraphDefinitions. Use New and Register.
type Controller struct {
	Deps
	notes *notes
	waker *waker

	mu       sync.Mutex
	memories map[string]*memory
}

// New returns a controller that has not started.
func New(deps Deps) *Controller {
	if deps.Clock == nil {
		deps.Clock = clock.RealClock{}
	}
	if deps.Options.Workers < 1 {
		deps.Options.Workers = 1
	}
	return &Controller{
		Deps:     deps,
		notes:    newNotes(),
		waker:    &waker{},
		memories: map[string]*memory{},
	}
}

func (c *Controller) memory(name string) *memory {
	c.mu.Lock()
	defer c.mu.Unlock()
	m := c.memories[name]
	if m == nil {
		m = &memory{}
		c.memories[name] = m
	}
	return m
}

// forget ends everything about a definition that is gone, and wakes those that wanted the same CRD.
func (c *Controller) forget(name string) {
	c.mu.Lock()
	m := c.memories[name]
	delete(c.memories, name)
	c.mu.Unlock()
	if m != nil && m.served != nil {
		c.Instances.Withdraw(name)
	}
	c.Programs.Retain(name)
	if crd := c.notes.forget(name); crd != "" {
		c.waker.wake(c.notes.claimants(crd)...)
	}
}

func (c *Controller) now() time.Time { return c.Clock.Now() }
