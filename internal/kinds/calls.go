package kinds

import (
	"time"

	"golang.org/x/sync/singleflight"
)

// Hooks are called when schemas are resolved, for the schema_resolver_* metrics. Any may be nil. They must not block.
type Hooks struct {
	// Hit and Miss: a schema was in memory, or had to be fetched.
	Hit, Miss func()
	// Evicted: the schema of a CRD was dropped for one asked for later.
	Evicted func()
	// Deduplicated: a question was answered by a request that another one had under way.
	Deduplicated func()
	// Failed: a kind could not be resolved, for another reason than that it is not served.
	Failed func()
	// Size tells how many schemas of CRDs are held.
	Size func(int)
	// Call tells how long a request for a schema took.
	Call func(time.Duration)
}

// withDefaults gives hooks that can all be called.
func (h Hooks) withDefaults() Hooks {
	for _, hook := range []*func(){&h.Hit, &h.Miss, &h.Evicted, &h.Deduplicated, &h.Failed} {
		if *hook == nil {
			*hook = func() {}
		}
	}
	if h.Size == nil {
		h.Size = func(int) {}
	}
	if h.Call == nil {
		h.Call = func(time.Duration) {}
	}
	return h
}

// caller makes requests, each once however many ask, and measures them.
type caller struct {
	hooks Hooks
	now   func() time.Time
}

func (c caller) once(flight *singleflight.Group, key string, request func() (any, error)) (any, error) {
	leads := false
	value, err, _ := flight.Do(key, func() (any, error) {
		leads = true
		start := c.now()
		defer func() { c.hooks.Call(c.now().Sub(start)) }()
		return request()
	})
	if !leads {
		c.hooks.Deduplicated()
	}
	return value, err
}
