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

// readManifest reads the objects that a node creates (template), or the part of one that it contributes (patch).
func (c *compiler) readManifest(d *draft, field string, data []byte) {
	root := d.path + "." + field
	at := d.at(fieldBody, root)
	decoded, err := decode(data)
	if err != nil {
		c.report(at, Diagnostic{Code: CodeShape, Message: fmt.Sprintf("%sfailed to unmarshal %s %s: %s", d.attempt(), d.noun, d.name, err)})
		return
	}
	body, isObject := decoded.(map[string]any)
	if !isObject {
		c.report(at, Diagnostic{Code: CodeShape,
			Message: fmt.Sprintf("%s%s %s is not a valid Kubernetes object: expected an object, got %s", d.attempt(), d.noun, d.name, jsonType(decoded))})
		return
	}
	if d.node.Kind == Patch {
		c.checkContribution(d, body, at)
	} else {
		c.readExternalFields(d, body)
	}
	body, named := c.checkObject(d, body, at)
	if named {
		c.resolveKind(d, body["apiVersion"].(string), body["kind"].(string), at)
	}
	w := &walker{c: c, role: roleTemplate, at: at, root: root,
		attempt: fmt.Sprintf("%sfailed to extract CEL expressions from schema for %s %s: ", d.attempt(), d.noun, d.name)}
	if d.node.GVK == crdKind {
		w.refuse = func(path string) string {
			if strings.HasPrefix(path, "metadata.") || strings.HasPrefix(path, "metadata[") {
				return ""
			}
			return fmt.Sprintf("CEL expressions in CRDs are only supported for metadata fields, found in path %q, %s %s", path, d.noun, d.name)
		}
	}
	d.node.Body = w.walk(body, bodySchema(d), "")
	d.node.Body.guardBooks()
	d.sites = append(d.sites, w.sites...)
	if metadata, isMap := body["metadata"].(map[string]any); isMap {
		c.checkMetadata(d, metadata, root+".metadata")
	}
}

// bodySchema is the schema that a template is read by. A CRD is read without one, since its schemas are data; and where
// the kind is not known, at least the metadata is.
func bodySchema(d *draft) *schema.Node {
	if d.kind != nil && d.node.GVK != crdKind {
		return d.kind.Schema
	}
	return &schema.Node{Type: "object", AnyAdditional: true, Properties: map[string]*schema.Node{
		"apiVersion": textSchema, "kind": textSchema, "metadata": schema.ObjectMeta(),
	}}
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
			Message: fmt.Sprintf("%s%s %s is not a valid Kubernetes object: %s field %s", d.attempt(), d.noun, d.name, field, problem)})
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
func (c *compiler) checkMetadata(d *draft, metadata map[string]any, root string) {
	at := d.at(fieldBody, root)
	c.checkName(d, metadata, at)
	at.path = root + ".namespace"
	c.checkNamespace(d, metadata["namespace"], at)
	for _, field := range books {
		keys, _ := metadata[field].(map[string]any)
		for _, key := range sortedKeys(keys) {
			if prefix := reservedPrefix(key); prefix != "" {
				at.path = joinField(root+"."+field, key)
				c.report(at, Diagnostic{Code: CodeIdentity,
					Message: fmt.Sprintf("%sinvalid %s for %s %q. %s",
						d.attempt(), strings.TrimSuffix(field, "s"), d.noun, d.name, reservedFor(field, prefix)),
					Hint: "choose another prefix than that of " + key})
			}
		}
	}
	c.checkIdentity(d)
}

func (c *compiler) checkName(d *draft, metadata map[string]any, at place) {
	if name, there := metadata["name"]; there && name != nil && name != "" {
		return
	}
	fault := Diagnostic{Code: CodeIdentity,
		Message: fmt.Sprintf("%s%s %q must set metadata.name", d.attempt(), d.noun, d.name),
		Hint:    "a name that is unique per instance: ${schema.metadata.name}-" + strings.ToLower(d.src.ID)}
	if c.src.Door == GraphDoor {
		fault.Hint = "a name that is unique in its namespace"
	}
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
			Message: fmt.Sprintf("%s%s %q is cluster-scoped and must not set metadata.namespace", d.attempt(), d.noun, d.name)})
	case d.kind.Namespaced && c.clusterScoped() && (blank || !isText) && d.node.Kind != Selection:
		c.report(at, Diagnostic{Code: CodeIdentity,
			Message: fmt.Sprintf("%s%s %q is namespaced and must set metadata.namespace when the instance CRD is cluster-scoped", d.attempt(), d.noun, d.name)})
	}
}

// checkIdentity reports expressions that leave an object without name or namespace. (Iterators are checked once the
// names in expressions are known.)
func (c *compiler) checkIdentity(d *draft) {
	if c.env.NoOmit {
		return // refused wherever it stands
	}
	for _, s := range d.identitySites() {
		if s.path == "metadata.namespace" && !c.clusterScoped() {
			continue // without one the object goes to the namespace of the instance
		}
		if parsed, err := c.parse(s.text); err == nil && parsed.UsesOmit {
			s.bad = true
			c.report(s.at, Diagnostic{Code: CodeIdentity,
				Message: fmt.Sprintf("%s%s %q: omit() cannot be used at path %q — the field is required and must resolve to a concrete value",
					d.attempt(), d.noun, d.name, s.path)})
		}
	}
}

// identitySites are the expressions that make up the name, the kind where it is computed, and, for namespaced kinds, the
// namespace of an object.
func (d *draft) identitySites() []*site {
	return slices.Collect(func(yield func(*site) bool) {
		for _, s := range d.sites {
			isName := s.path == "metadata.name" || s.path == "kind" || s.path == "apiVersion"
			isNamespace := s.path == "metadata.namespace" && (d.kind == nil || d.kind.Namespaced)
			if s.role == roleTemplate && (isName || isNamespace) && !yield(s) {
				return
			}
		}
	})
}
