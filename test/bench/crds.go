package main

import (
	"context"
	"fmt"
	"strings"

	"kro.run/kro/test/bench/client"
)

const largeCRDs = 200

// measureCRDs installs many CRDs with large schemas, which have nothing to do with the controller, and starts it again: how
// much of a cluster that is not its own does it keep in memory?
func (r *run) measureCRDs(ctx context.Context) error {
	if err := r.controller(ctx); err != nil {
		return err
	}
	spec := largeSchema()
	err := client.Each(ctx, largeCRDs, 4, func(ctx context.Context, i int) error {
		plural := fmt.Sprintf("bulks%d", i)
		name := plural + ".bulk.example.com"
		_, err := r.driver.Create(ctx, client.Path(client.Definitions, ""), largeCRD(name, plural, fmt.Sprintf("Bulk%d", i), spec))
		return err
	})
	if err != nil {
		return err
	}
	if err := r.driver.Serves(ctx, fmt.Sprintf("/apis/bulk.example.com/v1/bulks%d", largeCRDs-1)); err != nil {
		return err
	}
	if err := r.subject.Stop(); err != nil {
		return err
	}
	if err := r.plane.Barrier(ctx); err != nil {
		return err
	}
	counted := r.audit.Of(userController)
	if err := r.subject.Start(); err != nil {
		return err
	}
	// A definition makes it look at schemas again.
	took, err := r.define(ctx, chainDefinition("bench-among-many", "BenchAmongMany", 1))
	if err != nil {
		return err
	}
	if err := r.quiet(ctx, quietFor, quietMost); err != nil {
		return err
	}
	usage, err := r.subject.Usage()
	if err != nil {
		return err
	}
	r.note("crds", largeCRDs, took, r.audit.Of(userController).Since(counted), usage, 0)
	return nil
}

// largeSchema is some 150 KiB of schema, as providers of clouds have them.
func largeSchema() map[string]any {
	groups := map[string]any{}
	for g := range 30 {
		fields := map[string]any{}
		for f := range 30 {
			fields[fmt.Sprintf("someSettingNumber%d", f)] = map[string]any{
				"type": "string", "description": strings.Repeat(fmt.Sprintf("Describes setting %d of group %d. ", f, g), 4),
			}
		}
		groups[fmt.Sprintf("groupOfSettings%d", g)] = map[string]any{"type": "object", "properties": fields}
	}
	return map[string]any{"type": "object", "properties": groups}
}

func largeCRD(name, plural, kind string, spec map[string]any) map[string]any {
	return map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": name},
		"spec": map[string]any{
			"group": "bulk.example.com", "scope": "Namespaced",
			"names": map[string]any{"kind": kind, "listKind": kind + "List", "plural": plural, "singular": strings.ToLower(kind)},
			"versions": []any{map[string]any{
				"name": "v1", "served": true, "storage": true,
				"schema": map[string]any{"openAPIV3Schema": map[string]any{
					"type": "object", "properties": map[string]any{"spec": spec},
				}},
			}},
		},
	}
}
