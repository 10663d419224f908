package graph

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"

	"kro.run/kro/schema"
)

var crdKind = kschema.GroupVersionKind{
	Group: apiextensionsv1.GroupName, Version: "v1", Kind: "CustomResourceDefinition",
}

// reservedPrefixes are those of the labels and annotations that kro keeps its books with.
var reservedPrefixes = []string{"kro.run/", "internal.kro.run/"}

// readTemplate reads the body of the objects that a node creates.
func (c *compiler) readTemplate(d *draft) {
	root := d.path + ".template"
	at := d.at(fieldBody, root)
	decoded, err := decode(d.src.Template)
	if err != nil {
		c.report(at, Diagnostic{Code: CodeShape, Message: fmt.Sprintf("%sfailed to unmarshal resource %s: %s", d.attempt(), d.src.ID, err)})
		return
	}
	body, isObject := decoded.(map[string]any)
	if !isObject {
		c.report(at, Diagnostic{Code: CodeShape,
			Message: fmt.Sprintf("%sresource %s is not a valid Kubernetes object: expected an object, got %s", d.attempt(), d.src.ID, jsonType(decoded))})
		return
	}
	body, named := c.checkObject(d, body, at)
	if named {
		c.resolveKind(d, body["apiVersion"].(string), body["kind"].(string), at)
	}
	w := &walker{c: c, role: roleTemplate, at: at, root: root,
		attempt: fmt.Sprintf("%sfailed to extract CEL expressions from schema for resource %s: ", d.attempt(), d.src.ID)}
	if d.node.GVK == crdKind {
		w.refuse = func(path string) string {
			if strings.HasPrefix(path, "metadata.") || strings.HasPrefix(path, "metadata[") {
				return ""
			}
			return fmt.Sprintf("CEL expressions in CRDs are only supported for metadata fields, found in path %q, resource %s", path, d.src.ID)
		}
	}
	d.node.Body = w.walk(body, bodySchema(d), "")
	d.sites = append(d.sites, w.sites...)
	if metadata, isMap := body["metadata"].(map[string]any); isMap {
		c.checkMetadata(d, metadata)
	}
}

// bodySchema is the schema that a template is read by. A CRD is read without one, since its schemas are data; and where
// the kind is not known, at least the metadata is.
func bodySchema(d *draft) *schema.Node {
	if d.kind != nil && d.node.GVK != crdKind {
		return d.kind.Schema
	}
	return &schema.Node{Type: "object", AnyAdditional: true, Properties: map[string]*schema.Node{"metadata": schema.ObjectMeta()}}
}

// checkObject reports what keeps a template from being an object. It returns the rest of the template, and whether its
// kind is named.
func (c *compiler) checkObject(d *draft, body map[string]any, at place) (rest map[string]any, named bool) {
	rest, named = maps.Clone(body), true
	refuse := func(field, problem, hint string) {
		_, there := body[field]
		if !there {
			problem = "not found"
		}
		delete(rest, field)
		c.report(place{node: at.node, field: at.field, path: joinField(at.path, field)}, Diagnostic{Code: CodeShape, Hint: hint,
			Message: fmt.Sprintf("%sresource %s is not a valid Kubernetes object: %s field %s", d.attempt(), d.src.ID, field, problem)})
	}
	for _, field := range []string{"apiVersion", "kind"} {
		if _, isText := body[field].(string); !isText {
			named = false
			refuse(field, "is not a string", "")
		}
	}
	if _, isMap := body["metadata"].(map[string]any); !isMap {
		refuse("metadata", "is not a map", "write metadata field by field; the name, each label and each annotation may be an expression")
	}
	return rest, named
}

// checkMetadata reports identities that cannot be as written: what only the server would refuse later, or what would
// make two items the same object.
func (c *compiler) checkMetadata(d *draft, metadata map[string]any) {
	at := d.at(fieldBody, d.path+".template.metadata")
	c.checkName(d, metadata, at)
	at.path = d.path + ".template.metadata.namespace"
	c.checkNamespace(d, metadata["namespace"], at)
	for _, field := range []string{"labels", "annotations"} {
		keys, _ := metadata[field].(map[string]any)
		for _, key := range sortedKeys(keys) {
			if prefix := reservedPrefix(key); prefix != "" {
				at.path = joinField(d.path+".template.metadata."+field, key)
				c.report(at, Diagnostic{Code: CodeIdentity,
					Message: fmt.Sprintf("%sinvalid %s for resource %q: %s. %s with prefix %q are reserved for internal use",
						d.attempt(), strings.TrimSuffix(field, "s"), d.src.ID, key, field, prefix),
					Hint: "choose another prefix"})
			}
		}
	}
	c.checkIdentity(d)
}

func reservedPrefix(key string) string {
	for _, prefix := range reservedPrefixes {
		if strings.HasPrefix(key, prefix) {
			return prefix
		}
	}
	return ""
}

func (c *compiler) checkName(d *draft, metadata map[string]any, at place) {
	if name, there := metadata["name"]; there && name != nil && name != "" {
		return
	}
	fault := Diagnostic{Code: CodeIdentity,
		Message: fmt.Sprintf("%sresource %q must set metadata.name", d.attempt(), d.src.ID),
		Hint:    "a name that is unique per instance: ${schema.metadata.name}-" + strings.ToLower(d.src.ID)}
	if _, generated := metadata["generateName"]; generated {
		fault.Hint = "generateName has no place in server-side apply, which must know the object: " + fault.Hint
	}
	at.path += ".name"
	c.report(at, fault)
}

func (c *compiler) checkNamespace(d *draft, namespace any, at place) {
	if d.kind == nil {
		return
	}
	text, isText := namespace.(string)
	blank := namespace == nil || isText && strings.TrimSpace(text) == ""
	switch {
	case !d.kind.Namespaced && !blank:
		c.report(at, Diagnostic{Code: CodeIdentity,
			Message: fmt.Sprintf("%sresource %q is cluster-scoped and must not set metadata.namespace", d.attempt(), d.src.ID)})
	case d.kind.Namespaced && c.clusterScoped() && (blank || !isText) && d.node.Kind != Selection:
		c.report(at, Diagnostic{Code: CodeIdentity,
			Message: fmt.Sprintf("%sresource %q is namespaced and must set metadata.namespace when the instance CRD is cluster-scoped", d.attempt(), d.src.ID)})
	}
}

// checkIdentity reports expressions that leave an object without name or namespace. (Iterators are checked once the
// names in expressions are known.)
func (c *compiler) checkIdentity(d *draft) {
	for _, s := range d.identitySites() {
		if s.path == "metadata.namespace" && !c.clusterScoped() {
			continue // without one the object goes to the namespace of the instance
		}
		if parsed, err := c.parse(s.text); err == nil && parsed.UsesOmit {
			s.bad = true
			c.report(s.at, Diagnostic{Code: CodeIdentity,
				Message: fmt.Sprintf("%sresource %q: omit() cannot be used at path %q — the field is required and must resolve to a concrete value",
					d.attempt(), d.src.ID, s.path)})
		}
	}
}

// identitySites are the expressions that make up the name and, for namespaced kinds, the namespace of an object.
func (d *draft) identitySites() []*site {
	return slices.Collect(func(yield func(*site) bool) {
		for _, s := range d.sites {
			isName := s.path == "metadata.name"
			isNamespace := s.path == "metadata.namespace" && (d.kind == nil || d.kind.Namespaced)
			if s.role == roleTemplate && (isName || isNamespace) && !yield(s) {
				return
			}
		}
	})
}
