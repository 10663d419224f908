package main

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"kro.run/kro/test/bench/client"
	"kro.run/kro/test/bench/process"
)

// floorCRD is what a definition of the chain's shape generates, under a group of its own so that no controller serves it.
const floorCRD = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: benchfloors.floor.bench.kro.run
spec:
  group: floor.bench.kro.run
  names: {kind: BenchFloor, listKind: BenchFloorList, plural: benchfloors, singular: benchfloor}
  scope: Namespaced
  versions:
  - name: v1alpha1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          apiVersion: {type: string}
          kind: {type: string}
          metadata: {type: object}
          spec:
            type: object
            properties:
              value: {type: string}
              replicas: {type: integer, default: 1}
          status:
            type: object
            x-kubernetes-preserve-unknown-fields: true
`

// measureFloor brings N instances to ACTIVE with the fewest writes that do it. It runs twice: a small batch first, so that
// the server has done everything once that it does only once.
func (r *run) measureFloor(ctx context.Context) error {
	if err := installCRD(ctx, r.driver, []byte(floorCRD)); err != nil {
		return err
	}
	if _, err := r.bringFloor(ctx, "bench-floor-warm", min(r.n, 200)); err != nil {
		return err
	}
	if err := r.plane.Barrier(ctx); err != nil {
		return err
	}
	requests, cpu := r.audit.Of(userFloor), ownCPU()
	took, err := r.bringFloor(ctx, "bench-floor", r.n)
	if err != nil {
		return err
	}
	if err := r.plane.Barrier(ctx); err != nil {
		return err
	}
	r.note("floor", r.n, took, r.audit.Of(userFloor).Since(requests), process.Usage{CPU: ownCPU()}, cpu)
	return r.clearFloor(ctx, "bench-floor-warm", "bench-floor")
}

func (r *run) bringFloor(ctx context.Context, namespace string, n int) (time.Duration, error) {
	created := make(chan client.Item, n)
	b := &batch{resource: floors, namespace: namespace, n: n, created: func(i client.Item) { created <- i }, object: func(i int) any {
		object := chainInstance("BenchFloor", chainName(i))
		object["apiVersion"] = floors.GroupVersion().String()
		return object
	}}
	group, ctx := errgroup.WithContext(ctx)
	var took time.Duration
	group.Go(func() error {
		var err error
		took, err = r.bring(ctx, b)
		close(created)
		return err
	})
	for range r.options.workers {
		group.Go(func() error {
			for item := range created {
				if err := r.serve(ctx, item); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return took, group.Wait()
}

// serve sends the five writes for one instance, each after the one that it depends on.
func (r *run) serve(ctx context.Context, instance client.Item) error {
	namespace, name := instance.Metadata.Namespace, instance.Metadata.Name
	steps := []struct {
		what string
		send func() error
	}{
		{"metadata", func() error {
			_, err := r.floor.Apply(ctx, client.Path(floors, namespace, name), floorMetadata(instance))
			return err
		}},
		{"ConfigMap", func() error {
			_, err := r.floor.Apply(ctx, client.Path(configMaps, namespace, name), floorConfigMap(instance))
			return err
		}},
		{"Deployment", func() error {
			_, err := r.floor.Apply(ctx, client.Path(deployments, namespace, name), floorDeployment(instance))
			return err
		}},
		{"Service", func() error {
			_, err := r.floor.Apply(ctx, client.Path(services, namespace, name), floorService(instance))
			return err
		}},
		{"status", func() error {
			return r.floor.Merge(ctx, client.Path(floors, namespace, name, "status"), floorStatus(instance))
		}},
	}
	for _, step := range steps {
		if err := step.send(); err != nil {
			return fmt.Errorf("floor: write the %s of %s: %w", step.what, name, err)
		}
	}
	return nil
}

// clearFloor removes what the floor made, so that the controller meets a server as empty as the floor did.
func (r *run) clearFloor(ctx context.Context, names ...string) error {
	for _, namespace := range names {
		for _, path := range []string{
			client.Path(configMaps, namespace), client.Path(deployments, namespace), client.Path(floors, namespace),
		} {
			if err := r.driver.Delete(ctx, path, "propagationPolicy", "Background"); err != nil {
				return fmt.Errorf("clear %s: %w", path, err)
			}
		}
		// Services cannot be deleted as a collection.
		items, _, err := r.driver.List(ctx, client.Path(services, namespace))
		if err != nil {
			return err
		}
		err = client.Each(ctx, len(items), createWorkers, func(ctx context.Context, i int) error {
			return r.driver.Delete(ctx, client.Path(services, namespace, items[i].Metadata.Name))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// measureWrite takes the time of one apply on a server that has nothing else to do: the unit for short durations.
func (r *run) measureWrite(ctx context.Context) error {
	if err := r.namespace(ctx, "bench-write"); err != nil {
		return err
	}
	const times = 50
	var took []time.Duration
	var instance client.Item
	instance.Metadata.UID = "0"
	for i := range times {
		instance.Metadata.Name = chainName(i)
		began := time.Now()
		if _, err := r.floor.Apply(ctx, client.Path(configMaps, "bench-write", instance.Metadata.Name), floorConfigMap(instance)); err != nil {
			return err
		}
		took = append(took, time.Since(began))
	}
	r.report.Results = append(r.report.Results, Result{Scenario: "write", Of: times, Seconds: median(took).Seconds(), Requests: times})
	return nil
}
