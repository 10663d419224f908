package schema

import (
	"archive/zip"
	"bytes"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"
)

func freshSnapshot() *snapshot { return &snapshot{documents: map[kschema.GroupVersion]*Document{}} }

func builtIn(t *testing.T, group, version, kind string) *Kind {
	t.Helper()
	found, err := Embedded().Resolve(kschema.GroupVersionKind{Group: group, Version: version, Kind: kind})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func at(n *Node, path ...string) *Node {
	for _, step := range path {
		switch {
		case n == nil:
			return nil
		case step == "[]":
			n = n.Items
		case step == "{}":
			n = n.AdditionalProperties
		default:
			n = n.Properties[step]
		}
	}
	return n
}

func TestEmbeddedKinds(t *testing.T) {
	cases := []struct {
		group, version, kind, resource string
		namespaced                     bool
		reason                         string
	}{
		{"", "v1", "Pod", "pods", true, "also listed across namespaces, and named by a dozen subresources"},
		{"", "v1", "Namespace", "namespaces", false, "its path looks like the prefix of namespaced kinds"},
		{"", "v1", "Node", "nodes", false, "plain"},
		{"", "v1", "Endpoints", "endpoints", true, "the plural is the singular"},
		{"", "v1", "Binding", "bindings", true, "can only be created"},
		{"apps", "v1", "Deployment", "deployments", true, "its /scale serves another kind"},
		{"policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets", true, "pods/eviction names this group"},
		{"networking.k8s.io", "v1", "Ingress", "ingresses", true, "irregular plural"},
		{"rbac.authorization.k8s.io", "v1", "ClusterRole", "clusterroles", false, "cluster-scoped beside a namespaced twin"},
		{"authorization.k8s.io", "v1", "LocalSubjectAccessReview", "localsubjectaccessreviews", true, "namespaced, cannot be listed"},
		{"apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions", false, "recursive schema"},
	}
	for _, c := range cases {
		t.Run(c.kind, func(t *testing.T) {
			kind := builtIn(t, c.group, c.version, c.kind)
			if kind.Resource != c.resource || kind.Namespaced != c.namespaced {
				t.Errorf("%s: got %q, namespaced %v; want %q, namespaced %v", c.reason, kind.Resource, kind.Namespaced, c.resource, c.namespaced)
			}
			checkNode(t, kind.Schema)
		})
	}
}

func TestEmbeddedMissing(t *testing.T) {
	for _, gvk := range []kschema.GroupVersionKind{
		{Version: "v1", Kind: "PodList"}, {Version: "v1", Kind: "Widget"}, {Version: "v7", Kind: "Pod"}, {Group: "example.com", Version: "v1", Kind: "Pod"},
		{Kind: "Pod"}, {Group: "autoscaling", Version: "v1", Kind: "Scale"}, {Version: "v1", Kind: "Status"}, {Group: "..", Version: "api/v1", Kind: "Pod"}, {},
	} {
		_, err := Embedded().Resolve(gvk)
		var missing *NotFoundError
		if !errors.As(err, &missing) || missing.GVK != gvk {
			t.Errorf("%v: got %v, want a NotFoundError of it", gvk, err)
		}
	}
}

func TestEmbeddedFields(t *testing.T) {
	deployment, secret, service := builtIn(t, "apps", "v1", "Deployment").Schema, builtIn(t, "", "v1", "Secret").Schema, builtIn(t, "", "v1", "Service").Schema
	container := at(deployment, "spec", "template", "spec", "containers", "[]")
	crd := builtIn(t, "apiextensions.k8s.io", "v1", "CustomResourceDefinition").Schema
	cases := map[string]struct {
		got, want *Node
	}{
		"Replicas":       {at(deployment, "spec", "replicas"), &Node{Type: "integer", Format: "int32"}},
		"MaxSurge":       {at(deployment, "spec", "strategy", "rollingUpdate", "maxSurge"), &Node{IntOrString: true}},
		"TargetPort":     {at(service, "spec", "ports", "[]", "targetPort"), &Node{IntOrString: true}},
		"Quantity":       {at(container, "resources", "requests", "{}"), &Node{IntOrString: true}},
		"Bytes":          {at(secret, "data", "{}"), &Node{Type: "string", Format: "byte"}},
		"StringData":     {at(secret, "stringData"), &Node{Type: "object", AdditionalProperties: &Node{Type: "string"}}},
		"Time":           {at(deployment, "metadata", "creationTimestamp"), &Node{Type: "string", Format: "date-time"}},
		"MicroTime":      {at(builtIn(t, "coordination.k8s.io", "v1", "Lease").Schema, "spec", "acquireTime"), &Node{Type: "string", Format: "date-time"}},
		"RawExtension":   {at(builtIn(t, "apps", "v1", "ControllerRevision").Schema, "data"), &Node{Type: "object", PreserveUnknown: true}},
		"Float":          {at(crd, "spec", "versions", "[]", "schema", "openAPIV3Schema", "maximum"), &Node{Type: "number", Format: "double"}},
		"JSON":           {at(crd, "spec", "versions", "[]", "schema", "openAPIV3Schema", "default"), &Node{PreserveUnknown: true}},
		"ObjectMeta":     {at(deployment, "metadata"), ObjectMeta()},
		"PodObjectMeta":  {at(deployment, "spec", "template", "metadata"), ObjectMeta()},
		"EmptyDirMedium": {at(deployment, "spec", "template", "spec", "volumes", "[]", "emptyDir", "sizeLimit"), &Node{IntOrString: true}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, c.got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
	props := at(crd, "spec", "versions", "[]", "schema", "openAPIV3Schema")
	if at(props, "properties", "{}") != props {
		t.Error("the schema of schemas is not recursive")
	}
}

// TestEmbeddedSnapshot reads every document, as no other test does, and bounds what they add to the binary.
func TestEmbeddedSnapshot(t *testing.T) {
	if size := len(kubernetesZip); size > 100<<10 {
		t.Errorf("the snapshot has %d bytes, meant to stay below 100 KiB", size)
	}
	archive, err := zip.NewReader(bytes.NewReader(kubernetesZip), int64(len(kubernetesZip)))
	if err != nil {
		t.Fatal(err)
	}
	s, total := &snapshot{archive: archive}, 0
	for _, file := range archive.File {
		document, err := s.read(file.Name)
		if err != nil {
			t.Fatalf("%s: %v", file.Name, err)
		}
		for gvk := range document.served {
			if DocumentPath(gvk.GroupVersion()) != file.Name {
				t.Errorf("%v is in %s", gvk, file.Name)
			}
			kind, err := document.Kind(gvk)
			if err != nil {
				t.Errorf("%v: %v", gvk, err)
				continue
			}
			total++
			if len(kind.Schema.Properties) < 2 {
				t.Errorf("%v has no fields", gvk)
			}
		}
	}
	if total < 70 {
		t.Errorf("%d kinds, want at least 70", total)
	}
}

// BenchmarkEmbedded is what `kro validate` pays for two group versions in a fresh process.
func BenchmarkEmbedded(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		s := freshSnapshot()
		for _, gvk := range []kschema.GroupVersionKind{
			{Group: "apps", Version: "v1", Kind: "Deployment"}, {Version: "v1", Kind: "Service"}, {Version: "v1", Kind: "ConfigMap"},
		} {
			if _, err := s.Resolve(gvk); err != nil {
				b.Fatal(err)
			}
		}
	}
}

func BenchmarkParseDocument(b *testing.B) {
	source := []byte(shopDocument)
	b.SetBytes(int64(len(source)))
	for b.Loop() {
		if _, err := ParseDocument(source); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkFingerprint(b *testing.B) {
	pod, err := Embedded().Resolve(kschema.GroupVersionKind{Version: "v1", Kind: "Pod"})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		fingerprint(pod.Schema, pod.Resource, pod.Namespaced)
	}
}
