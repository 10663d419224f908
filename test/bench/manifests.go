package main

import (
	"fmt"
	"strings"

	kschema "k8s.io/apimachinery/pkg/runtime/schema"
)

// Collections that measurements work with.
var (
	namespaces  = kschema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
	configMaps  = kschema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	services    = kschema.GroupVersionResource{Version: "v1", Resource: "services"}
	deployments = kschema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
	definitions = kschema.GroupVersionResource{Group: "kro.run", Version: "v1alpha1", Resource: "resourcegraphdefinitions"}
	chains      = instancesOf("benchchains")
	deeps       = instancesOf("benchdeeps")
	collections = instancesOf("benchcollections")
	floors      = kschema.GroupVersionResource{Group: "floor.bench.kro.run", Version: "v1alpha1", Resource: "benchfloors"}
)

func instancesOf(plural string) kschema.GroupVersionResource {
	return kschema.GroupVersionResource{Group: "kro.run", Version: "v1alpha1", Resource: plural}
}

// chainDefinition is ConfigMap → Deployment → Service, each referring to the one before. The revision shows on the
// Deployment only, so that a new revision changes one child of three.
func chainDefinition(name, kind string, revision int) string {
	return fmt.Sprintf(`
apiVersion: kro.run/v1alpha1
kind: ResourceGraphDefinition
metadata:
  name: %s
spec:
  schema:
    apiVersion: v1alpha1
    kind: %s
    spec:
      value: string
      replicas: integer | default=1
    status:
      deployment: ${deployment.metadata.name}
      address: ${service.spec.clusterIP}
  resources:
  - id: config
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata:
        name: ${schema.metadata.name}
      data:
        value: ${schema.spec.value}
  - id: deployment
    template:
      apiVersion: apps/v1
      kind: Deployment
      metadata:
        name: ${config.metadata.name}
        annotations:
          bench.kro.run/revision: "%d"
      spec:
        replicas: ${schema.spec.replicas}
        selector:
          matchLabels:
            app: ${schema.metadata.name}
        template:
          metadata:
            labels:
              app: ${schema.metadata.name}
          spec:
            containers:
            - name: main
              image: registry.example.com/app:1
              env:
              - name: VALUE
                value: ${config.data.value}
  - id: service
    template:
      apiVersion: v1
      kind: Service
      metadata:
        name: ${deployment.metadata.name}
      spec:
        selector: ${deployment.spec.selector.matchLabels}
        ports:
        - port: 80
          targetPort: 8080
`, name, kind, revision)
}

const revisionAnnotation = "bench.kro.run/revision"

// deepDefinition is a chain of ConfigMaps, each of which takes its data from the one before.
func deepDefinition(depth int) string {
	var text strings.Builder
	text.WriteString(`
apiVersion: kro.run/v1alpha1
kind: ResourceGraphDefinition
metadata:
  name: bench-deep
spec:
  schema:
    apiVersion: v1alpha1
    kind: BenchDeep
    spec:
      value: string
    status:
`)
	fmt.Fprintf(&text, "      value: ${link%d.data.value}\n  resources:\n", depth-1)
	for i := range depth {
		from := "schema.spec.value"
		if i > 0 {
			from = fmt.Sprintf("link%d.data.value", i-1)
		}
		fmt.Fprintf(&text, `  - id: link%d
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata:
        name: ${schema.metadata.name}-%d
      data:
        value: ${%s}
`, i, i, from)
	}
	return text.String()
}

// collectionDefinition makes a ConfigMap for each item of a list.
const collectionDefinition = `
apiVersion: kro.run/v1alpha1
kind: ResourceGraphDefinition
metadata:
  name: bench-collection
spec:
  schema:
    apiVersion: v1alpha1
    kind: BenchCollection
    types:
      Entry:
        key: string
        value: string
    spec:
      entries: "[]Entry"
    status:
      size: ${size(parts)}
  resources:
  - id: parts
    forEach:
    - entry: ${schema.spec.entries}
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata:
        name: ${schema.metadata.name}-${entry.key}
      data:
        value: ${entry.value}
`

// chainInstance is an instance of a definition of the chain's shape.
func chainInstance(kind, name string) map[string]any {
	return map[string]any{
		"apiVersion": "kro.run/v1alpha1", "kind": kind,
		"metadata": map[string]any{"name": name},
		"spec":     map[string]any{"value": "first"},
	}
}

func chainName(i int) string { return fmt.Sprintf("app-%05d", i) }
