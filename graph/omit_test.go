package graph

import (
	"strings"
	"testing"

	"kro.run/kro/schema"
)

// With the gate off, omit() is refused wherever it stands, and each time for the gate: not as out of place, nor as unknown.
func TestOmitWithoutItsGate(t *testing.T) {
	const want = "omit() requires the CELOmitFunction feature gate to be enabled"
	status := func(text string) string {
		return "schema: {apiVersion: v1, kind: Thing, spec: {a: string}, status: " + text + "}"
	}
	for name, text := range map[string]string{
		"a field":        resources(configMap("cm", "", `{v: "${schema.spec.flag ? 'x' : omit()}"}`)),
		"text":           resources(configMap("cm", "", `{v: "x-${omit()}"}`)),
		"a name":         resources(`{id: cm, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${omit()}"}}}`),
		"a key":          resources(configMap("cm", "", `{"${omit()}": v}`)),
		"readyWhen":      resources(configMap("cm", `readyWhen: ["${omit()}"]`, "{}")),
		"includeWhen":    resources(configMap("cm", `includeWhen: ["${omit()}"]`, "{}")),
		"forEach":        resources(`{id: cm, forEach: [{x: "${omit()}"}], template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${x}"}}}`),
		"a reference":    resources(`{id: ref, externalRef: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${omit()}"}}}`),
		"a status field": status(`{v: "${schema.spec.a == '' ? omit() : schema.spec.a}"}`),
		"a condition":    status(`{conditions: ["${schema.spec.a == '' ? omit() : runtime.newCondition({type: 'A', status: 'True'})}"]}`),
	} {
		t.Run(name, func(t *testing.T) {
			_, faults := Compile(FromDefinition("x", parse(t, text)), Env{Kinds: schema.Embedded(), NoOmit: true})
			if len(faults) != 1 || !strings.Contains(faults[0].Message, want) {
				t.Errorf("got %v, want one fault with %q", faults, want)
			}
		})
	}
}
