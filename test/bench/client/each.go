package client

import (
	"context"

	"golang.org/x/sync/errgroup"
)

// Each calls do for 0 to n-1 by a number of workers, in ascending order, until all are done or one fails.
func Each(ctx context.Context, n, workers int, do func(ctx context.Context, i int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(workers)
	for i := range n {
		if ctx.Err() != nil {
			break
		}
		group.Go(func() error { return do(ctx, i) })
	}
	return group.Wait()
}
