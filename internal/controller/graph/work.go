package graph

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"kro.run/kro/internal/metrics"
)

// again says when a Graph is to be looked at without an event.
type again struct {
	// failed asks for another try after a growing delay.
	failed bool
	// after asks for another look after that time.
	after time.Duration
}

// work takes one Graph from the queue. It returns false when the queue has been shut down.
func (c *Controller) work(ctx context.Context) bool {
	k, shutdown := c.queue.Get()
	if shutdown {
		return false
	}
	defer c.queue.Done(k)
	metrics.SetGraphQueueLength(c.queue.Len())
	began := c.Clock.Now()
	next, err := c.guarded(ctx, k)
	metrics.GraphReconciled(c.Clock.Since(began), err != nil && !errors.Is(err, errGone))
	if ctx.Err() != nil {
		return true
	}
	if errors.Is(err, errGone) {
		return true
	}
	if err != nil {
		c.Log.Error(err, "reconcile failed", "namespace", k.Namespace, "name", k.Name)
		next = again{failed: true}
	}
	c.requeue(k, next)
	return true
}

func (c *Controller) requeue(k types.NamespacedName, next again) {
	c.mu.Lock()
	failures := 0
	if s := c.states[k]; s != nil {
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
		c.queue.AddAfter(k, backoff(failures, c.Options.RetryMin, c.Options.RetryMax))
	case next.after > 0:
		c.queue.AddAfter(k, next.after)
	}
}

// backoff doubles from lowest to highest with up to a fifth more at random, so that Graphs which failed together do not come back together.
func backoff(failures int, lowest, highest time.Duration) time.Duration {
	delay := lowest
	for i := 1; i < failures && delay < highest; i++ {
		delay *= 2
	}
	delay = min(delay, highest)
	return delay + rand.N(delay/5+1)
}

// guarded reconciles and turns a panic into an error: a bad Graph must not stop the others.
func (c *Controller) guarded(ctx context.Context, k types.NamespacedName) (next again, err error) {
	defer func() {
		if r := recover(); r != nil {
			metrics.QueuePanicked(resource)
			err = fmt.Errorf("panic while reconciling: %v\n%s", r, debug.Stack())
		}
	}()
	return c.reconcile(ctx, k)
}

// parseName reads the name under which a Graph stands in the store of programs.
func parseName(text string) types.NamespacedName {
	namespace, name, _ := strings.Cut(text, string(types.Separator))
	return types.NamespacedName{Namespace: namespace, Name: name}
}
