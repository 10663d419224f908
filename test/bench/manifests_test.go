package main

import (
	"testing"

	"sigs.k8s.io/yaml"

	"kro.run/kro/api/v1alpha1"
	"kro.run/kro/graph"
	"kro.run/kro/schema"
)

func TestTheMeasuredDefinitionsCompile(t *testing.T) {
	for name, text := range map[string]string{
		"chain": chainDefinition("bench-chain", "BenchChain", 1), "deep": deepDefinition(depth), "collection": collectionDefinition,
	} {
		t.Run(name, func(t *testing.T) {
			var definition v1alpha1.ResourceGraphDefinition
			if err := yaml.UnmarshalStrict([]byte(text), &definition); err != nil {
				t.Fatal(err)
			}
			if _, faults := graph.Compile(graph.FromDefinition(definition.Name, &definition.Spec), graph.Env{Kinds: schema.Embedded()}); len(faults) > 0 {
				t.Error(faults)
			}
		})
	}
}
