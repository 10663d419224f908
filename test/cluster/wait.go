package cluster

import (
	"context"
	"errors"
	"testing"
	"time"
)

const (
	// Within is how long Eventually waits. It is generous, for busy machines; what must be fast is measured.
	Within = time.Minute

	pause = 50 * time.Millisecond
)

// Eventually waits until a check holds, and fails the test with its last error
// when it does not within the minute. An error of Never fails it at once.
func Eventually(t testing.TB, what string, check func(context.Context) error) {
	t.Helper()
	// Not the context of the test itself, which has ended when its cleanups run.
	if err := poll(context.WithoutCancel(t.Context()), Within, check); err != nil {
		t.Fatalf("waited for: %s: %v", what, err)
	}
}

// Holds looks at a check for as long as told and fails the test when it does
// not hold once. It is for what must not happen; for what must, see Eventually.
func Holds(t testing.TB, what string, long time.Duration, check func(context.Context) error) {
	t.Helper()
	var failed error
	_ = poll(t.Context(), long, func(ctx context.Context) error {
		if failed = check(ctx); failed != nil && ctx.Err() == nil {
			return nil // ends the polling
		}
		failed = nil
		return errors.New("go on")
	})
	if failed != nil {
		t.Fatalf("%s: not so: %v", what, failed)
	}
}

// never marks an error that waiting does not cure.
type never struct{ error }

func (n never) Unwrap() error { return n.error }

// Never marks an error that no waiting cures.
func Never(err error) error { return never{err} }

// poll tries until a check holds. When the time is up it gives the last error
// that was not merely the end of the time.
func poll(ctx context.Context, within time.Duration, check func(context.Context) error) error {
	limited, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	tick := time.NewTicker(pause)
	defer tick.Stop()
	var last error
	for {
		err := check(limited)
		if err == nil {
			return nil
		}
		if limited.Err() == nil || last == nil {
			last = err
		}
		if _, final := errors.AsType[never](err); final {
			return err
		}
		select {
		case <-limited.Done():
			return last
		case <-tick.C:
		}
	}
}
