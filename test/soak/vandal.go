package main

import (
	"context"

	"kro.run/kro/test/bench/client"
)

// What another client does to the objects of an instance.

// victim is an object that somebody touches.
type victim struct {
	kind string
	path string
	data []string // the keys that the controller writes, of a ConfigMap
}

// victim chooses an object that the instance has, or may have.
func (e *editor) victim(slot int) victim {
	name := appName(slot)
	configMap := func(suffix string, data ...string) victim {
		return victim{kind: "ConfigMap", path: client.Path(configMaps, namespace, name+suffix), data: data}
	}
	switch e.random.IntN(9) {
	case 0, 1:
		return victim{kind: "Deployment", path: client.Path(deployments, namespace, name)}
	case 2, 3:
		return victim{kind: "Service", path: client.Path(services, namespace, name)}
	case 4:
		return configMap("-extra", "service")
	case 5:
		return configMap("-part-a", "entry", "value")
	case 6:
		return configMap("-odd", "service")
	}
	return configMap("-config", "value", "setting", "revision")
}

// editChild changes, or removes, fields that are the controller's.
func (e *editor) editChild(ctx context.Context, slot int) error {
	v := e.victim(slot)
	return e.soak.other.Merge(ctx, v.path, vandalism(v, e.random.IntN(4)))
}

// vandalism is a change that must not last. It touches only what the controller has written: what others add, it leaves.
func vandalism(v victim, way int) map[string]any {
	switch {
	case way == 0:
		return map[string]any{"metadata": map[string]any{"labels": map[string]any{"kro.run/node-id": "vandalised"}}}
	case v.kind == "Deployment":
		return map[string]any{"spec": map[string]any{"replicas": 9}}
	case v.kind == "Service":
		return map[string]any{"spec": map[string]any{"selector": map[string]any{"app": "vandalised"}}}
	case way == 1:
		return map[string]any{"data": nil}
	}
	data := map[string]any{}
	for _, key := range v.data {
		data[key] = "vandalised"
	}
	return map[string]any{"data": data}
}

func (e *editor) deleteChild(ctx context.Context, slot int) error {
	return e.soak.other.Delete(ctx, e.victim(slot).path)
}

// takeLabels makes an object look like nobody's.
func (e *editor) takeLabels(ctx context.Context, slot int) error {
	path := e.victim(slot).path
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
	path := e.victim(slot).path
	hold := func(by any) map[string]any { return map[string]any{"metadata": map[string]any{"finalizers": by}} }
	e.later(slot, func(ctx context.Context) error { return e.soak.other.Merge(ctx, path, hold(nil)) })
	if err := e.soak.other.Merge(ctx, path, hold([]any{"soak.kro.run/hold"})); err != nil {
		return err
	}
	return e.soak.other.Delete(ctx, path)
}
