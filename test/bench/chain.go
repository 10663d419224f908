package main

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"kro.run/kro/test/bench/client"
)

const (
	chainNamespace = "bench-chain"
	idleFor        = 20 * time.Second
)

// measureDefinition brings definitions to Active: the first that the controller meets, and five more of the same shape.
func (r *run) measureDefinition(ctx context.Context) error {
	if err := r.controller(ctx); err != nil {
		return err
	}
	if !r.chain {
		err := r.measure(ctx, "definition, first", 1, func(ctx context.Context) (time.Duration, error) {
			return r.define(ctx, chainDefinition("bench-chain", "BenchChain", 1))
		})
		if err != nil {
			return err
		}
		r.chain = true
	}
	return r.repeat(ctx, "definition", 5, func(ctx context.Context, i int) (time.Duration, error) {
		return r.define(ctx, chainDefinition(fmt.Sprintf("bench-spare-%d", i), fmt.Sprintf("BenchSpare%d", i), 1))
	})
}

// needChain makes sure that the definition of the chain is Active.
func (r *run) needChain(ctx context.Context) error {
	if err := r.controller(ctx); err != nil {
		return err
	}
	if r.chain {
		return nil
	}
	_, err := r.define(ctx, chainDefinition("bench-chain", "BenchChain", 1))
	r.chain = err == nil
	return err
}

func (r *run) chainBatch(namespace string, n int) *batch {
	return &batch{resource: chains, namespace: namespace, n: n, object: func(i int) any { return chainInstance("BenchChain", chainName(i)) }}
}

// needFleet makes sure that N instances of the chain are ACTIVE.
func (r *run) needFleet(ctx context.Context) error {
	if err := r.needChain(ctx); err != nil {
		return err
	}
	if r.fleet {
		return nil
	}
	_, err := r.bring(ctx, r.chainBatch(chainNamespace, r.n))
	r.fleet = err == nil
	return err
}

func (r *run) measureCreate(ctx context.Context) error {
	if err := r.needChain(ctx); err != nil {
		return err
	}
	return r.measure(ctx, "create", r.n, func(ctx context.Context) (time.Duration, error) {
		r.fleet = true
		return r.bring(ctx, r.chainBatch(chainNamespace, r.n))
	})
}

func (r *run) measureIdle(ctx context.Context) error {
	if err := r.needFleet(ctx); err != nil {
		return err
	}
	return r.measure(ctx, "idle", r.n, func(ctx context.Context) (time.Duration, error) {
		select {
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		case <-time.After(idleFor):
			return idleFor, nil
		}
	})
}

// measureDrift edits a field that the controller owns, and waits until it is as it was.
func (r *run) measureDrift(ctx context.Context) error {
	if err := r.needFleet(ctx); err != nil {
		return err
	}
	return r.repeat(ctx, "drift", 10, func(ctx context.Context, i int) (time.Duration, error) {
		name := chainName(i % r.n)
		return r.seen(ctx, name, "first", func(ctx context.Context) error {
			return r.other.Merge(ctx, client.Path(configMaps, chainNamespace, name), valueOf("drifted"))
		})
	})
}

// measureEdit changes the spec of one instance, and waits until its ConfigMap follows.
func (r *run) measureEdit(ctx context.Context) error {
	if err := r.needFleet(ctx); err != nil {
		return err
	}
	return r.repeat(ctx, "edit", 10, func(ctx context.Context, i int) (time.Duration, error) {
		name, value := chainName(r.n-1-i%r.n), fmt.Sprintf("edited-%d", i)
		return r.seen(ctx, name, value, func(ctx context.Context) error {
			return r.driver.Merge(ctx, client.Path(chains, chainNamespace, name), map[string]any{"spec": map[string]any{"value": value}})
		})
	})
}

func valueOf(value string) map[string]any {
	return map[string]any{"data": map[string]any{"value": value}}
}

// seen changes something and returns how long it took until a ConfigMap of the chain, having been changed, held a value.
func (r *run) seen(ctx context.Context, name, value string, change func(context.Context) error) (time.Duration, error) {
	path := client.Path(configMaps, chainNamespace)
	_, version, err := r.driver.List(ctx, path, "limit", "1")
	if err != nil {
		return 0, err
	}
	group, ctx := errgroup.WithContext(ctx)
	began := time.Now()
	group.Go(func() error {
		return r.driver.WatchFrom(ctx, path, version, func(c client.Change) bool {
			return !c.Deleted && c.Data["value"] == value
		}, "fieldSelector", "metadata.name="+name)
	})
	group.Go(func() error { return change(ctx) })
	if err := group.Wait(); err != nil {
		return 0, fmt.Errorf("ConfigMap %s does not get the value %q: %w", name, value, err)
	}
	return time.Since(began), nil
}

// measureRestart ends the controller, lets a child drift meanwhile, and starts it again. The time is that until the drift
// is repaired; requests and CPU time are all that the new process needed.
func (r *run) measureRestart(ctx context.Context) error {
	if err := r.needFleet(ctx); err != nil {
		return err
	}
	if err := r.quiet(ctx, quietFor, quietMost); err != nil {
		return err
	}
	if err := r.subject.Stop(); err != nil {
		return err
	}
	name := chainName(0)
	if err := r.other.Merge(ctx, client.Path(configMaps, chainNamespace, name), valueOf("drifted")); err != nil {
		return err
	}
	if err := r.plane.Barrier(ctx); err != nil {
		return err
	}
	counted := r.audit.Of(userController)
	took, err := r.seen(ctx, name, "first", func(context.Context) error { return r.subject.Start() })
	if err != nil {
		return err
	}
	if err := r.quiet(ctx, quietFor, time.Minute); err != nil {
		return err
	}
	usage, err := r.subject.Usage()
	if err != nil {
		return err
	}
	r.note("restart", r.n, took, r.audit.Of(userController).Since(counted), usage, 0)
	return nil
}

// measureUpdate changes the template of one child of three, and waits until all have it.
func (r *run) measureUpdate(ctx context.Context) error {
	if err := r.needFleet(ctx); err != nil {
		return err
	}
	return r.measure(ctx, "update", r.n, func(ctx context.Context) (time.Duration, error) {
		path := client.Path(deployments, chainNamespace)
		_, version, err := r.driver.List(ctx, path, "limit", "1")
		if err != nil {
			return 0, err
		}
		updated := map[string]bool{}
		group, ctx := errgroup.WithContext(ctx)
		began := time.Now()
		group.Go(func() error {
			return r.driver.WatchFrom(ctx, path, version, func(c client.Change) bool {
				if c.Metadata.Annotations[revisionAnnotation] == "2" {
					updated[c.Metadata.Name] = true
				}
				return len(updated) == r.n
			})
		})
		group.Go(func() error {
			_, err := r.define(ctx, chainDefinition("bench-chain", "BenchChain", 2))
			return err
		})
		if err := group.Wait(); err != nil {
			return 0, fmt.Errorf("%d of %d Deployments have the new template: %w", len(updated), r.n, err)
		}
		return time.Since(began), nil
	})
}

func (r *run) measureDeleteHundred(ctx context.Context) error {
	if err := r.needChain(ctx); err != nil {
		return err
	}
	hundred := r.chainBatch("bench-hundred", 100)
	if _, err := r.bring(ctx, hundred); err != nil {
		return err
	}
	return r.measure(ctx, "delete100", hundred.n, func(ctx context.Context) (time.Duration, error) { return r.remove(ctx, hundred) })
}

func (r *run) measureDelete(ctx context.Context) error {
	if err := r.needFleet(ctx); err != nil {
		return err
	}
	return r.measure(ctx, "delete", r.n, func(ctx context.Context) (time.Duration, error) {
		r.fleet = false
		return r.remove(ctx, r.chainBatch(chainNamespace, r.n))
	})
}
