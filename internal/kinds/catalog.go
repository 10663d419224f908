package kinds

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	apiextensionsclient "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset/typed/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/openapi"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"kro.run/kro/schema"
)

// Options of a Catalog. The zero value is fit for use.
type Options struct {
	// Hooks are called as schemas are resolved.
	Hooks Hooks
	// Now is the clock; time.Now when nil.
	Now func() time.Time
}

// Catalog knows the kinds of a live cluster. It is safe for concurrent use. It works before Start, at the price of a request for each question about
// a CRD.
type Catalog struct {
	log     logr.Logger
	hooks   Hooks
	started atomic.Bool

	crdWatch  cache.ListerWatcher
	crds      *crdIndex
	departed  departed
	schemas   crdSchemas
	documents documents
	directory remembered[*directory]
}

var _ schema.Resolver = (*Catalog)(nil)

// New makes a Catalog of the cluster that cfg leads to. It sends no request yet.
func New(cfg *rest.Config, log logr.Logger, options Options) (*Catalog, error) {
	if options.Now == nil {
		options.Now = time.Now
	}
	watch, err := newCRDWatch(cfg)
	if err != nil {
		return nil, err
	}
	cfg = rest.CopyConfig(cfg)
	discover, err := discovery.NewDiscoveryClientForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("making a discovery client: %w", err)
	}
	cfg.ContentType = runtime.ContentTypeProtobuf // a large CRD decodes in a tenth of the time
	cfg.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	extensions, err := apiextensionsclient.NewForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("making a client that reads CustomResourceDefinitions: %w", err)
	}

	calls := caller{hooks: options.Hooks.withDefaults(), now: options.Now}
	published := openapi.NewClientWithContext(discover.RESTClient())
	c := &Catalog{
		log:       log,
		hooks:     calls.hooks,
		crdWatch:  watch,
		departed:  departed{now: options.Now, when: map[kschema.GroupKind]time.Time{}},
		schemas:   crdSchemas{client: extensions.CustomResourceDefinitions(), calls: calls, keep: keptSchemas, known: map[kschema.GroupVersionKind]*held{}, recent: list.New()},
		documents: documents{calls: calls, parsed: map[string]parsed{}},
	}
	c.documents.index = remembered[index]{now: options.Now, fetch: func(ctx context.Context) (index, error) {
		paths, err := published.PathsWithContext(ctx)
		if err != nil {
			return nil, fmt.Errorf("reading the index of OpenAPI documents: %w", err)
		}
		return paths, nil
	}}
	c.directory = remembered[*directory]{now: options.Now, fetch: func(ctx context.Context) (*directory, error) {
		return readDirectory(ctx, discover)
	}}
	c.crds = newCRDIndex(c.departed.remove, c.left)
	return c, nil
}

func (c *Catalog) left(gk kschema.GroupKind) {
	c.departed.add(gk)
	c.schemas.forget(gk)
}

// Start watches the cluster's CRDs until ctx ends, and returns then. It may be called once. It needs the right to list and watch CRDs; without it, it
// goes on trying and the Catalog works as before Start.
func (c *Catalog) Start(ctx context.Context) error {
	if c.started.Swap(true) {
		return errors.New("starting the catalog of kinds: it runs already")
	}
	follow(ctx, c.crdWatch, c.crds, c.log)
	return nil
}

// NeedLeaderElection tells controller-runtime's manager that the Catalog runs in every replica.
func (c *Catalog) NeedLeaderElection() bool { return false }

// Synced tells whether all CRDs of the cluster are known.
func (c *Catalog) Synced() bool {
	_, synced := c.crds.find(kschema.GroupKind{})
	return synced
}

// Done is closed once all CRDs of the cluster are known. A controller that starts waits for it (and not for ever: the watch may be forbidden), since
// until then each question about a CRD is a request.
func (c *Catalog) Done() <-chan struct{} { return c.crds.done }

// Subscribe asks to be told of each CRD that comes, changes or goes, from now on, those of the first list included when that is still to come. The
// catalog already knows of the change when it is told, so that Resolve and Mapping answer accordingly. The function is called from the goroutine that
// watches; it must not block, and must not call back into the Catalog for anything that needs a request.
//
// A change may arrive between a Resolve that found nothing and the caller's note of what it lacks: whoever waits for a kind makes that note first.
func (c *Catalog) Subscribe(to func(Change)) { c.crds.subscribe(to) }

// CRD tells what is known of a CRD by its name, such as "widgets.example.com".
func (c *Catalog) CRD(name string) (CRDInfo, bool) {
	info, known := c.crds.get(name)
	if !known {
		return CRDInfo{}, false
	}
	return *info, true
}

// Resolve gives a kind as the cluster serves it now. It fails with a *schema.NotFoundError when the kind is not served, also while its CRD is not yet
// established, and with another error when the cluster could not be asked.
func (c *Catalog) Resolve(gvk kschema.GroupVersionKind) (*schema.Kind, error) {
	ctx, cancel := context.WithTimeout(context.Background(), requestTimeout)
	defer cancel()
	kind, err := c.resolve(ctx, gvk)
	var missing *schema.NotFoundError
	if err != nil && !errors.As(err, &missing) {
		c.hooks.Failed()
		return nil, fmt.Errorf("resolving %s: %w", schema.Name(gvk), err)
	}
	return kind, err
}

func (c *Catalog) resolve(ctx context.Context, gvk kschema.GroupVersionKind) (*schema.Kind, error) {
	info, synced := c.crds.find(gvk.GroupKind())
	switch {
	case info != nil && !info.Serves(gvk.Version), c.departed.has(gvk.GroupKind()):
		return nil, &schema.NotFoundError{GVK: gvk}
	case info != nil:
		return c.schemas.resolve(ctx, info, gvk)
	case synced || !strings.Contains(gvk.Group, "."): // the group of a CRD is a domain
		return c.documents.resolve(ctx, gvk)
	}
	return c.resolveUnwatched(ctx, gvk)
}

// resolveUnwatched answers while the CRDs are not known. Discovery tells the plural and with it the name that a CRD of this kind must have.
func (c *Catalog) resolveUnwatched(ctx context.Context, gvk kschema.GroupVersionKind) (*schema.Kind, error) {
	at, err := lookup(ctx, &c.directory, gvk.GroupKind())
	if err != nil {
		return nil, err
	}
	kind, err := c.schemas.resolveNow(ctx, at.gvr.GroupResource().String(), gvk)
	var missing *schema.NotFoundError
	if errors.As(err, &missing) || apierrors.IsForbidden(err) {
		return c.documents.resolve(ctx, gvk)
	}
	return kind, err
}

// Mapping tells where a kind is served, in the version that the server prefers, and whether it is namespaced. It fails with a *schema.NotFoundError
// when the kind is not served (any more), and with another error when the cluster could not be asked.
func (c *Catalog) Mapping(gk kschema.GroupKind) (gvr kschema.GroupVersionResource, namespaced bool, err error) {
	info, _ := c.crds.find(gk)
	if info != nil {
		served := info.Served()
		if !info.Established || len(served) == 0 {
			return gvr, false, notServed(gk)
		}
		return kschema.GroupVersionResource{Group: gk.Group, Version: served[0], Resource: info.Plural}, info.Namespaced, nil
	}
	if c.departed.has(gk) {
		return gvr, false, notServed(gk)
	}
	ctx, cancel := context.WithTimeout(context.Background(), requestTimeout)
	defer cancel()
	at, err := lookup(ctx, &c.directory, gk)
	return at.gvr, at.namespaced, err
}
