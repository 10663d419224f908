package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	kschema "k8s.io/apimachinery/pkg/runtime/schema"

	"kro.run/kro/test/cluster"
)

const nestedDefinitions = `
apiVersion: kro.run/v1alpha1
kind: ResourceGraphDefinition
metadata: {name: nested}
spec:
  schema: {apiVersion: v1alpha1, kind: NAME, group: nested.example.com, spec: {word: string}}
  resources:
  - {id: own, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${schema.metadata.name}-LOWER"}, data: {word: "${schema.spec.word}"}}}
`

// Instances that are children of instances come to rest: the controllers of parent and child share their metadata without fighting over it. They all go
// with the first.
func TestNestedInstancesComeToRest(t *testing.T) {
	c := cluster.Of(t)
	c.Kro(t)
	ns := c.Namespace(t)
	levels := []string{"Lowest", "Middle", "Highest"}
	for i, name := range levels {
		text := strings.ReplaceAll(fill(nestedDefinitions, name), "LOWER", strings.ToLower(name))
		if i > 0 {
			text += fmt.Sprintf("  - {id: next, template: {apiVersion: nested.example.com/v1alpha1, kind: %s, metadata: {name: \"${schema.metadata.name}\", "+
				"labels: \"${schema.metadata.?labels.orValue({})}\"}, spec: {word: \"${schema.spec.word}\"}}}\n", levels[i-1])
		}
		rgd := cluster.Object(t, text)
		rgd.SetName("nested-" + strings.ToLower(name))
		c.Apply(t, rgd)
		t.Cleanup(func() { remove(t, c, rgd) })
		state(t, c, definitionKind, "", rgd.GetName(), "Active")
	}
	kind := func(level string) kschema.GroupVersionKind {
		return kschema.GroupVersionKind{Group: "nested.example.com", Version: "v1alpha1", Kind: level}
	}
	top := cluster.Object(t, "apiVersion: nested.example.com/v1alpha1\nkind: Highest\nmetadata: {name: x, labels: {team: a}}\nspec: {word: hi}")
	top.SetNamespace(ns)
	c.Apply(t, top)
	t.Cleanup(func() { remove(t, c, top) })
	for _, level := range levels {
		state(t, c, kind(level), ns, "x", "ACTIVE")
		awaitWord(t, c, ns, "x-"+strings.ToLower(level), "hi")
	}

	versions := func(ctx context.Context) (string, error) {
		all := ""
		for _, level := range levels {
			object, err := c.Get(ctx, kind(level), ns, "x")
			if err != nil {
				return "", err
			}
			all += level + " " + object.GetResourceVersion() + " "
		}
		return all, nil
	}
	still := ""
	since := time.Now()
	cluster.Eventually(t, "nothing is written for three seconds", func(ctx context.Context) error {
		now, err := versions(ctx)
		if now != still {
			still, since = now, time.Now()
		}
		if quiet := time.Since(since); err == nil && quiet < 3*time.Second {
			return fmt.Errorf("quiet for %s only, at %s", quiet, now)
		}
		return err
	})

	remove(t, c, top)
	for _, level := range levels {
		cluster.Eventually(t, level+" is gone", func(ctx context.Context) error { return c.Gone(ctx, kind(level), ns, "x") })
		cluster.Eventually(t, level+"'s child is gone", func(ctx context.Context) error { return c.Gone(ctx, configMapKind, ns, "x-"+strings.ToLower(level)) })
	}
}
