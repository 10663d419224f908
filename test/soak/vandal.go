package main

import (
	"context"

	"kro.run/kro/test/bench/client"
)

// What another client does to the objects of an instance.

// victim chooses an object that the instance has, or may have.
func (e *editor) victim(slot int) (kind, path string) {
	name := appName(slot)
	switch e.random.IntN(6) {
	case 0:
		return "Deployment", client.Path(deployments, namespace, name)
	case 1:
		return "Service", client.Path(services, namespace, name)
	case 2:
		return "ConfigMap", client.Path(configMaps, namespace, name+"-extra")
	case 3:
		return "ConfigMap", client.Path(configMaps, namespace, name+"-part-a")
	case 4:
		return "ConfigMap", client.Path(configMaps, namespace, name+"-odd")
	}
	return "ConfigMap", client.Path(configMaps, namespace, name+"-config")
}

// editChild changes, or removes, fields that are the controller's.
func (e *editor) editChild(ctx context.Context, slot int) error {
	kind, path := e.victim(slot)
	return e.soak.other.Merge(ctx, path, vandalism(kind, e.random.IntN(3)))
}

// vandalism is a change that must not last.
func vandalism(kind string, way int) map[string]any {
	label := map[string]any{"metadata": map[string]any{"labels": map[string]any{"kro.run/node-id": "vandalised"}}}
	switch {
	case way == 0:
		return label
	case kind == "Deployment":
		return map[string]any{"spec": map[string]any{"replicas": 9}}
	case kind == "Service":
		return map[string]any{"spec": map[string]any{"selector": map[string]any{"app": "vandalised"}}}
	case way == 1:
		return map[string]any{"data": nil}
	}
	return map[string]any{"data": map[string]any{"value": "vandalised", "service": "vandalised"}}
}

func (e *editor) deleteChild(ctx context.Context, slot int) error {
	_, path := e.victim(slot)
	return e.soak.other.Delete(ctx, path)
}

// takeLabels makes an object look like nobody's.
func (e *editor) takeLabels(ctx context.Context, slot int) error {
	_, path := e.victim(slot)
	labels := map[string]any{}
	for _, label := range []string{
		ownedLabel, instanceLabel, "kro.run/instance-name", "kro.run/instance-namespace", "kro.run/instance-group", "kro.run/instance-version",
		"kro.run/instance-kind", "kro.run/node-id", "kro.run/kro-version", "app.kubernetes.io/managed-by", "applyset.kubernetes.io/part-of",
		"kro.run/collection-index", "kro.run/collection-size",
	} {
		labels[label] = nil
	}
	return e.soak.other.Merge(ctx, path, map[string]any{"metadata": map[string]any{"labels": labels}})
}

// holdChild deletes an object that cannot go at once.
func (e *editor) holdChild(ctx context.Context, slot int) error {
	_, path := e.victim(slot)
	hold := func(by any) map[string]any { return map[string]any{"metadata": map[string]any{"finalizers": by}} }
	e.later(slot, func(ctx context.Context) error { return e.soak.other.Merge(ctx, path, hold(nil)) })
	if err := e.soak.other.Merge(ctx, path, hold([]any{"soak.kro.run/hold"})); err != nil {
		return err
	}
	return e.soak.other.Delete(ctx, path)
}
