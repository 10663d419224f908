package schema

import "sync"

// The leaves that most schemas consist of, shared by all.
var (
	text     = &Node{Type: "string"}
	dateTime = &Node{Type: "string", Format: "date-time"}
	boolean  = &Node{Type: "boolean"}
	int64s   = &Node{Type: "integer", Format: "int64"}
	texts    = &Node{Type: "array", Items: text}
	textMap  = &Node{Type: "object", AdditionalProperties: text}
	anything = &Node{PreserveUnknown: true}
	anyField = &Node{Type: "object", PreserveUnknown: true}
)

var common = func() map[shape]*Node {
	table := map[shape]*Node{}
	for _, n := range []*Node{
		text, dateTime, boolean, int64s, texts, textMap, anything, anyField,
		{Type: "integer"}, {Type: "integer", Format: "int32"}, {Type: "number"}, {Type: "string", Format: "byte"}, {IntOrString: true},
	} {
		table[shapeOf(n)] = n
	}
	return table
}()

// ObjectMeta is the schema of metav1.ObjectMeta as Kubernetes publishes it: what every object has below metadata. A CRD does not describe it.
func ObjectMeta() *Node { return objectMeta() }

var objectMeta = sync.OnceValue(func() *Node {
	return &Node{Type: "object", Properties: map[string]*Node{
		"annotations":                textMap,
		"creationTimestamp":          dateTime,
		"deletionGracePeriodSeconds": int64s,
		"deletionTimestamp":          dateTime,
		"finalizers":                 texts,
		"generateName":               text,
		"generation":                 int64s,
		"labels":                     textMap,
		"managedFields":              {Type: "array", Items: managedFieldsEntry()},
		"name":                       text,
		"namespace":                  text,
		"ownerReferences":            {Type: "array", Items: ownerReference()},
		"resourceVersion":            text,
		"selfLink":                   text,
		"uid":                        text,
	}}
})

func ownerReference() *Node {
	return &Node{
		Type: "object", Required: []string{"apiVersion", "kind", "name", "uid"},
		Properties: map[string]*Node{
			"apiVersion": text, "kind": text, "name": text, "uid": text, "blockOwnerDeletion": boolean, "controller": boolean,
		},
	}
}

func managedFieldsEntry() *Node {
	return &Node{Type: "object", Properties: map[string]*Node{
		"apiVersion": text, "fieldsType": text, "fieldsV1": anyField, "manager": text, "operation": text, "subresource": text, "time": dateTime,
	}}
}
