package objects

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func objectsOf(t *testing.T, text string) []*unstructured.Unstructured {
	t.Helper()
	objects, err := parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

func TestTree(t *testing.T) {
	all := objectsOf(t, `
# comments alone are no object
---
apiVersion: v1
kind: Service
metadata: {name: web, namespace: example, uid: s, labels: {kro.run/instance-id: i}}
spec: {clusterIP: 10.96.0.7}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: example, uid: d, labels: {kro.run/instance-id: i}}
spec: {replicas: 2}
status: {readyReplicas: 1}
---
apiVersion: apps/v1
kind: ReplicaSet
metadata: {name: web-1, namespace: example, uid: r, labels: {kro.run/instance-id: i}, ownerReferences: [{uid: d, controller: true}]}
spec: {replicas: 2}
---
apiVersion: v1
kind: Pod
metadata: {name: web-1-a, namespace: example, uid: p, ownerReferences: [{uid: r, controller: true}]}
status: {phase: Running, conditions: [{type: Ready, status: "True", reason: Simulated}]}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: shared, namespace: other, uid: c, labels: {kro.run/instance-id: i}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: foreign, namespace: example, uid: f}
`)
	var b strings.Builder
	draw(&b, "i", children(all), "example", "")
	want := `├─ ConfigMap other/shared
├─ Deployment web  1/2 ready
│  └─ ReplicaSet web-1  0/2 ready
│     └─ Pod web-1-a  Running (simulated)
└─ Service web  10.96.0.7
`
	if d := cmp.Diff(want, b.String()); d != "" {
		t.Errorf("an object stands under its controller, else under its instance, else nowhere (-want +got):\n%s", d)
	}
}

func TestSummaryOfAnInstance(t *testing.T) {
	instance := objectsOf(t, `
apiVersion: platform.example.com/v1alpha1
kind: NginxApp
metadata: {name: web}
status: {state: IN_PROGRESS, conditions: [{type: Ready, status: "False", reason: Waiting, message: on deployment}]}
`)[0]
	if got := Summary(instance); got != "IN_PROGRESS Ready=False" {
		t.Errorf("Summary gives %q", got)
	}
	if got := describe(conditionsOf(instance)); !strings.Contains(got, "Ready=False Waiting: on deployment") {
		t.Errorf("the message of a failed wait does not tell why: %q", got)
	}
}

func TestRead(t *testing.T) {
	dir := t.TempDir()
	if _, err := Read(dir); err == nil || !strings.Contains(err.Error(), "holds no *.yaml file") {
		t.Errorf("an empty folder: %v", err)
	}
	for name, text := range map[string]string{
		"b.yaml": "{apiVersion: v1, kind: ConfigMap, metadata: {name: b}}",
		"a.yaml": "{apiVersion: v1, kind: ConfigMap, metadata: {name: a1}}\n---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: a2}}\n",
		"c.txt":  "no object",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	objects, err := Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, object := range objects {
		names = append(names, object.GetName())
	}
	if d := cmp.Diff([]string{"a1", "a2", "b"}, names); d != "" {
		t.Errorf("objects in the order of files and documents (-want +got):\n%s", d)
	}
	if err := os.WriteFile(filepath.Join(dir, "d.yaml"), []byte("a: [b"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(dir); err == nil || !strings.Contains(err.Error(), "d.yaml") {
		t.Errorf("a broken file is not named: %v", err)
	}
}

func TestRetryTellsTheLastRealFailure(t *testing.T) {
	err := (&Cluster{}).retry(t.Context(), 250*time.Millisecond, "apply X", func(ctx context.Context) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return errors.New("kind not served")
	})
	if err == nil || !strings.Contains(err.Error(), "apply X (250ms): kind not served") {
		t.Errorf("the user is told %v", err)
	}
}
