package schema

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"

	"kro.run/kro/schema/internal/slim"
)

// Document is the OpenAPI v3 document of one group version, as an API server publishes it. It keeps the reduced text of the component schemas and
// converts those that the kinds asked for can reach; components are shared between kinds. It is a Resolver, safe for concurrent use.
type Document struct {
	served map[kschema.GroupVersionKind]slim.Kind

	mu      sync.Mutex
	sources map[string]json.RawMessage
	nodes   map[string]*component
	kinds   map[kschema.GroupVersionKind]*Kind
	convert converter
	// added names the components converted for the kind at hand, fault why it cannot be converted.
	added []string
	fault error
}

// component is a component schema being converted or converted.
type component struct {
	node *Node
	// open while it is being converted; referred when something below referred back to it meanwhile.
	open, referred bool
}

// ParseDocument reads an OpenAPI v3 document as served below /openapi/v3. The bytes are not kept.
func ParseDocument(openAPIV3JSON []byte) (*Document, error) {
	reduced, err := slim.Reduce(openAPIV3JSON)
	if err != nil {
		return nil, err
	}
	return newDocument(reduced), nil
}

func newDocument(reduced *slim.Document) *Document {
	d := &Document{
		served:  make(map[kschema.GroupVersionKind]slim.Kind, len(reduced.Kinds)),
		sources: reduced.Schemas,
		nodes:   map[string]*component{},
		kinds:   map[kschema.GroupVersionKind]*Kind{},
	}
	for _, kind := range reduced.Kinds {
		d.served[kind.GVK()] = kind
	}
	d.convert = converter{reference: d.reference, openObjects: true}
	return d
}

// Kind gives a kind that the document's paths serve. Lists and subresources are not kinds of their own. It fails with a *NotFoundError for a kind
// that is not served, and with another error when the kind's schema cannot be read.
func (d *Document) Kind(gvk kschema.GroupVersionKind) (*Kind, error) {
	served, known := d.served[gvk]
	if !known {
		return nil, &NotFoundError{GVK: gvk}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if kind := d.kinds[gvk]; kind != nil {
		return kind, nil
	}
	root, err := d.root(served.Schema)
	if err != nil {
		return nil, fmt.Errorf("reading the schema of %s: %w", Name(gvk), err)
	}
	kind := newKind(gvk, served.Resource, served.Namespaced, root)
	d.kinds[gvk] = kind
	return kind, nil
}

// root converts a component with all that it reaches; if any of it cannot be read, nothing of the attempt is kept.
func (d *Document) root(name string) (*Node, error) {
	if name == "" {
		return anyField, nil
	}
	d.added, d.fault = nil, nil
	root := d.reference(name)
	d.convert.finish()
	if d.fault != nil {
		for _, name := range d.added {
			delete(d.nodes, name)
		}
		d.convert = converter{reference: d.reference, openObjects: true}
		return nil, d.fault
	}
	for _, name := range d.added {
		delete(d.sources, name)
	}
	return root, nil
}

// Resolve is Kind.
func (d *Document) Resolve(gvk kschema.GroupVersionKind) (*Kind, error) { return d.Kind(gvk) }

// reference converts a component, or gives the node that it is or will be.
func (d *Document) reference(ref string) *Node {
	name := strings.TrimPrefix(ref, "#/components/schemas/")
	if known := d.nodes[name]; known != nil {
		known.referred = known.referred || known.open
		return known.node
	}
	source, exists := d.sources[name]
	if !exists {
		return anything
	}
	c := &component{node: &Node{}, open: true}
	d.nodes[name] = c
	d.added = append(d.added, name)
	var props apiextensionsv1.JSONSchemaProps
	if err := json.Unmarshal(source, &props); err != nil {
		d.fault = fmt.Errorf("component schema %s: %w", name, err)
		return c.node
	}
	c.close(d.convert.node(&props), &d.convert)
	return c.node
}

// close ends a conversion. When something already holds the node that stands in for the result, that one takes over its content.
func (c *component) close(result *Node, convert *converter) {
	c.open = false
	switch {
	case !c.referred:
		c.node = result
	case result == c.node: // defined as itself: says nothing
		c.node.PreserveUnknown = true
	case convert.waits(result): // its content is not known yet
		convert.postpone(c.node, merge{from: []*Node{result}, props: &apiextensionsv1.JSONSchemaProps{}})
	default:
		*c.node = *result
	}
}

var _ Resolver = (*Document)(nil)
