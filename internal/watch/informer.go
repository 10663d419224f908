package watch

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/util/wait"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/watchlist"
	"k8s.io/utils/clock"
)

const (
	// healthy is how long a watch must have lasted for its end not to count as a failure.
	healthy = 10 * time.Second
	// confirmations is how many times in a row the server must say that a kind is not served before its objects are taken for gone. One of several
	// API servers may be behind the others.
	confirmations = 2
	// anewPause is how long a watch must have lasted for everything to be read again at once when it ends.
	anewPause = 200 * time.Millisecond
)

// informer keeps one Store up with the cluster. It drives client-go's Reflector, round by round: a round lists (or streams) everything, then watches
// until that fails. Between rounds it decides what the failure means and how long to wait, which the Reflector left alone does not tell.
type informer struct {
	store   *Store
	client  dynamic.ResourceInterface
	source  Source
	compact *compactor
	log     logr.Logger
	clock   clock.WithTicker
	hooks   Hooks
	backoff wait.Backoff
	// kick cuts a wait short. It holds one request, so that a kick that comes during a round is not lost.
	kick chan struct{}
	// launched and stop belong to the fleet.
	launched bool
	stop     context.CancelFunc
	// plainLists is for clients that cannot stream lists: the fake ones.
	plainLists bool
	// streaming tells that the list under way is a stream: it works as soon as it is complete, while after a plain list the watch has yet to be opened.
	streaming atomic.Bool
	// watched tells that this round has had its watch; see Source.Anew.
	watched atomic.Bool
}

// errAnew ends a round whose watch has ended, so that the next one reads everything again. The Reflector gives up on it at once.
var errAnew = apierrors.NewResourceExpired("the watch has ended; everything is read again")

func (f *Fleet) newInformer(src Source) *informer {
	var client dynamic.ResourceInterface = f.client.Resource(src.GVR)
	if src.Namespace != "" {
		client = f.client.Resource(src.GVR).Namespace(src.Namespace)
	}
	log := f.log.WithValues("source", src.String())
	return &informer{
		store: newStore(src, log, f.opts, f.compact), client: client, source: src, compact: f.compact, log: log,
		clock: f.opts.Clock, hooks: f.opts.Hooks, backoff: *f.opts.Backoff,
		kick: make(chan struct{}, 1), plainLists: watchlist.DoesClientNotSupportWatchListSemantics(f.client),
	}
}

// run keeps the store up until ctx ends.
func (i *informer) run(ctx context.Context) {
	defer i.store.fail(errStopped)
	// The Reflector tells in the log what the store tells in Err.
	quiet := i.log.V(3)
	reflector := cache.NewReflectorWithOptions(i, &unstructured.Unstructured{}, reflectorStore{i}, cache.ReflectorOptions{
		Logger: &quiet, Name: i.source.String(), TypeDescription: resourceName(i.source.GVR), Clock: i.clock, Backoff: &i.backoff,
	})
	roundCtx := logr.NewContext(ctx, quiet)

	backoff, absent := i.backoff, 0
	for {
		start := i.clock.Now()
		i.watched.Store(false)
		err := reflector.ListAndWatchWithContext(roundCtx)
		if ctx.Err() != nil {
			return
		}
		if errors.Is(err, errAnew) {
			err = nil
			if i.clock.Since(start) >= anewPause {
				continue
			}
		}
		if err != nil {
			i.failed(err)
		}
		absent = i.countAbsent(absent, err)
		if err == nil && i.clock.Since(start) >= healthy {
			backoff = i.backoff
		}
		kicked, ok := i.pause(ctx, backoff.Step())
		if !ok {
			return
		}
		if kicked {
			backoff = i.backoff
		}
	}
}

// failed tells whoever wants to know that the source cannot be read.
func (i *informer) failed(err error) {
	i.store.fail(err)
	i.hooks.Failed(i.source.GVR, err)
	i.log.V(1).Info("Cannot list/watch, will try again", "cause", err.Error())
}

// countAbsent counts how many times in a row the kind was not served. When that is certain, all objects are gone: client-go would keep them for ever,
// and whoever waits for their deletion would wait for ever.
func (i *informer) countAbsent(absent int, err error) int {
	if err == nil || !apierrors.IsNotFound(err) {
		return 0
	}
	if absent++; absent == confirmations {
		i.store.vanish()
	}
	return absent
}

// pause waits between rounds. It tells whether it was cut short by a kick, and false when ctx ended.
func (i *informer) pause(ctx context.Context, d time.Duration) (kicked, ok bool) {
	timer := i.clock.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false, false
	case <-i.kick:
		return true, true
	case <-timer.C():
		return false, true
	}
}

// retry cuts the pause of a failing source short.
func (i *informer) retry() {
	select {
	case i.kick <- struct{}{}:
	default:
	}
}

// The methods below are what the Reflector lists and watches with.

// List is there for the interface; the Reflector calls ListWithContext.
func (i *informer) List(opts metav1.ListOptions) (runtime.Object, error) {
	return i.ListWithContext(context.Background(), opts)
}

// Watch is there for the interface; the Reflector calls WatchWithContext.
func (i *informer) Watch(opts metav1.ListOptions) (apiwatch.Interface, error) {
	return i.WatchWithContext(context.Background(), opts)
}

// IsWatchListSemanticsUnSupported is how the Reflector asks whether it may stream lists.
func (i *informer) IsWatchListSemanticsUnSupported() bool { return i.plainLists }

// ListWithContext reads one page.
func (i *informer) ListWithContext(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
	i.streaming.Store(false)
	i.narrow(&opts)
	list, err := i.client.List(ctx, opts)
	if err != nil {
		return nil, err
	}
	for n := range list.Items {
		i.compact.compact(&list.Items[n])
	}
	return list, nil
}

// WatchWithContext opens a watch, or a list that comes as a stream and goes on as a watch.
func (i *informer) WatchWithContext(ctx context.Context, opts metav1.ListOptions) (apiwatch.Interface, error) {
	streaming := opts.SendInitialEvents != nil && *opts.SendInitialEvents
	if i.source.Anew && !streaming && i.watched.Load() {
		return nil, errAnew
	}
	i.narrow(&opts)
	events, err := i.client.Watch(ctx, opts)
	i.watched.Store(err == nil)
	i.streaming.Store(streaming && err == nil)
	switch {
	case err == nil && !streaming:
		i.store.works()
	case err != nil && !streaming:
		// The Reflector may go on trying for long without ending the round.
		i.store.fail(err)
	case err != nil && (utilnet.IsConnectionRefused(err) || apierrors.IsTooManyRequests(err)):
		// For these the Reflector would wait, deaf to the end of ctx. It takes any other error for a server that cannot stream, and tries a list.
		return nil, errors.New(err.Error())
	}
	if err != nil {
		return nil, err
	}
	return events, nil
}

// narrow adds what the source selects.
func (i *informer) narrow(opts *metav1.ListOptions) {
	opts.LabelSelector = i.source.Selector
	if i.source.Name != "" {
		opts.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, i.source.Name).String()
	}
}
