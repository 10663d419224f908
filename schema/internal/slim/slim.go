package slim

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	kschema "k8s.io/apimachinery/pkg/runtime/schema"
)

// Document is what is left of an OpenAPI v3 document.
type Document struct {
	// Kinds that the document's paths serve and that have a schema, in order of their names.
	Kinds []Kind `json:"kinds"`
	// Schemas are the reduced component schemas by component name.
	Schemas map[string]json.RawMessage `json:"schemas"`
}

// Kind is one served kind.
type Kind struct {
	Group    string `json:"group,omitempty"`
	Version  string `json:"version"`
	Kind     string `json:"kind"`
	Resource string `json:"resource"`
	// Namespaced tells that objects live below a namespace's path.
	Namespaced bool `json:"namespaced,omitempty"`
	// Schema names the component; empty when no component says that it describes this kind.
	Schema string `json:"schema,omitempty"`
}

// GVK names the kind.
func (k Kind) GVK() kschema.GroupVersionKind {
	return kschema.GroupVersionKind{Group: k.Group, Version: k.Version, Kind: k.Kind}
}

// Reduce reads an OpenAPI v3 document as an API server publishes it. The result shares no memory with the source.
func Reduce(openAPI []byte) (*Document, error) {
	r := reader{
		cursor:   cursor{src: openAPI},
		schemas:  map[string]json.RawMessage{},
		describe: map[kschema.GroupVersionKind]string{},
		served:   map[kschema.GroupVersionKind]endpoint{},
	}
	if err := r.document(); err != nil {
		return nil, fmt.Errorf("reading an OpenAPI v3 document of %d bytes: %w", len(openAPI), err)
	}
	document := &Document{Schemas: r.schemas, Kinds: make([]Kind, 0, len(r.served))}
	for gvk, at := range r.served {
		document.Kinds = append(document.Kinds, Kind{
			Group: gvk.Group, Version: gvk.Version, Kind: gvk.Kind,
			Resource: at.resource, Namespaced: at.namespaced, Schema: r.describe[gvk],
		})
	}
	slices.SortFunc(document.Kinds, func(a, b Kind) int {
		return cmp.Or(strings.Compare(a.Group, b.Group), strings.Compare(a.Version, b.Version), strings.Compare(a.Kind, b.Kind))
	})
	return document, nil
}

type reader struct {
	cursor
	schemas map[string]json.RawMessage
	// describe gives the component of a kind: the first by name when several say that they describe it.
	describe map[kschema.GroupVersionKind]string
	served   map[kschema.GroupVersionKind]endpoint
}

func (r *reader) document() error {
	return r.object(func(name []byte) error {
		switch {
		case string(name) == "paths" && r.peek() == '{':
			return r.object(r.path)
		case string(name) == "components" && r.peek() == '{':
			return r.object(func(name []byte) error {
				if string(name) == "schemas" && r.peek() == '{' {
					return r.object(r.component)
				}
				return r.skip()
			})
		}
		return r.skip()
	})
}

func (r *reader) skip() error {
	_, err := r.value()
	return err
}

// component reduces one component schema and notes which kinds it describes.
func (r *reader) component(rawName []byte) error {
	name, start := string(rawName), r.pos
	var out bytes.Buffer
	if err := r.writeSchema(&out, 0); err != nil {
		return fmt.Errorf("component schema %s: %w", name, err)
	}
	r.schemas[name] = bytes.Clone(out.Bytes())

	source := r.src[start:r.pos]
	if !bytes.Contains(source, []byte(`"x-kubernetes-group-version-kind"`)) {
		return nil
	}
	again := cursor{src: source}
	return again.object(func(keyword []byte) error {
		if string(keyword) != "x-kubernetes-group-version-kind" || again.peek() != '[' {
			_, err := again.value()
			return err
		}
		return again.array(func() error {
			gvk, err := again.kind()
			if known, taken := r.describe[gvk]; !taken || name < known {
				r.describe[gvk] = name
			}
			return err
		})
	})
}

// kind reads an x-kubernetes-group-version-kind object.
func (c *cursor) kind() (gvk kschema.GroupVersionKind, err error) {
	raw, err := c.value()
	if err != nil {
		return gvk, err
	}
	var wire struct{ Group, Version, Kind string }
	if err := json.Unmarshal(raw, &wire); err != nil {
		return gvk, fmt.Errorf("reading x-kubernetes-group-version-kind %s: %w", raw, err)
	}
	return kschema.GroupVersionKind(wire), nil
}
