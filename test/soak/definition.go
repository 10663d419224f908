package main

import (
	"fmt"
	"strconv"
	"strings"

	kschema "k8s.io/apimachinery/pkg/runtime/schema"

	"kro.run/kro/test/bench/client"
)

const (
	namespace    = "soak"
	settingsName = "soak-settings" // the ConfigMap that all instances read
	appKind      = "SoakApp"

	revisionAnnotation = "soak.kro.run/revision"
)

var (
	namespaces  = kschema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
	configMaps  = kschema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	services    = kschema.GroupVersionResource{Version: "v1", Resource: "services"}
	deployments = kschema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
	definitions = kschema.GroupVersionResource{Group: "kro.run", Version: "v1alpha1", Resource: "resourcegraphdefinitions"}
	apps        = kschema.GroupVersionResource{Group: "kro.run", Version: "v1alpha1", Resource: "soakapps"}

	// children are the collections that hold the objects of instances.
	children = map[string]kschema.GroupVersionResource{"ConfigMap": configMaps, "Deployment": deployments, "Service": services}
)

// definitionText is a revision of the graph: a chain, an object that all instances read, a node that is there under a
// condition, a collection. Every revision changes the ConfigMap config; odd ones have a field and a node more, so that
// revisions also take things away.
func definitionText(revision int) string {
	oddField, oddNode := "", ""
	if odd(revision) {
		oddField, oddNode = "\n        odd: \"true\"", oddNodeText
	}
	return strings.NewReplacer("REVISION", strconv.Itoa(revision), "ODD_FIELD", oddField, "ODD_NODE", oddNode).Replace(baseText)
}

func odd(revision int) bool { return revision%2 == 1 }

const baseText = `
apiVersion: kro.run/v1alpha1
kind: ResourceGraphDefinition
metadata:
  name: soak
  annotations:
    soak.kro.run/revision: "REVISION"
spec:
  schema:
    apiVersion: v1alpha1
    kind: SoakApp
    spec:
      value: string
      replicas: integer
      extra: boolean
      entries: "[]string"
    status:
      service: ${service.metadata.name}
      parts: ${size(parts)}
  resources:
  - id: settings
    externalRef:
      apiVersion: v1
      kind: ConfigMap
      metadata:
        name: soak-settings
  - id: config
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata:
        name: ${schema.metadata.name}-config
      data:
        value: ${schema.spec.value}
        setting: ${settings.data.setting}
        revision: "REVISION"ODD_FIELD
  - id: deployment
    template:
      apiVersion: apps/v1
      kind: Deployment
      metadata:
        name: ${schema.metadata.name}
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
  - id: extra
    includeWhen:
    - ${schema.spec.extra}
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata:
        name: ${schema.metadata.name}-extra
      data:
        service: ${service.metadata.name}
  - id: parts
    forEach:
    - entry: ${schema.spec.entries}
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata:
        name: ${schema.metadata.name}-part-${entry}
      data:
        entry: ${entry}
        value: ${config.data.value}
ODD_NODE`

const oddNodeText = `  - id: odd
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata:
        name: ${schema.metadata.name}-odd
      data:
        service: ${service.metadata.name}
`

// revisionOf reads which revision a definition holds.
func revisionOf(definition client.Item) (int, error) {
	revision, err := strconv.Atoi(definition.Metadata.Annotations[revisionAnnotation])
	if err != nil {
		return 0, fmt.Errorf("definition %s does not say its revision: %w", definition.Metadata.Name, err)
	}
	return revision, nil
}

// appSpec is the spec of an instance.
type appSpec struct {
	Value    string   `json:"value"`
	Replicas int64    `json:"replicas"`
	Extra    bool     `json:"extra"`
	Entries  []string `json:"entries"`
}

func appName(slot int) string { return fmt.Sprintf("app-%04d", slot) }

func appObject(slot int, spec appSpec) map[string]any {
	return map[string]any{
		"apiVersion": apps.GroupVersion().String(), "kind": appKind,
		"metadata": map[string]any{"name": appName(slot)}, "spec": spec,
	}
}
