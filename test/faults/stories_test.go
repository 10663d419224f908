package faults

import (
	kschema "k8s.io/apimachinery/pkg/runtime/schema"
)

// story is a life to be lived: what is there before, the owner in its two states, and what stands at the height of it. NS is the namespace.
type story struct {
	name string
	// definition is the ResourceGraphDefinition of the owner's kind; empty for Graphs.
	definition string
	// others are objects that are not kro's: what the owner reads, contributes to, and needs rights from.
	others []string
	owner  kschema.GroupVersionKind
	first  string
	// between is what somebody else does, as a merge patch on an object of the owner: kind, name, patch.
	between [3]string
	second  string
	// owned is how many objects the owner has at the height, kept the ConfigMap that it has let go of.
	owned int
	kept  string
}

// stories hold every kind of node.
var stories = []story{definitionStory, wideStory, graphStory}

var outside = []string{
	"{apiVersion: v1, kind: ConfigMap, metadata: {name: outside, namespace: NS, labels: {pool: NS}}, data: {v: out}}",
	"{apiVersion: v1, kind: ConfigMap, metadata: {name: other, namespace: NS, labels: {pool: NS}}, data: {v: other}}",
	"{apiVersion: v1, kind: Service, metadata: {name: outside, namespace: NS}, spec: {ports: [{port: 80}]}}",
}

// definitionStory has what definitions have had from the start.
var definitionStory = story{
	name: "definition",
	definition: `
apiVersion: kro.run/v1alpha1
kind: ResourceGraphDefinition
metadata: {name: lives}
spec:
  schema:
    apiVersion: v1alpha1
    kind: Life
    group: faults.example.com
    spec: {v: string, extra: boolean, names: "[]string"}
    status: {seen: "${tail.data.v}", many: "${many.map(m, m.metadata.name)}"}
  resources:
  - {id: head, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${schema.metadata.name}-head"}, data: {v: "${schema.spec.v}"}}}
  - {id: code, template: {apiVersion: v1, kind: Secret, metadata: {name: "${schema.metadata.name}-code"}, stringData: {v: "${head.data.v}"}}}
  - {id: outside, externalRef: {apiVersion: v1, kind: ConfigMap, metadata: {name: outside}}}
  - {id: tail, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${schema.metadata.name}-tail"}, data: {v: "${outside.data.v + head.data.v}", code: "${code.metadata.name}"}}}
  - {id: many, forEach: [{name: "${schema.spec.names}"}], template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${schema.metadata.name}-${name}"}, data: {v: "${schema.spec.v}"}}}
  - {id: extra, includeWhen: ["${schema.spec.extra}"], template: {apiVersion: v1, kind: Secret, metadata: {name: "${schema.metadata.name}-extra"}, stringData: {v: "${schema.spec.v}"}}}
`,
	others: outside,
	owner:  kschema.GroupVersionKind{Group: "faults.example.com", Version: "v1alpha1", Kind: "Life"},
	first:  `{apiVersion: faults.example.com/v1alpha1, kind: Life, metadata: {name: one, namespace: NS}, spec: {v: "1", extra: true, names: [p, q]}}`,
	second: `{apiVersion: faults.example.com/v1alpha1, kind: Life, metadata: {name: one, namespace: NS}, spec: {v: "2", extra: false, names: [q, r]}}`,
	owned:  5,
}

// wideStory has the other kinds of nodes: values, contributions, a selection, an object of the cluster, one that stays, a field of somebody else, a deferred field.
var wideStory = story{
	name: "values and contributions",
	definition: `
apiVersion: kro.run/v1alpha1
kind: ResourceGraphDefinition
metadata: {name: wides}
spec:
  schema:
    apiVersion: v1alpha1
    kind: Wide
    group: faults.example.com
    spec: {v: string, extra: boolean}
    status: {seen: "${left.data.v}", pool: "${settings.pool}"}
  resources:
  - {id: pool, externalRef: {apiVersion: v1, kind: ConfigMap, metadata: {selector: {matchLabels: {pool: "${schema.metadata.namespace}"}}}}}
  - {id: settings, def: {v: "${schema.spec.v}", pool: "${size(pool)}"}}
  - {id: left, externalFields: [data.scale], readyWhen: ["${left.data.v != ''}"], template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${schema.metadata.name}-left"},
      data: {v: "${settings.v}", scale: "1", peer: "${defer(right.data.left)}"}}}
  - {id: right, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${schema.metadata.name}-right"}, data: {left: "${left.metadata.name}", "key-${settings.v}": "${string(settings.pool)}"}}}
  - {id: role, template: {apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: "${schema.metadata.namespace}-wide"},
      rules: [{apiGroups: [""], resources: [configmaps], verbs: [get], resourceNames: ["${right.metadata.name}", "${settings.v}"]}]}}
  - {id: kept, deletionPolicy: Orphaned, includeWhen: ["${schema.spec.extra}"], template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${schema.metadata.name}-kept"}, data: {v: "${schema.spec.v}"}}}
  - {id: note, patch: {apiVersion: v1, kind: ConfigMap, metadata: {name: outside}, data: {"from-${schema.metadata.name}": "${left.data.v}"}}}
  - {id: once, includeWhen: ["${schema.spec.extra}"], patch: {apiVersion: v1, kind: ConfigMap, metadata: {name: other}, data: {once: "${schema.spec.v}"}}}
  - {id: mark, patch: {apiVersion: v1, kind: Service, metadata: {name: outside}, status: {conditions: [{type: Seen, status: "True", reason: Seen, message: "${left.data.v}", lastTransitionTime: "2026-01-01T00:00:00Z"}]}}}
`,
	others:  outside,
	owner:   kschema.GroupVersionKind{Group: "faults.example.com", Version: "v1alpha1", Kind: "Wide"},
	first:   `{apiVersion: faults.example.com/v1alpha1, kind: Wide, metadata: {name: one, namespace: NS}, spec: {v: "1", extra: true}}`,
	between: [3]string{"ConfigMap", "one-left", `{"data": {"scale": "7"}}`},
	second:  `{apiVersion: faults.example.com/v1alpha1, kind: Wide, metadata: {name: one, namespace: NS}, spec: {v: "2", extra: false}}`,
	owned:   3,
	kept:    "one-kept",
}

// graphStory is a Graph with every kind of node that Graphs have.
var graphStory = story{
	name: "Graph",
	others: append([]string{
		`{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: graphs, namespace: NS}, rules: [
		   {apiGroups: [""], resources: [configmaps, services, services/status], verbs: ["*"]}, {apiGroups: [kro.run], resources: [graphs], verbs: ["*"]}]}`,
		`{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: graphs, namespace: NS}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: graphs},
		   subjects: [{kind: ServiceAccount, name: default, namespace: NS}]}`,
	}, outside...),
	owner:   kschema.GroupVersionKind{Group: "kro.run", Version: "v1alpha1", Kind: "Graph"},
	first:   graphText(`{v: "1", extra: true, names: [p, q]}`),
	between: [3]string{"ConfigMap", "one-head", `{"data": {"scale": "7"}}`},
	second:  graphText(`{v: "2", extra: false, names: [q, r]}`),
	owned:   5,
	kept:    "one-kept",
}

func graphText(input string) string {
	return `
apiVersion: kro.run/v1alpha1
kind: Graph
metadata: {name: one, namespace: NS}
spec:
  nodes:
  - {id: input, def: ` + input + `}
  - {id: outside, ref: {apiVersion: v1, kind: ConfigMap, metadata: {name: outside}}}
  - {id: pool, watch: {apiVersion: v1, kind: ConfigMap, metadata: {namespace: NS, selector: {matchLabels: {pool: NS}}}}}
  - {id: head, externalFields: [data.scale], template: {apiVersion: v1, kind: ConfigMap, metadata: {name: one-head}, data: {v: "${input.v + outside.metadata.name}", scale: "1", pool: "${string(size(pool))}"}}}
  - id: inner
    graph:
      nodes:
      - {id: value, def: {v: "${input.v}"}}
      - {id: part, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: one-inner}, data: {v: "${value.v}"}}}
  - {id: many, forEach: [{name: "${input.names}"}], template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "one-${name}"}, data: {v: "${inner.part.data.v}"}}}
  - {id: kept, deletionPolicy: Orphaned, includeWhen: ["${input.extra}"], template: {apiVersion: v1, kind: ConfigMap, metadata: {name: one-kept}, data: {v: "${input.v}"}}}
  - {id: note, patch: {apiVersion: v1, kind: ConfigMap, metadata: {name: outside}, data: {"from-one": "${head.data.v}"}}}
  - {id: once, includeWhen: ["${input.extra}"], patch: {apiVersion: v1, kind: ConfigMap, metadata: {name: other}, data: {once: "${input.v}"}}}
  - {id: mark, patch: {apiVersion: v1, kind: Service, metadata: {name: outside}, status: {conditions: [{type: Seen, status: "True", reason: Seen, message: "${input.v}", lastTransitionTime: "2026-01-01T00:00:00Z"}]}}}
  - id: stamped
    template:
      apiVersion: kro.run/v1alpha1
      kind: Graph
      metadata: {name: one-stamped}
      spec: {nodes: [{id: value, def: {v: "${input.v}"}}, {id: leaf, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: one-leaf}, data: {v: "${'${value.v}'}"}}}]}
`
}
