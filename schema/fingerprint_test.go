package schema

import (
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

func TestFingerprintChangesWithContent(t *testing.T) {
	base := `{type: object, required: [a], properties: {a: {type: string}, b: {type: array, items: {type: string}}, c: {oneOf: [{type: string}, {type: array}]}, d: {type: object, additionalProperties: {type: string}}}}`
	variants := map[string]string{
		"Base":            base,
		"Type":            `{type: object, required: [a], properties: {a: {type: integer}, b: {type: array, items: {type: string}}, c: {oneOf: [{type: string}, {type: array}]}, d: {type: object, additionalProperties: {type: string}}}}`,
		"Format":          `{type: object, required: [a], properties: {a: {type: string, format: byte}, b: {type: array, items: {type: string}}, c: {oneOf: [{type: string}, {type: array}]}, d: {type: object, additionalProperties: {type: string}}}}`,
		"Required":        `{type: object, required: [b], properties: {a: {type: string}, b: {type: array, items: {type: string}}, c: {oneOf: [{type: string}, {type: array}]}, d: {type: object, additionalProperties: {type: string}}}}`,
		"Name":            `{type: object, required: [a], properties: {a: {type: string}, bb: {type: array, items: {type: string}}, c: {oneOf: [{type: string}, {type: array}]}, d: {type: object, additionalProperties: {type: string}}}}`,
		"Items":           `{type: object, required: [a], properties: {a: {type: string}, b: {type: array, items: {type: boolean}}, c: {oneOf: [{type: string}, {type: array}]}, d: {type: object, additionalProperties: {type: string}}}}`,
		"NoItems":         `{type: object, required: [a], properties: {a: {type: string}, b: {type: array}, c: {oneOf: [{type: string}, {type: array}]}, d: {type: object, additionalProperties: {type: string}}}}`,
		"Union":           `{type: object, required: [a], properties: {a: {type: string}, b: {type: array, items: {type: string}}, c: {oneOf: [{type: string}, {type: object}]}, d: {type: object, additionalProperties: {type: string}}}}`,
		"PropertyForItem": `{type: object, required: [a], properties: {a: {type: string}, b: {type: array, items: {type: string}}, c: {oneOf: [{type: string}, {type: array}]}, d: {type: object, properties: {x: {type: string}}}}}`,
		"Nullable":        `{type: object, nullable: true, required: [a], properties: {a: {type: string}, b: {type: array, items: {type: string}}, c: {oneOf: [{type: string}, {type: array}]}, d: {type: object, additionalProperties: {type: string}}}}`,
	}
	seen := map[string]string{}
	note := func(name, print string) {
		if twin, taken := seen[print]; taken {
			t.Errorf("%s and %s have one fingerprint", name, twin)
		}
		seen[print] = name
	}
	for name, text := range variants {
		note(name, fingerprint(FromJSONSchema(propsOf(t, text)), "as", true))
	}
	note("Plural", fingerprint(FromJSONSchema(propsOf(t, base)), "bs", true))
	note("Scope", fingerprint(FromJSONSchema(propsOf(t, base)), "as", false))

	described := propsOf(t, base)
	described.Description, described.Default = "text", &apiextensionsv1.JSON{Raw: []byte("{}")}
	if got := fingerprint(FromJSONSchema(described), "as", true); seen[got] != "Base" {
		t.Error("a description and a default change the fingerprint")
	}
}

func TestFingerprintSeesContentOnly(t *testing.T) {
	leaf := func() *Node { return &Node{Type: "string"} }
	one := leaf()
	shared := &Node{Type: "object", Properties: map[string]*Node{"a": one, "b": one}}
	copied := &Node{Type: "object", Properties: map[string]*Node{"a": leaf(), "b": leaf()}}
	if fingerprint(shared, "", true) != fingerprint(copied, "", true) {
		t.Error("sharing a node makes a difference")
	}

	knot := &Node{Type: "object"}
	knot.Properties = map[string]*Node{"next": knot, "name": leaf()}
	outer, inner := &Node{Type: "object"}, &Node{Type: "object"}
	outer.Properties = map[string]*Node{"next": inner, "name": leaf()}
	inner.Properties = map[string]*Node{"next": outer, "name": leaf()}
	if fingerprint(knot, "", true) != fingerprint(outer, "", true) {
		t.Error("unrolling a recursive schema once makes a difference")
	}
	inner.Properties["name"] = &Node{Type: "integer"}
	if fingerprint(knot, "", true) == fingerprint(outer, "", true) {
		t.Error("a difference in the second turn of a recursion goes unseen")
	}
}

func TestFingerprintTellsCyclesOfDifferentDepthApart(t *testing.T) {
	// A chain of n nodes of which only the last one differs, closed to a ring: the rounds must go on until they have come round.
	ring := func(n int, last string) *Node {
		nodes := make([]*Node, n)
		for i := range nodes {
			nodes[i] = &Node{Type: "array"}
		}
		for i := range nodes {
			nodes[i].Items = nodes[(i+1)%n]
		}
		nodes[n-1].Type = last
		return nodes[0]
	}
	if fingerprint(ring(20, "object"), "", true) == fingerprint(ring(21, "object"), "", true) {
		t.Error("rings of 20 and 21 nodes have one fingerprint")
	}
	if fingerprint(ring(20, "array"), "", true) != fingerprint(ring(21, "array"), "", true) {
		t.Error("rings that are the same all round have two fingerprints")
	}
}
