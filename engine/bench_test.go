package engine

import (
	"fmt"
	"strings"
	"testing"
)

// chain is a definition of n ConfigMaps, each of which refers to the one before.
func chain(n int) string {
	var b strings.Builder
	from := "${schema.metadata.name}"
	for i := range n {
		fmt.Fprintf(&b, "- {id: n%[1]d, readyWhen: [\"${n%[1]d.data.v != ''}\"], template: {apiVersion: v1, kind: ConfigMap, metadata: {name: \"%[2]s-%[1]d\"}, data: {v: \"%[2]s\", flag: \"${string(schema.spec.flag)}\"}}}\n", i, from)
		from = fmt.Sprintf("${n%d.data.v}", i)
	}
	return b.String()
}

// BenchmarkPlan is the pass of one instance that ends with all objects ready, without any server.
func BenchmarkPlan(b *testing.B) {
	for _, n := range []int{3, 35} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			w := newWorld(b, chain(n))
			w.spec["flag"] = true
			b.ReportAllocs()
			for b.Loop() {
				if outcome := w.run(); outcome.State != StateActive {
					b.Fatalf("the state is %s: %+v", outcome.State, outcome.Nodes)
				}
			}
		})
	}
}
