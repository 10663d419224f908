package instance

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"time"

	"github.com/go-logr/logr"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"

	"kro.run/kro/internal/metrics"
)

// work takes one instance from the queue. It returns false when the queue has been shut down.
func (c *Controller) work(ctx context.Context) bool {
	k, shutdown := c.queue.Get()
	if shutdown {
		return false
	}
	defer c.queue.Done(k)
	metrics.SetQueueLength(c.queue.Len())
	started := c.Clock.Now()
	next, err := c.guarded(ctx, k)
	metrics.QueueReconciled(k.GVR, c.Clock.Since(started))
	metrics.InstanceReconciled(k.GVR, c.Clock.Since(started), err != nil && !errors.Is(err, errPruned))
	switch {
	case ctx.Err() != nil:
		return true
	case errors.Is(err, errPruned):
		next = again{failed: true}
	case err != nil:
		metrics.QueueFailed(k.GVR)
		c.logOf(k.GVR).Error(err, "reconcile failed", "namespace", k.Namespace, "name", k.Name)
		next = again{failed: true}
	}
	c.requeue(k, next)
	return true
}

// logOf is the logger of a kind.
func (c *Controller) logOf(gvr kschema.GroupVersionResource) logr.Logger {
	c.mu.Lock()
	defer c.mu.Unlock()
	if served := c.kinds[gvr]; served != nil {
		return served.log
	}
	return c.Log.WithName(gvr.Resource + "-controller") // withdrawn meanwhile
}

// again says when an instance is to be looked at without an event.
type again struct {
	// failed asks for another try after a growing delay.
	failed bool
	// after asks for another look after that time.
	after time.Duration
}

func (c *Controller) requeue(k key, next again) {
	c.mu.Lock()
	s := c.states[k]
	failures := 0
	if s != nil {
		if next.failed {
			s.failures++
		} else {
			s.failures = 0
		}
		failures = s.failures
	}
	c.mu.Unlock()
	switch {
	case next.failed:
		metrics.QueueRequeued(k.GVR, metrics.RequeueRateLimited)
		c.queue.AddAfter(k, backoff(failures, c.Options.RetryMin, c.Options.RetryMax))
	case next.after > 0:
		metrics.QueueRequeued(k.GVR, metrics.RequeueAfter)
		c.queue.AddAfter(k, next.after)
	}
}

// backoff doubles from lowest to highest with up to a fifth more at random, so that instances which failed together do
// not come back together.
func backoff(failures int, lowest, highest time.Duration) time.Duration {
	delay := lowest
	for i := 1; i < failures && delay < highest; i++ {
		delay *= 2
	}
	delay = min(delay, highest)
	return delay + rand.N(delay/5+1)
}

// guarded reconciles and turns a panic into an error: a bad instance must not stop the others.
func (c *Controller) guarded(ctx context.Context, k key) (next again, err error) {
	defer func() {
		if r := recover(); r != nil {
			metrics.QueuePanicked(k.GVR)
			err = fmt.Errorf("panic while reconciling: %v\n%s", r, debug.Stack())
		}
	}()
	return c.reconcile(ctx, k)
}
