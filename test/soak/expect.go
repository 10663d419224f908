package main

import (
	"strconv"
)

// app is an instance as the server has it.
type app struct {
	Metadata struct {
		Name       string   `json:"name"`
		UID        string   `json:"uid"`
		Generation int64    `json:"generation"`
		Finalizers []string `json:"finalizers"`
	} `json:"metadata"`
	Spec   appSpec        `json:"spec"`
	Status map[string]any `json:"status"`

	// graph tells that it is a Graph, and revision which of the definition's its nodes are.
	graph    bool
	revision int
}

// object is an object of an instance, as JSON has it.
type object map[string]any

func (o object) meta() map[string]any {
	meta, _ := o["metadata"].(map[string]any)
	return meta
}

// key tells objects of the namespace apart.
func (o object) key() string {
	kind, _ := o["kind"].(string)
	name, _ := o.meta()["name"].(string)
	return kind + " " + name
}

func (o object) label(name string) string {
	labels, _ := o.meta()["labels"].(map[string]any)
	value, _ := labels[name].(string)
	return value
}

// inputs are what the objects of an instance follow from, besides itself.
type inputs struct {
	revision int
	setting  string
}

// expected computes the objects that an instance must have: what stands in the templates of definition.go, and the labels
// that kro promises.
func expected(a app, in inputs) []object {
	name := a.Metadata.Name
	in = in.of(a)
	data := map[string]any{"value": a.Spec.Value, "setting": in.setting, "revision": strconv.Itoa(in.revision)}
	if odd(in.revision) {
		data["odd"] = "true"
	}
	selector := map[string]any{"app": name}
	deployment := child(a, "deployment", "Deployment", name)
	deployment["spec"] = map[string]any{
		"replicas": float64(a.Spec.Replicas), "selector": map[string]any{"matchLabels": selector},
		"template": map[string]any{
			"metadata": map[string]any{"labels": selector},
			"spec": map[string]any{"containers": []any{map[string]any{
				"name": "main", "image": "registry.example.com/app:1",
				"env": []any{map[string]any{"name": "VALUE", "value": a.Spec.Value}},
			}}},
		},
	}
	service := child(a, "service", "Service", name)
	service["spec"] = map[string]any{"selector": selector, "ports": []any{map[string]any{"port": float64(80), "targetPort": float64(8080)}}}

	all := []object{configMap(a, "config", name+"-config", data), deployment, service}
	if a.Spec.Extra {
		all = append(all, configMap(a, "extra", name+"-extra", map[string]any{"service": name}))
	}
	if odd(in.revision) {
		all = append(all, configMap(a, "odd", name+"-odd", map[string]any{"service": name}))
	}
	for i, entry := range a.Spec.Entries {
		part := configMap(a, "parts", name+"-part-"+entry, map[string]any{"entry": entry, "value": a.Spec.Value})
		labels := part.meta()["labels"].(map[string]any)
		labels["kro.run/collection-index"], labels["kro.run/collection-size"] = strconv.Itoa(i), strconv.Itoa(len(a.Spec.Entries))
		all = append(all, part)
	}
	return all
}

func configMap(a app, node, name string, data map[string]any) object {
	o := child(a, node, "ConfigMap", name)
	o["data"] = data
	return o
}

func child(a app, node, kind, name string) object {
	return object{"kind": kind, "metadata": map[string]any{
		"name": name, "namespace": namespace,
		"labels": map[string]any{
			"app.kubernetes.io/managed-by": "kro",
			ownedLabel:                     "true",
			instanceLabel:                  a.Metadata.UID,
			"kro.run/instance-name":        a.Metadata.Name,
			"kro.run/instance-namespace":   namespace,
			"kro.run/instance-kind":        a.kind(),
			"kro.run/node-id":              node,
		},
	}}
}

const (
	ownedLabel    = "kro.run/owned"
	instanceLabel = "kro.run/instance-id"
	finalizer     = "kro.run/finalizer"
)
