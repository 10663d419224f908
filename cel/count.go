package cel

import (
	"context"
	"sync/atomic"
)

type countKey struct{}

// Counting returns a context under which evaluations add themselves to n. Expressions take microseconds, so they are counted and not timed: whoever
// evaluates many knows how long they took together.
func Counting(ctx context.Context, n *atomic.Int64) context.Context {
	return context.WithValue(ctx, countKey{}, n)
}

func count(ctx context.Context) {
	if n, ok := ctx.Value(countKey{}).(*atomic.Int64); ok {
		n.Add(1)
	}
}
