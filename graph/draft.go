package graph

import (
	"errors"
	"fmt"
	"strings"

	kschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	"kro.run/kro/schema"
)

// draft is a node on its way from the document to the program.
type draft struct {
	src   *NodeSource
	index int
	// frame is the index of the frame that the node is in.
	frame int
	// path is the place of the node in the document; name is its id, qualified by those of the inline graphs around it;
	// noun is what the author calls it.
	path, name, noun string
	node             *Node
	// ref is what the node reads, nil when it reads nothing; refField is where the document says so.
	ref      *RefSource
	refField string
	// inline is the frame of the node's inline graph; nil when it has none.
	inline *frame
	// typed tells that what the node computes has been typed, or cannot be.
	typed bool
	// void marks an entry of the document that holds nothing; it is only there to keep its number.
	void bool
	// kind is nil while it is not known, and stays nil when it cannot be: then nothing is said about the fields of the
	// node's objects, neither here nor where others refer to them.
	kind *schema.Kind
	// iterators are the names of forEach entries, in order.
	iterators []string
	// badIterators are those whose names cannot stay: what an expression means by them cannot be known.
	badIterators []string
	// sites are all expressions of the node, in document order.
	sites []*site
	// dependencies are the nodes referred to; include those that includeWhen refers to, and firm those that are needed
	// whichever branch a ternary takes. Those of deferred are referred to in defer(…).
	dependencies, include, firm, deferred map[int]bool
}

// attempt begins the messages about the form of a node.
func (d *draft) attempt() string {
	if d.noun == "node" {
		return fmt.Sprintf("node %q: ", d.name)
	}
	return fmt.Sprintf("failed to build resource %q: ", d.name)
}

func (d *draft) at(field int, path string) place {
	return place{node: d.index, field: field, path: path}
}

// readNode reads everything of a node but the types of its expressions.
func (c *compiler) readNode(d *draft) {
	if d.void {
		return
	}
	c.readForEach(d)
	c.readConditions(d, roleIncludeWhen, "includeWhen", fieldIncludeWhen, d.src.IncludeWhen)
	c.readBody(d)
	c.readConditions(d, roleReadyWhen, "readyWhen", fieldReadyWhen, d.src.ReadyWhen)
	for _, s := range d.sites {
		s.frame = d.frame
	}
}

func (c *compiler) readForEach(d *draft) {
	for i, entry := range d.src.ForEach {
		if len(entry) != 1 {
			continue // reported with the names
		}
		for name, text := range entry {
			at := d.at(fieldForEach, fmt.Sprintf("%s.forEach[%d].%s", d.path, i, name))
			at.ordinal = i
			attempt := fmt.Sprintf("%sfailed to parse forEach dimensions: invalid forEach expression for dimension %q: ", d.attempt(), name)
			d.iterators = append(d.iterators, name)
			if s := c.readExpression(roleForEach, at, name, text, attempt); s != nil {
				s.iterator = name
				d.sites = append(d.sites, s)
			}
		}
	}
}

func (c *compiler) readConditions(d *draft, r role, name string, field int, texts []string) {
	for i, text := range texts {
		at := d.at(field, fmt.Sprintf("%s.%s[%d]", d.path, name, i))
		at.ordinal = i
		attempt := fmt.Sprintf("%sfailed to parse %s expressions: ", d.attempt(), name)
		if s := c.readExpression(r, at, fmt.Sprintf("%s[%d]", name, i), text, attempt); s != nil {
			d.sites = append(d.sites, s)
		}
	}
}

// resolveKind finds the kind of a node's objects, unless it is computed.
func (c *compiler) resolveKind(d *draft, apiVersion, kind string, at place) {
	if c.src.Door == GraphDoor && (hasExpression(apiVersion) || hasExpression(kind)) {
		d.node.Dynamic = true
		return
	}
	gvk, err := parseGVK(apiVersion, kind)
	if err != nil {
		c.report(at, Diagnostic{Code: CodeShape,
			Message: fmt.Sprintf("%sfailed to extract GVK from %s %s: %s", d.attempt(), d.noun, d.name, err)})
		return
	}
	d.node.GVK = gvk
	known, err := c.lookUp(gvk)
	if err != nil {
		fault := Diagnostic{Code: CodeKind,
			Message: fmt.Sprintf("%sfailed to get schema for %s %s: %s", d.attempt(), d.noun, d.name, err)}
		var missing *schema.NotFoundError
		if errors.As(err, &missing) {
			fault.Missing = gvk
			fault.Hint = fmt.Sprintf("install the CRD of this kind, or correct apiVersion and kind; the %s is tried again when the kind appears", c.document())
		} else {
			fault.Transient = true
		}
		c.report(at, fault)
		return
	}
	d.kind = known
	d.node.Schema = known.Schema
	d.node.Namespaced = known.Namespaced
	d.node.Resource = gvk.GroupVersion().WithResource(known.Resource)
}

// lookUp asks the resolver for each kind once, so that all nodes see the same answer.
func (c *compiler) lookUp(gvk kschema.GroupVersionKind) (*schema.Kind, error) {
	if answer, asked := c.kinds[gvk]; asked {
		return answer.kind, answer.err
	}
	var answer lookup
	if c.env.Kinds == nil {
		answer.err = &schema.NotFoundError{GVK: gvk}
	} else {
		answer.kind, answer.err = c.env.Kinds.Resolve(gvk)
	}
	if answer.err == nil && answer.kind == nil {
		answer.err = &schema.NotFoundError{GVK: gvk}
	}
	c.kinds[gvk] = answer
	return answer.kind, answer.err
}

type lookup struct {
	kind *schema.Kind
	err  error
}

// parseGVK reads the literal identity of a kind.
func parseGVK(apiVersion, kind string) (kschema.GroupVersionKind, error) {
	var none kschema.GroupVersionKind
	if strings.Contains(apiVersion, "${") {
		return none, fmt.Errorf("invalid apiVersion format %q: must be a literal, the kind of a resource cannot be computed", apiVersion)
	}
	if strings.Contains(kind, "${") {
		return none, fmt.Errorf("invalid kind %q: must be a literal, the kind of a resource cannot be computed", kind)
	}
	gv, err := kschema.ParseGroupVersion(apiVersion)
	if err != nil {
		return none, fmt.Errorf("invalid apiVersion format %q: %w", apiVersion, err)
	}
	if problems := validation.IsDNS1035Label(gv.Version); len(problems) > 0 {
		return none, fmt.Errorf("invalid apiVersion format %q: version: %s", apiVersion, problems[0])
	}
	if problems := validation.IsDNS1123Subdomain(gv.Group); gv.Group != "" && len(problems) > 0 {
		return none, fmt.Errorf("invalid apiVersion format %q: group: %s", apiVersion, problems[0])
	}
	if problems := validation.IsDNS1035Label(strings.ToLower(kind)); len(problems) > 0 {
		return none, fmt.Errorf("invalid kind %q: %s (must be a valid DNS-1035 label when lowercased)", kind, problems[0])
	}
	return gv.WithKind(kind), nil
}
