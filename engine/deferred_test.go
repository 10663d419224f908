package engine

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kro.run/kro/graph"
)

// mutual are two objects of which each needs to know the other.
const mutual = `- {id: left, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: left}, data: {own: x, peer: "${defer(right.metadata.uid)}"}}}
- {id: right, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: right}, data: {peer: "${left.metadata.uid}"}}}
`

func standing(name, uid string) map[string]any {
	return map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": name, "namespace": "ns", "uid": uid}, "data": map[string]any{}}
}

func TestDeferredFields(t *testing.T) {
	for _, c := range []struct {
		reason   string
		previous map[string]any
		rounds   []string
		refused  bool
	}{
		{"at first it is left out, and filled in at the end", nil, []string{"left", "right", "left"}, false},
		{"what stood before the pass fills it in at once", standing("right", "2"), []string{"left", "right"}, false},
		{"it stays left out while the other is not there", nil, []string{"left", "right"}, true},
	} {
		t.Run(c.reason, func(t *testing.T) {
			w := newWorld(t, mutual)
			w.objects["left"], w.objects["right"] = standing("left", "1"), standing("right", "2")
			if c.refused {
				w.refuse["right"] = errors.New("refused")
			}
			w.options.Previous = func(n *graph.Node) []map[string]any {
				if n.ID == "right" && c.previous != nil {
					return []map[string]any{c.previous}
				}
				return nil
			}
			outcome := w.run()
			if diff := cmp.Diff(c.rounds, w.rounds); diff != "" {
				t.Errorf("applied in rounds (-want +got):\n%s", diff)
			}
			data, _ := outcome.Nodes[0].Desired[0].Object["data"].(map[string]any)
			want := map[string]any{"own": "x", "peer": "2"}
			if c.refused {
				delete(want, "peer")
			}
			if diff := cmp.Diff(want, data); diff != "" {
				t.Errorf("left (-want +got):\n%s", diff)
			}
		})
	}
}

// What an excluded node once gave is dropped, also when it is the node of the field that decides about it.
func TestDeferredFieldsDropWhatAnExcludedNodeGave(t *testing.T) {
	w := newWorld(t, `- {id: left, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: left}, data: {own: x, peer: "${defer(right.metadata.uid)}"}}}
- {id: right, includeWhen: ["${left.data.own != 'x'}"], template: {apiVersion: v1, kind: ConfigMap, metadata: {name: right}}}
`)
	left := standing("left", "1")
	left["data"] = map[string]any{"own": "x", "peer": "2"}
	w.objects["left"] = left
	w.options.Previous = func(n *graph.Node) []map[string]any {
		if n.ID == "left" {
			return []map[string]any{left}
		}
		return nil
	}
	data := w.run().Nodes[0].Desired[0].Object["data"]
	if diff := cmp.Diff(map[string]any{"own": "x"}, data); diff != "" {
		t.Errorf("left (-want +got):\n%s", diff)
	}
}
