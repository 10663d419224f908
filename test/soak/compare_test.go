package main

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// inOrder is a world with one instance that is as it should be, as the server would give it.
func inOrder(t *testing.T, revision int) world {
	t.Helper()
	var a app
	text := `{"metadata":{"name":"app-0001","uid":"u1","generation":3,"finalizers":["kro.run/finalizer"]},
		"spec":{"value":"v","replicas":2,"extra":true,"entries":["a","c"]},
		"status":{"state":"ACTIVE","service":"app-0001","parts":2,"conditions":[{"type":"Ready","status":"True","observedGeneration":3}]}}`
	if err := json.Unmarshal([]byte(text), &a); err != nil {
		t.Fatal(err)
	}
	w := world{inputs: inputs{revision: revision, setting: "7"}, apps: []app{a}}
	for _, want := range expected(a, w.inputs) {
		// Through JSON, so that nothing is shared and numbers are what they are on the wire.
		data, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		var got object
		if err := json.Unmarshal(data, &got); err != nil {
			t.Fatal(err)
		}
		got.meta()["resourceVersion"] = "17"
		w.objects = append(w.objects, got)
	}
	return w
}

func find(t *testing.T, w world, key string) object {
	t.Helper()
	for _, o := range w.objects {
		if o.key() == key {
			return o
		}
	}
	t.Fatalf("there is no %s", key)
	return nil
}

func TestCompare(t *testing.T) {
	cases := map[string]struct {
		reason   string
		revision int
		change   func(*testing.T, *world)
		want     findings
	}{
		"InOrder": {
			reason: "what was made as it should be has no faults", revision: 2, change: func(*testing.T, *world) {},
		},
		"InOrderOdd": {
			reason: "nor in a revision with one node more", revision: 3, change: func(*testing.T, *world) {},
		},
		"Orphans": {
			reason: "objects outlive their instance", revision: 2,
			change: func(_ *testing.T, w *world) { w.apps, w.objects = nil, w.objects[:2] },
			want: findings{orphans: []string{
				`ConfigMap app-0001-config belongs to instance "u1", which is gone`, `Deployment app-0001 belongs to instance "u1", which is gone`,
			}},
		},
		"Missing": {
			reason: "an object is not there", revision: 2,
			change: func(_ *testing.T, w *world) { w.objects = w.objects[1:] },
			want:   findings{differences: []string{"ConfigMap app-0001-config is missing"}},
		},
		"NotPruned": {
			reason: "an object of an earlier revision is still there", revision: 3,
			change: func(_ *testing.T, w *world) { w.revision = 2 },
			want: findings{differences: []string{
				"ConfigMap app-0001-config: data.odd should not be there",
				"ConfigMap app-0001-config: data.revision is 3, want 2",
				`ConfigMap app-0001-odd of node "odd" should not be there`,
			}},
		},
		"Drifted": {
			reason: "another client's value still stands, deep in an object", revision: 2,
			change: func(t *testing.T, w *world) {
				find(t, *w, "Deployment app-0001")["spec"].(map[string]any)["replicas"] = float64(9)
				find(t, *w, "Service app-0001")["spec"].(map[string]any)["ports"] = []any{}
				delete(find(t, *w, "ConfigMap app-0001-part-c").meta()["labels"].(map[string]any), "kro.run/collection-index")
			},
			want: findings{differences: []string{
				"ConfigMap app-0001-part-c: metadata.labels.kro.run/collection-index is <nil>, want 1",
				"Deployment app-0001: spec.replicas is 9, want 2",
				"Service app-0001: spec.ports is [], want [map[port:80 targetPort:8080]]",
			}},
		},
		"Added": {
			reason: "what the server fills in is no difference", revision: 2,
			change: func(t *testing.T, w *world) {
				find(t, *w, "Service app-0001")["spec"].(map[string]any)["clusterIP"] = "10.0.0.1"
				find(t, *w, "Service app-0001")["status"] = map[string]any{}
			},
		},
		"Leaving": {
			reason: "an object that is being deleted will be missing", revision: 2,
			change: func(t *testing.T, w *world) {
				find(t, *w, "Service app-0001").meta()["deletionTimestamp"] = "2026-08-19T10:00:00Z"
			},
			want: findings{differences: []string{"Service app-0001: it is being deleted"}},
		},
		"Status": {
			reason: "an instance does not say how it is", revision: 2,
			change: func(_ *testing.T, w *world) {
				a := &w.apps[0]
				a.Metadata.Generation, a.Metadata.Finalizers = 4, nil
				a.Status["state"], a.Status["parts"] = "ERROR", float64(1)
			},
			want: findings{differences: []string{
				"SoakApp app-0001: Ready speaks of generation 3, not of 4",
				"SoakApp app-0001: it has no finalizer",
				"SoakApp app-0001: state is ERROR, want ACTIVE",
				"SoakApp app-0001: status.parts is 1, want 2",
			}},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			w := inOrder(t, c.revision)
			c.change(t, &w)
			got := compare(w)
			if diff := cmp.Diff(c.want, got, cmp.AllowUnexported(findings{})); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
			if got.none() != (len(c.want.orphans)+len(c.want.differences) == 0) {
				t.Errorf("none() = %t", got.none())
			}
		})
	}
}

func TestExpectedObjectsFollowTheSpec(t *testing.T) {
	var a app
	a.Metadata.Name = "app-0001"
	cases := map[string]struct {
		spec     appSpec
		revision int
		want     []string
	}{
		"Least": {want: []string{"ConfigMap app-0001-config", "Deployment app-0001", "Service app-0001"}},
		"Most": {spec: appSpec{Extra: true, Entries: []string{"b"}}, revision: 1, want: []string{
			"ConfigMap app-0001-config", "Deployment app-0001", "Service app-0001", "ConfigMap app-0001-extra", "ConfigMap app-0001-odd", "ConfigMap app-0001-part-b",
		}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			a.Spec = c.spec
			var got []string
			for _, o := range expected(a, inputs{revision: c.revision}) {
				got = append(got, o.key())
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
