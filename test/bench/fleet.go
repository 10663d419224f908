package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"kro.run/kro/test/bench/client"
)

// createWorkers is how many instances are created, or deleted, at once. The same for the floor and the controller.
const createWorkers = 8

const active = "ACTIVE"

// define applies a definition and returns when it is Active.
func (r *run) define(ctx context.Context, text string) (time.Duration, error) {
	var definition map[string]any
	if err := yaml.Unmarshal([]byte(text), &definition); err != nil {
		return 0, err
	}
	name := definition["metadata"].(map[string]any)["name"].(string)
	_, version, err := r.driver.List(ctx, client.Path(definitions, ""), "limit", "1")
	if err != nil {
		return 0, err
	}
	began := time.Now()
	if _, err := r.driver.Apply(ctx, client.Path(definitions, "", name), definition); err != nil {
		return 0, fmt.Errorf("apply definition %s: %w", name, err)
	}
	var last client.Item
	err = r.driver.WatchFrom(ctx, client.Path(definitions, ""), version, func(c client.Change) bool {
		last = c.Item
		return c.Status.State == "Active"
	}, "fieldSelector", "metadata.name="+name)
	if err != nil {
		return 0, fmt.Errorf("definition %s does not become Active: %w; its state: %s", name, err, last.Troubles())
	}
	return time.Since(began), nil
}

// batch are instances that come and go together.
type batch struct {
	resource  kschema.GroupVersionResource
	namespace string
	n         int
	object    func(i int) any
	// created is told about each that the server took; it may be nil.
	created func(client.Item)
}

func (b *batch) path(name ...string) string { return client.Path(b.resource, b.namespace, name...) }

// bring creates a batch and returns how long it took until the last was ACTIVE.
func (r *run) bring(ctx context.Context, b *batch) (time.Duration, error) {
	if err := r.namespace(ctx, b.namespace); err != nil {
		return 0, err
	}
	_, version, err := r.driver.List(ctx, b.path(), "limit", "1")
	if err != nil {
		return 0, err
	}
	done := map[string]bool{}
	late := map[string]client.Item{}
	group, ctx := errgroup.WithContext(ctx)
	began := time.Now()
	group.Go(func() error {
		return r.driver.WatchFrom(ctx, b.path(), version, func(c client.Change) bool {
			name := c.Metadata.Name
			if !done[name] && c.Status.State != active {
				late[name] = c.Item
				return false
			}
			done[name] = true
			delete(late, name)
			return len(done) == b.n
		})
	})
	group.Go(func() error {
		return client.Each(ctx, b.n, createWorkers, func(ctx context.Context, i int) error {
			item, err := r.driver.Create(ctx, b.path(), b.object(i))
			if err == nil && b.created != nil {
				b.created(item)
			}
			return err
		})
	})
	if err := group.Wait(); err != nil {
		return 0, fmt.Errorf("%d of %d %s became ACTIVE: %w%s", len(done), b.n, b.resource.Resource, err, anyOf(late))
	}
	return time.Since(began), nil
}

// anyOf tells about one of the instances that did not get there.
func anyOf(late map[string]client.Item) string {
	for name, item := range late {
		return fmt.Sprintf("; one that did not: %s: %s", name, item.Troubles())
	}
	return ""
}

// remove deletes a batch and returns how long it took until the last was gone, with all its children.
func (r *run) remove(ctx context.Context, b *batch) (time.Duration, error) {
	items, version, err := r.driver.List(ctx, b.path())
	if err != nil {
		return 0, err
	}
	left := map[string]client.Item{}
	for _, item := range items {
		left[item.Metadata.Name] = item
	}
	group, ctx := errgroup.WithContext(ctx)
	began := time.Now()
	group.Go(func() error {
		return r.driver.WatchFrom(ctx, b.path(), version, func(c client.Change) bool {
			if !c.Deleted {
				left[c.Metadata.Name] = c.Item
				return false
			}
			delete(left, c.Metadata.Name)
			return len(left) == 0
		})
	})
	group.Go(func() error {
		return client.Each(ctx, len(items), createWorkers, func(ctx context.Context, i int) error {
			return r.driver.Delete(ctx, b.path(items[i].Metadata.Name))
		})
	})
	if err := group.Wait(); err != nil {
		return 0, fmt.Errorf("%d of %d %s are not deleted: %w%s", len(left), len(items), b.resource.Resource, err, anyOf(left))
	}
	return time.Since(began), r.nothingLeft(ctx, b.namespace)
}

// nothingLeft checks that no child has survived in a namespace. Instances may go only after their children.
func (r *run) nothingLeft(ctx context.Context, namespace string) error {
	var found []error
	for _, resource := range []kschema.GroupVersionResource{configMaps, deployments, services} {
		items, _, err := r.driver.List(context.WithoutCancel(ctx), client.Path(resource, namespace), "labelSelector", "kro.run/owned=true")
		if err != nil {
			return err
		}
		if len(items) > 0 {
			found = append(found, fmt.Errorf("%d %s are left behind, %s among them", len(items), resource.Resource, items[0].Metadata.Name))
		}
	}
	return errors.Join(found...)
}

func (r *run) namespace(ctx context.Context, name string) error {
	_, err := r.driver.Apply(ctx, client.Path(namespaces, "", name), map[string]any{
		"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": name},
	})
	return err
}
