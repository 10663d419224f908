package main

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"kro.run/kro/test/bench/client"
)

const (
	depth           = 10
	collectionSize  = 1000
	shapesNamespace = "bench-shapes"
)

// measureDeep creates instances of a deep chain, one after the other.
func (r *run) measureDeep(ctx context.Context) error {
	if err := r.controller(ctx); err != nil {
		return err
	}
	if _, err := r.define(ctx, deepDefinition(depth)); err != nil {
		return err
	}
	return r.repeat(ctx, "deep", 10, func(ctx context.Context, i int) (time.Duration, error) {
		return r.bring(ctx, &batch{resource: deeps, namespace: fmt.Sprintf("%s-%d", shapesNamespace, i), n: 1, object: func(int) any {
			return chainInstance("BenchDeep", "deep")
		}})
	})
}

// measureCollection creates an instance with a collection of the greatest size that is allowed, and then changes one item.
func (r *run) measureCollection(ctx context.Context) error {
	if err := r.controller(ctx); err != nil {
		return err
	}
	if _, err := r.define(ctx, collectionDefinition); err != nil {
		return err
	}
	const name = "many"
	entries := make([]any, collectionSize)
	for i := range entries {
		entries[i] = map[string]any{"key": fmt.Sprintf("%04d", i), "value": "first"}
	}
	instance := chainInstance("BenchCollection", name)
	instance["spec"] = map[string]any{"entries": entries}
	b := &batch{resource: collections, namespace: shapesNamespace, n: 1, object: func(int) any { return instance }}
	err := r.measure(ctx, "collection", collectionSize, func(ctx context.Context) (time.Duration, error) { return r.bring(ctx, b) })
	if err != nil {
		return err
	}
	return r.repeat(ctx, "collection, one", 5, func(ctx context.Context, i int) (time.Duration, error) {
		at, value := 100*i+50, fmt.Sprintf("changed-%d", i)
		entries[at].(map[string]any)["value"] = value
		return r.itemChanges(ctx, b, name, fmt.Sprintf("%s-%04d", name, at), value, entries)
	})
}

// itemChanges writes the list of entries and returns how long it took until the object of one of them held its value.
func (r *run) itemChanges(ctx context.Context, b *batch, instance, object, value string, entries []any) (time.Duration, error) {
	path := client.Path(configMaps, b.namespace)
	_, version, err := r.driver.List(ctx, path, "limit", "1")
	if err != nil {
		return 0, err
	}
	group, ctx := errgroup.WithContext(ctx)
	began := time.Now()
	group.Go(func() error {
		return r.driver.WatchFrom(ctx, path, version, func(c client.Change) bool {
			return c.Data["value"] == value
		}, "fieldSelector", "metadata.name="+object)
	})
	group.Go(func() error {
		return r.driver.Merge(ctx, b.path(instance), map[string]any{"spec": map[string]any{"entries": entries}})
	})
	if err := group.Wait(); err != nil {
		return 0, fmt.Errorf("item %s does not get the value %q: %w", object, value, err)
	}
	return time.Since(began), nil
}
