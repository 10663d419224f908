package cel

import (
	"testing"

	celgo "github.com/google/cel-go/cel"

	"kro.run/kro/schema"
)

// Short forms of schema nodes.
var (
	textNode    = &schema.Node{Type: "string"}
	intNode     = &schema.Node{Type: "integer"}
	numberNode  = &schema.Node{Type: "number"}
	boolNode    = &schema.Node{Type: "boolean"}
	bytesNode   = &schema.Node{Type: "string", Format: "byte"}
	timeNode    = &schema.Node{Type: "string", Format: "date-time"}
	openNode    = &schema.Node{Type: "object", PreserveUnknown: true}
	textMapNode = &schema.Node{Type: "object", AdditionalProperties: textNode}
)

type properties map[string]*schema.Node

func objectNode(p properties) *schema.Node { return &schema.Node{Type: "object", Properties: p} }

func listNode(items *schema.Node) *schema.Node { return &schema.Node{Type: "array", Items: items} }

var metadataNode = objectNode(properties{
	"name": textNode, "namespace": textNode, "uid": textNode, "creationTimestamp": timeNode,
	"labels": textMapNode, "annotations": textMapNode, "generation": intNode,
})

// instanceNode is the schema of the instance in tests.
var instanceNode = objectNode(properties{
	"apiVersion": textNode, "kind": textNode, "metadata": metadataNode,
	"spec": objectNode(properties{
		"num": intNode, "ratio": numberNode, "flag": boolNode, "word": textNode, "name": textNode, "gone": textNode,
		"m": textMapNode, "labels": textMapNode, "pairs": textMapNode, "o": openNode, "nulls": openNode,
		"names": listNode(textNode), "list": listNode(textNode), "deep": objectNode(properties{"inner": intNode}),
		"port": {IntOrString: true}, "odd": {}, "closed": listNode(nil),
		"ref": objectNode(properties{"name": textNode, "namespace": textNode, "a-b": textNode, "in": textNode}),
	}),
})

func instanceData() map[string]any {
	return map[string]any{
		"apiVersion": "demo.example.com/v1alpha1",
		"kind":       "Core",
		"metadata":   map[string]any{"name": "r", "namespace": "demo", "uid": "8e0c6a0e", "creationTimestamp": "2024-02-29T01:00:00Z"},
		"spec": map[string]any{
			"num": int64(3), "ratio": int64(2), "flag": true, "word": "word", "name": "her",
			"m": map[string]any{"k": "v"}, "labels": map[string]any{"app": "web"}, "pairs": map[string]any{"a": "b", "c": "d"},
			"o":     map[string]any{"a": map[string]any{"x": int64(1), "l": []any{int64(1), int64(2)}}, "keep": "k"},
			"nulls": map[string]any{"deep": map[string]any{"list": []any{int64(1), map[string]any{"k": nil}}}},
			"names": []any{"b", "a"}, "list": []any{"a"},
			"port": int64(80), "odd": "odd",
			"ref": map[string]any{"name": "n", "namespace": "ns", "a-b": "dash", "in": "inside"},
		},
	}
}

// testEnv declares the instance as schema, and more variables.
func testEnv(t testing.TB, more ...Variable) *Env {
	t.Helper()
	types := NewTypes()
	env, err := NewEnv(types, append([]Variable{{"schema", types.Declare("schema", instanceNode)}}, more...)...)
	if err != nil {
		t.Fatal(err)
	}
	return env
}

func testVars(t testing.TB) Activation {
	t.Helper()
	vars, err := celgo.NewActivation(map[string]any{"schema": NewTypes().Value(instanceNode, instanceData())})
	if err != nil {
		t.Fatal(err)
	}
	return vars
}
