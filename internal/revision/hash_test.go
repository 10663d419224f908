package revision

import (
	"testing"

	"sigs.k8s.io/yaml"

	"kro.run/kro/api/v1alpha1"
)

func parse(t *testing.T, text string) *v1alpha1.ResourceGraphDefinitionSpec {
	t.Helper()
	var spec v1alpha1.ResourceGraphDefinitionSpec
	if err := yaml.UnmarshalStrict([]byte(text), &spec); err != nil {
		t.Fatalf("test document: %v", err)
	}
	return &spec
}

func hash(t *testing.T, text string) string {
	t.Helper()
	got, err := Hash(parse(t, text))
	if err != nil {
		t.Fatalf("Hash: %v", err)
	}
	return got
}

const full = `
schema:
  apiVersion: v1beta1
  kind: DefHashFull
  group: def-hash.example.com
  scope: Cluster
  types: {pair: {left: string, right: integer}}
  spec: {p: pair, text: 'string | default="<&>" description="é"'}
  status: {who: "${one.metadata.name}"}
  shortNames: [dhf]
  additionalPrinterColumns: [{name: Who, type: string, jsonPath: .status.who, priority: 1}]
  metadata: {labels: {team: infra}}
resources:
- id: two
  includeWhen: ["${schema.spec.p.right > 1}", "${schema.spec.p.left != ''}"]
  forEach: [{letter: "${['a', 'b']}"}, {num: "${[1, 2]}"}]
  template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "x-${letter}-${string(num)}", namespace: default}, data: {one: "${one.metadata.name}"}}
- id: one
  readyWhen: ["${one.metadata.uid != ''}", "${one.metadata.name != ''}"]
  template: {apiVersion: v1, kind: ConfigMap, metadata: {name: one, namespace: default}, data: {}}
- {id: ext, externalRef: {apiVersion: v1, kind: ConfigMap, metadata: {namespace: default, selector: {matchExpressions: [{operator: In, values: [v], key: k}], matchLabels: {a: "${schema.spec.text}"}}}}}
`

func TestHashIsThatOfOtherReleases(t *testing.T) {
	cases := []struct {
		reason, spec, want string
	}{
		{"two templates, to be sorted", `{schema: {kind: A, apiVersion: v1alpha1, spec: {a: string}}, resources: [{id: b, template: {x: 1}}, {id: a, template: {y: 2}}]}`, "b9c09d1490a40529"},
		{"no resources", `{schema: {apiVersion: v1alpha1, kind: DefHashPlain, spec: {a: string}}}`, "3d68fcac259953e2"},
		{"every field", full, "047634ad020cc162"},
	}
	for _, c := range cases {
		t.Run(c.reason, func(t *testing.T) {
			if got := hash(t, c.spec); got != c.want {
				t.Errorf("Hash = %s, want %s", got, c.want)
			}
		})
	}
}

func TestHashIgnoresEditsWithoutMeaning(t *testing.T) {
	base := hash(t, `
schema: {apiVersion: v1alpha1, kind: DefNoop, spec: {a: string, b: string}}
resources:
- {id: one, readyWhen: ["${one.x}", "${one.y}"], template: {a: 1, b: 2}}
- {id: two, template: {c: 3}}`)
	same := hash(t, `
resources:
- {template: {c: 3}, id: two, readyWhen: [], includeWhen: [], forEach: []}
- {id: one, readyWhen: ["${one.y}", "${one.x}"], deletionPolicy: Delete, externalFields: [], template: {b: 2, a: 1}}
schema: {scope: Namespaced, spec: {b: string, a: string}, group: kro.run, kind: DefNoop, apiVersion: v1alpha1, additionalPrinterColumns: [], shortNames: []}`)
	if base != same {
		t.Errorf("Hash differs: %s and %s", base, same)
	}
}

func TestHashTellsEditsWithAMeaning(t *testing.T) {
	seen := map[string]string{}
	for _, spec := range []string{
		`{schema: {kind: A, apiVersion: v1}}`,
		`{schema: {kind: A, apiVersion: v1, plural: aas}}`,
		`{schema: {kind: A, apiVersion: v1, group: other.example.com}}`,
		`{schema: {kind: A, apiVersion: v1, scope: Cluster}}`,
		`{schema: {kind: A, apiVersion: v1, categories: [all]}}`,
		`{schema: {kind: A, apiVersion: v1, shortNames: [all]}}`,
		`{schema: {kind: A, apiVersion: v1, metadata: {annotations: {a: b}}}}`,
		`{schema: {kind: A, apiVersion: v1, spec: {a: string}}}`,
		`{schema: {kind: A, apiVersion: v1, types: {a: string}}}`,
		`{schema: {kind: A, apiVersion: v1}, resources: [{id: a, template: {}}]}`,
		`{schema: {kind: A, apiVersion: v1}, resources: [{id: a, template: {}, deletionPolicy: Orphaned}]}`,
		`{schema: {kind: A, apiVersion: v1}, resources: [{id: a, template: {}, externalFields: [a.b]}]}`,
		`{schema: {kind: A, apiVersion: v1}, resources: [{id: a, def: {b: 1}}]}`,
		`{schema: {kind: A, apiVersion: v1}, resources: [{id: a, def: {b: 2}}]}`,
		`{schema: {kind: A, apiVersion: v1}, resources: [{id: a, patch: {b: 1}}]}`,
		`{schema: {kind: A, apiVersion: v1}, resources: [{id: a, template: {}, forEach: [{x: l}, {y: m}]}]}`,
		`{schema: {kind: A, apiVersion: v1}, resources: [{id: a, template: {}, forEach: [{y: m}, {x: l}]}]}`,
		`{schema: {kind: A, apiVersion: v1}, resources: [{id: a, externalRef: {apiVersion: v1, kind: B, metadata: {selector: {}}}}]}`,
		`{schema: {kind: A, apiVersion: v1}, resources: [{id: a, externalRef: {apiVersion: v1, kind: B, metadata: {selector: "${schema.spec.s}"}}}]}`,
		`{schema: {kind: A, apiVersion: v1}, resources: [{id: a, externalRef: {apiVersion: v1, kind: B, metadata: {selector: {odd: true}}}}]}`,
	} {
		h := hash(t, spec)
		if other, ok := seen[h]; ok {
			t.Errorf("Hash of %s is that of %s", spec, other)
		}
		seen[h] = spec
	}
}

func TestHashOfASpecWithoutSchema(t *testing.T) {
	if _, err := Hash(&v1alpha1.ResourceGraphDefinitionSpec{Resources: []*v1alpha1.Resource{nil, {ID: "a"}}}); err != nil {
		t.Errorf("Hash: %v", err)
	}
}

func TestHashRefusesWhatIsNotJSON(t *testing.T) {
	spec := parse(t, `{schema: {kind: A, apiVersion: v1}}`)
	spec.Schema.Spec.Raw = []byte("{")
	if _, err := Hash(spec); err == nil {
		t.Error("Hash: no error")
	}
}
