package cel

import (
	"encoding/json"
	"testing"

	celgo "github.com/google/cel-go/cel"

	"kro.run/kro/schema"
)

func TestSchemaOfStatusFields(t *testing.T) {
	tree := objectNode(properties{"name": textNode})
	tree.Properties["children"] = listNode(tree)
	env := testEnv(t)
	types := env.Types()
	env, err := env.With(
		Variable{"more", types.Declare("more", objectNode(properties{}))},
		Variable{"half", types.Declare("half", &schema.Node{Type: "object", Properties: properties{"known": textNode}, PreserveUnknown: true})},
		Variable{"tree", types.Declare("tree", tree)},
		Variable{"secret", types.Declare("secret", objectNode(properties{"data": bytesNode, "wait": {Type: "string", Format: "duration"}}))},
		Variable{"list", celgo.ListType(types.Declare("item", objectNode(properties{"metadata": metadataNode})))})
	if err != nil {
		t.Fatal(err)
	}
	const anyValue = `{"x-kubernetes-preserve-unknown-fields":true}`
	for source, want := range map[string]string{
		"schema.spec.num + 1":                   `{"type":"integer"}`,
		"uint(3)":                               `{"type":"integer"}`,
		"schema.spec.ratio":                     `{"type":"number"}`,
		"schema.spec.flag":                      `{"type":"boolean"}`,
		"'pre-' + (schema.spec.word)":           `{"type":"string"}`,
		"b'x'":                                  `{"type":"string","format":"byte"}`,
		"schema.metadata.creationTimestamp":     `{"description":"Timestamp representing a creation time","type":"string","format":"date-time"}`,
		"null":                                  `{"description":"null type - any value allowed","x-kubernetes-preserve-unknown-fields":true}`,
		"schema.spec.o.anything":                anyValue,
		"schema.spec.port":                      anyValue,
		"schema.spec.o":                         `{"type":"object","x-kubernetes-preserve-unknown-fields":true}`,
		"schema.spec.names":                     `{"type":"array","items":{"type":"string"}}`,
		"{'one': 1}":                            `{"type":"object","additionalProperties":{"type":"integer"}}`,
		"schema.spec.names.map(n, {'n': n})":    `{"type":"array","items":{"type":"object","additionalProperties":{"type":"string"}}}`,
		"list.map(i, {'n': i.metadata.name})":   `{"type":"array","items":{"type":"object","additionalProperties":{"type":"string"}}}`,
		"schema.spec.?word":                     `{"type":"string"}`,
		"schema.spec.?names[0].orValue('none')": `{"type":"string"}`,
		"duration('1h')":                        `{"description":"unknown CEL type: duration","x-kubernetes-preserve-unknown-fields":true}`,
		"ip('::1')":                             `{"description":"unknown CEL type: net.IP","x-kubernetes-preserve-unknown-fields":true}`,
		"quantity('1')":                         `{"type":"object","additionalProperties":true}`,
		"schema.spec.ref":                       `{"type":"object","properties":{"a-b":{"type":"string"},"in":{"type":"string"},"name":{"type":"string"},"namespace":{"type":"string"}}}`,
		"half":                                  `{"type":"object","properties":{"known":{"type":"string"}},"x-kubernetes-preserve-unknown-fields":true}`,
		"more":                                  `{"type":"object"}`,
		"tree":                                  `{"type":"object","properties":{"children":{"type":"array","items":` + anyValue + `},"name":{"type":"string"}}}`,
		"[schema.spec.deep]":                    `{"type":"array","items":{"type":"object","properties":{"inner":{"type":"integer"}}}}`,
		"secret":                                `{"type":"object","properties":{"data":{"type":"string","format":"byte"},"wait":` + anyValue + `}}`,
		"list[0].metadata.creationTimestamp":    `{"description":"Timestamp representing a creation time","type":"string","format":"date-time"}`,
		"list.map(i, i.metadata).map(m, m)[0].?labels": `{"type":"object","additionalProperties":{"type":"string"}}`,
	} {
		x, err := env.Compile(source, Status)
		if err != nil {
			t.Errorf("Compile(%s): %v", source, err)
			continue
		}
		got, err := json.Marshal(types.Schema(x.Type()))
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != want {
			t.Errorf("%s\n got %s\nwant %s", source, got, want)
		}
	}
}
