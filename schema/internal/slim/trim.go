package slim

import (
	"bytes"
	"encoding/json"
)

// Trim drops the component schemas that no kind of the document can reach: lists, options of verbs, bodies of subresources.
func (d *Document) Trim() {
	reached := map[string]json.RawMessage{}
	var reach func(name string)
	reach = func(name string) {
		source, exists := d.Schemas[name]
		if _, seen := reached[name]; seen || !exists {
			return
		}
		reached[name] = source
		for _, ref := range references(source) {
			reach(ref)
		}
	}
	for _, kind := range d.Kinds {
		reach(kind.Schema)
	}
	d.Schemas = reached
}

// references lists the components that a reduced schema refers to.
func references(source []byte) []string {
	var names []string
	const mark = `"$ref":"#/components/schemas/`
	for {
		_, rest, found := bytes.Cut(source, []byte(mark))
		if !found {
			return names
		}
		name, rest, _ := bytes.Cut(rest, []byte{'"'})
		names = append(names, string(name))
		source = rest
	}
}
