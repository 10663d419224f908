package main

import (
	"context"
	"fmt"
	"strings"

	kschema "k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"kro.run/kro/test/bench/client"
)

// Every tenth instance is a Graph: the same nodes through the other front door. Its spec and its revision are values of its node "input", so that an edit changes
// one object only, and every Graph has a revision of its own.

const (
	graphEvery     = 10
	graphKind      = "Graph"
	graphFinalizer = "kro.run/graph-finalizer"
)

var graphs = kschema.GroupVersionResource{Group: "kro.run", Version: "v1alpha1", Resource: "graphs"}

func isGraph(slot int) bool { return slot%graphEvery == graphEvery-1 }

// graphNodes are the nodes of a Graph: those of the definition, with the input in the place of the instance.
func graphNodes(name string, revision int, spec appSpec) []any {
	_, resources, _ := strings.Cut(definitionText(revision), "\n  resources:\n")
	resources = strings.NewReplacer("schema.metadata.name", "input.name", "schema.spec.", "input.", "externalRef:", "ref:").Replace(resources)
	var nodes []any
	if err := yaml.Unmarshal([]byte(resources), &nodes); err != nil {
		panic(err) // a constant of this program
	}
	input := map[string]any{
		"name": name, "revision": revision, "value": spec.Value, "replicas": spec.Replicas, "extra": spec.Extra, "entries": spec.Entries,
	}
	return append([]any{map[string]any{"id": "input", "def": input}}, nodes...)
}

func graphSpec(slot, revision int, spec appSpec) map[string]any {
	return map[string]any{"nodes": graphNodes(appName(slot), revision, spec)}
}

func graphObject(slot, revision int, spec appSpec) map[string]any {
	return map[string]any{
		"apiVersion": graphs.GroupVersion().String(), "kind": graphKind,
		"metadata": map[string]any{"name": appName(slot)}, "spec": graphSpec(slot, revision, spec),
	}
}

// graphItem is a Graph as the server has it.
type graphItem struct {
	app
	Spec struct {
		Nodes []struct {
			ID  string `json:"id"`
			Def struct {
				appSpec
				Revision int `json:"revision"`
			} `json:"def"`
		} `json:"nodes"`
	} `json:"spec"`
}

// instance is the Graph as the instance that it stands for.
func (g graphItem) instance() (app, error) {
	if len(g.Spec.Nodes) == 0 || g.Spec.Nodes[0].ID != "input" {
		return app{}, fmt.Errorf("the first node of Graph %s is not its input", g.Metadata.Name)
	}
	a := g.app
	a.graph, a.revision, a.Spec = true, g.Spec.Nodes[0].Def.Revision, g.Spec.Nodes[0].Def.appSpec
	return a, nil
}

// grant lets the account that Graphs act as do what they need.
func (s *soak) grant(ctx context.Context) error {
	rules := map[string]any{}
	for _, gvr := range children {
		group, _ := rules[gvr.Group].([]any)
		rules[gvr.Group] = append(group, gvr.Resource)
	}
	var all []any
	for group, resources := range rules {
		all = append(all, map[string]any{"apiGroups": []any{group}, "resources": resources, "verbs": []any{"*"}})
	}
	const api, name = "/apis/rbac.authorization.k8s.io/v1/namespaces/" + namespace, "soak-graphs"
	if _, err := s.driver.Apply(ctx, api+"/roles/"+name, map[string]any{
		"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": map[string]any{"name": name}, "rules": all,
	}); err != nil {
		return err
	}
	_, err := s.driver.Apply(ctx, api+"/rolebindings/"+name, map[string]any{
		"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": map[string]any{"name": name},
		"roleRef":  map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name},
		"subjects": []any{map[string]any{"kind": "ServiceAccount", "name": "default", "namespace": namespace}},
	})
	return err
}

// readGraphs adds the Graphs to the instances of a world.
func (s *soak) readGraphs(ctx context.Context, w *world) error {
	var list struct {
		Items []graphItem `json:"items"`
	}
	if err := s.driver.Get(ctx, client.Path(graphs, namespace), &list); err != nil {
		return fmt.Errorf("read the Graphs: %w", err)
	}
	for _, g := range list.Items {
		a, err := g.instance()
		if err != nil {
			return err
		}
		w.apps = append(w.apps, a)
	}
	return nil
}

// instancePath is where the instance of a slot is, whichever kind it is of.
func instancePath(slot int) string {
	if isGraph(slot) {
		return client.Path(graphs, namespace, appName(slot))
	}
	return client.Path(apps, namespace, appName(slot))
}

// createInstance makes the instance of a slot. The revision is that of a Graph.
func (s *soak) createInstance(ctx context.Context, slot, revision int, spec appSpec) error {
	path, object := client.Path(apps, namespace), appObject(slot, spec)
	if isGraph(slot) {
		path, object = client.Path(graphs, namespace), graphObject(slot, revision, spec)
	}
	_, err := s.driver.Create(ctx, path, object)
	return err
}

// editInstance gives the instance of a slot another spec.
func (s *soak) editInstance(ctx context.Context, slot, revision int, spec appSpec) error {
	var patch any = spec
	if isGraph(slot) {
		patch = graphSpec(slot, revision, spec)
	}
	return s.driver.Merge(ctx, instancePath(slot), map[string]any{"spec": patch})
}

func (a app) kind() string {
	if a.graph {
		return graphKind
	}
	return appKind
}

// of is the revision that an instance follows.
func (in inputs) of(a app) inputs {
	if a.graph {
		in.revision = a.revision
	}
	return in
}
