package graph

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

const many = `apiVersion: kro.run/v1alpha1
kind: Graph
metadata: {name: many}
spec:
  serviceAccountName: worker
  nodes:
  - id: base
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: base}, data: {a: "1"}}
  - id: parts
    forEach: [{i: "${lists.range(100)}"}]
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "part-${string(i)}"}, data: {of: "${base.data.a}"}}
  - id: last
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: last}, data: {of: "${parts[0].data.of}"}}`

func TestADeletionReadsNoObjectThatTheCacheShowed(t *testing.T) {
	b := newBench(t)
	b.rights()
	b.apply(many)
	b.converged("many")
	b.alone()
	before := b.requests(true)
	b.delete(graphs, b.ns, "many")
	b.gone(configMaps, b.ns, "base")
	b.gone(graphs, b.ns, "many")
	got := b.since(before, true)
	t.Log(got)
	// Our own are the first DELETE of the Graph and the looks whether it and one ConfigMap are gone.
	own := []string{"GET graphs", "DELETE graphs"}
	for _, key := range own {
		delete(got, key)
	}
	if got["GET configmaps"] > 60 {
		t.Errorf("%v reads of ConfigMaps", got["GET configmaps"])
	}
	delete(got, "GET configmaps")
	delete(got, "PATCH graphs/status") // when a wave took longer than people should wait without a word
	if got["PATCH graphs"] == 2 {
		got["PATCH graphs"] = 1 // the finalizer, on a busy machine: when a test in the patch fails, the Graph is read anew and the patch sent again
	}
	if diff := cmp.Diff(map[string]float64{"DELETE configmaps": 102, "DELETE graphrevisions": 1, "PATCH graphs": 1}, got); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}
