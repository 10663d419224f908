package graph

import (
	"fmt"
	"strings"
	"testing"

	"kro.run/kro/api/v1alpha1"
	"kro.run/kro/schema"
)

// large is a definition of n resources of several kinds, in a chain, with about a dozen expressions each.
func large(n int) string {
	var b strings.Builder
	b.WriteString(head)
	b.WriteString("  status:\n")
	for i := range n {
		if i%4 == 2 {
			fmt.Fprintf(&b, "    size%d: \"${size(node%d)}\"\n", i, i)
			continue
		}
		fmt.Fprintf(&b, "    name%d: \"${node%d.metadata.name}\"\n", i, i)
	}
	b.WriteString("resources:\n")
	for i := range n {
		from := "schema"
		if i > 0 {
			from = fmt.Sprintf("node%d", i-1)
		}
		fmt.Fprintf(&b, "- id: node%d\n", i)
		switch i % 4 {
		case 0:
			fmt.Fprintf(&b, deploymentText, i, from, i)
		case 1:
			fmt.Fprintf(&b, serviceText, i, from, i)
		case 2:
			fmt.Fprintf(&b, itemsText, i, from, i, i)
		default:
			fmt.Fprintf(&b, "  template: {apiVersion: v1, kind: ConfigMap, metadata: {name: '${schema.metadata.name}-%d', labels: {from: '${%s[0].metadata.name}'}}, data: {%s}}\n", i, from, manyValues(i))
		}
	}
	return b.String()
}

func manyValues(i int) string {
	var values []string
	for j := range 10 {
		values = append(values, fmt.Sprintf("k%d: '${schema.spec.a + string(%d)}'", j, 100*i+j))
	}
	return strings.Join(values, ", ")
}

const deploymentText = `  readyWhen: ["${node%[1]d.status.?readyReplicas.orValue(0) > 0}"]
  includeWhen: ["${schema.spec.num > %[1]d || schema.spec.flag}"]
  template:
    apiVersion: apps/v1
    kind: Deployment
    metadata: {name: "${schema.metadata.name}-%[1]d", labels: {from: "${%[2]s.metadata.name}"}}
    spec:
      replicas: "${schema.spec.num + %[1]d}"
      selector: {matchLabels: {app: "${schema.spec.a}-%[1]d"}}
      template:
        metadata: {labels: {app: "${schema.spec.a}-%[1]d"}}
        spec:
          containers:
          - name: main
            image: "${schema.spec.a}:%[1]d"
            args: ["${schema.spec.l.filter(x, x != '%[3]d').join(',')}"]
            env: [{name: A, value: "${schema.spec.?a.orValue('none%[1]d')}"}, {name: B, value: "${has(schema.spec.o.x%[1]d) ? 'yes' : 'no'}"}]
            resources: {limits: {cpu: "${schema.spec.flag ? '%[1]d' : '2'}"}}
`

const serviceText = `  readyWhen: ["${node%[1]d.spec.clusterIP != ''}"]
  includeWhen: ["${schema.spec.num > %[1]d}"]
  template:
    apiVersion: v1
    kind: Service
    metadata: {name: "${schema.metadata.name}-%[1]d", annotations: {from: "${%[2]s.metadata.name}", uid: "${%[2]s.metadata.uid}", n: "${string(schema.spec.num * %[1]d)}"}}
    spec:
      selector: {app: "${%[2]s.spec.selector.matchLabels.app}", a: "${schema.spec.a + 'x%[1]d'}"}
      ports: [{port: "${schema.spec.num * %[3]d}", targetPort: "${8080 + %[1]d}"}]
      externalName: "${schema.spec.m.k + '%[1]d'}"
`

const itemsText = `  forEach: [{v: "${schema.spec.l.map(x, x + '%[1]d')}"}]
  readyWhen: ["${each.data.a != '%[1]d'}"]
  template:
    apiVersion: v1
    kind: ConfigMap
    metadata: {name: "${schema.metadata.name}-${v}-%[1]d", labels: {from: "${%[2]s.metadata.name}"}}
    data: {a: "${v}%[3]d", b: "${v + schema.spec.a}", c: "${v.upperAscii()}", d: "${string(size(v) + %[4]d)}", e: "${%[2]s.spec.clusterIP}", f: "${schema.spec.a == v ? 'x' : 'z%[1]d'}"}
`

// A definition whose expressions nobody has read before, as after a restart, and one that was compiled before, as when it is edited or a kind that it
// uses changes.
func BenchmarkCompileLarge(b *testing.B) {
	text := large(35)
	b.Run("new", func(b *testing.B) {
		// White space makes other texts of the same expressions; until one comes again, it is forgotten.
		var specs []*v1alpha1.ResourceGraphDefinitionSpec
		for i := range 12 {
			specs = append(specs, parse(b, strings.ReplaceAll(text, "${", "${"+strings.Repeat(" ", i))))
		}
		benchmarkCompile(b, specs...)
	})
	b.Run("known", func(b *testing.B) { benchmarkCompile(b, parse(b, text)) })
}

// benchmarkCompile compiles the definitions in turn.
func benchmarkCompile(b *testing.B, specs ...*v1alpha1.ResourceGraphDefinitionSpec) {
	env := Env{Kinds: schema.Embedded()}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if _, faults := Compile(FromDefinition("large", specs[i%len(specs)]), env); len(faults) > 0 {
			b.Fatal(faults)
		}
	}
}

func BenchmarkEvalBody(b *testing.B) {
	p := mustCompile(b, large(4))
	act := activation(b, p, instanceText, map[string]string{"node2": `[{metadata: {name: m}}]`})
	body := p.Node("node3").Body
	b.ReportAllocs()
	for b.Loop() {
		if _, err := body.Eval(b.Context(), act); err != nil {
			b.Fatal(err)
		}
	}
}
