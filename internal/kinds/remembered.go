package kinds

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
)

const (
	// maxAge is how old an answer about the whole cluster may be before it is read again: upgrades of the API server and of aggregated APIs come
	// without a notice.
	maxAge = 10 * time.Minute
	// missAge is how old it may be when it lacks what is asked for: a thousand questions for a missing kind are one request in this time.
	missAge = 2 * time.Second
)

// remembered holds an answer about the whole cluster: the index of OpenAPI documents, the discovery.
type remembered[T any] struct {
	fetch func(context.Context) (T, error)
	now   func() time.Time

	flight  singleflight.Group
	mu      sync.Mutex
	value   T
	fetched time.Time // zero: never
}

// get gives an answer, a fresh one when there is none or it is old. An old one is better than none when the server cannot be asked.
func (r *remembered[T]) get(ctx context.Context) (T, error) {
	value, fetched := r.last()
	if !fetched.IsZero() && r.now().Sub(fetched) <= maxAge {
		return value, nil
	}
	fresh, err := r.refresh(ctx)
	if err != nil && !fetched.IsZero() {
		return value, nil
	}
	return fresh, err
}

// recheck gives an answer that may be trusted in what it lacks.
func (r *remembered[T]) recheck(ctx context.Context) (T, error) {
	value, fetched := r.last()
	if !fetched.IsZero() && r.now().Sub(fetched) <= missAge {
		return value, nil
	}
	return r.refresh(ctx)
}

func (r *remembered[T]) last() (T, time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.value, r.fetched
}

func (r *remembered[T]) refresh(ctx context.Context) (T, error) {
	fetched, err, _ := r.flight.Do("", func() (any, error) {
		asked := r.now()
		value, err := r.fetch(ctx)
		if err != nil {
			return nil, err
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.value, r.fetched = value, asked
		return value, nil
	})
	if err != nil {
		var none T
		return none, err
	}
	return fetched.(T), nil
}
