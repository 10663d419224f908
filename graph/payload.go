package graph

import (
	"fmt"
	"slices"
	"strings"

	"kro.run/kro/api/v1alpha1"
)

// What a node is, and which modifiers it may have.

// chooseReference takes what the node reads from the field that the document has for it. Of two the compiler reads the
// first and reports both.
func (d *draft) chooseReference() {
	d.ref, d.refField = d.src.Ref, "externalRef"
	if d.noun == "node" {
		d.refField = "ref"
	}
	if d.ref == nil && d.src.Watch != nil {
		d.ref, d.refField = d.src.Watch, "watch"
	}
}

// payloads are the fields given that say what the node is.
func (d *draft) payloads() []string {
	var given []string
	for _, p := range []struct {
		name  string
		given bool
	}{
		{d.refField, d.ref != nil},
		{"watch", d.src.Watch != nil && d.refField != "watch"},
		{"template", d.src.Template != nil},
		{"def", d.src.Definition != nil},
		{"patch", d.src.Patch != nil},
		{"graph", d.src.Graph != nil},
	} {
		if p.given {
			given = append(given, p.name)
		}
	}
	return given
}

// readBody reads what the node is. Of several things given, which is a fault, it reads one, so that others can tell what
// else is wrong.
func (c *compiler) readBody(d *draft) {
	switch {
	case d.src.Template != nil:
		d.node.Kind = Template
	case d.ref != nil:
		d.node.Kind = Reference
	case d.src.Definition != nil:
		d.node.Kind = Definition
	case d.src.Patch != nil:
		d.node.Kind = Patch
	case d.src.Graph != nil:
		d.node.Kind = Subgraph
	}
	payloads := d.payloads()
	c.checkPayloads(d, payloads)
	c.checkModifiers(d, payloads)
	switch d.node.Kind {
	case Template:
		c.readManifest(d, "template", d.src.Template)
		c.readDeletionPolicy(d)
	case Patch:
		c.readManifest(d, "patch", d.src.Patch)
	case Reference:
		c.readReference(d)
	case Definition:
		c.readDefinition(d)
	}
}

// refuseCombination reports fields that do not go together.
func (c *compiler) refuseCombination(d *draft, problem, hint string) {
	c.report(d.at(fieldBody, d.path), Diagnostic{Code: CodeShape, Hint: hint,
		Message: fmt.Sprintf("%sinvalid combination of %s fields: %s %q: %s", d.attempt(), d.noun, d.noun, d.name, problem)})
}

func (c *compiler) checkPayloads(d *draft, payloads []string) {
	if len(payloads) == 1 {
		return
	}
	if slices.Equal(payloads, []string{"externalRef", "template"}) {
		c.refuseCombination(d, "cannot use externalRef with template", "give each an id of its own")
		return
	}
	problem, hint := "exactly one of template, ref, def, graph, patch must be set", ""
	if c.src.Door == DefinitionDoor {
		problem = "exactly one of template or externalRef must be provided (or, instead of them, def or patch)"
	}
	if len(payloads) > 1 {
		problem += ", got " + strings.Join(payloads, ", ")
		hint = "give each an id of its own"
	}
	c.refuseCombination(d, problem, hint)
}

// forbidden are the modifiers that a kind of node cannot have, with what to do instead.
var forbidden = map[NodeKind][]modifier{
	Reference: {{"forEach", "a selector reads many objects at once"}},
	Patch:     {{"readyWhen", "a patch has no value; read the object with a reference and give that a readyWhen"}},
	Subgraph:  {{"forEach", onChildren}, {"includeWhen", onChildren}, {"readyWhen", onChildren}},
}

const onChildren = "put it on the nodes of the graph"

type modifier struct{ name, hint string }

func (d *draft) has(modifier string) bool {
	switch modifier {
	case "forEach":
		return len(d.src.ForEach) > 0
	case "includeWhen":
		return len(d.src.IncludeWhen) > 0
	}
	return len(d.src.ReadyWhen) > 0
}

// checkModifiers reports fields that the node cannot have.
func (c *compiler) checkModifiers(d *draft, payloads []string) {
	if len(payloads) != 1 {
		return // what the node is cannot be known
	}
	refuse := func(name string, given bool, hint string) {
		if given {
			c.refuseCombination(d, fmt.Sprintf("cannot use %s with %s", payloads[0], name), hint)
		}
	}
	for _, m := range forbidden[d.node.Kind] {
		refuse(m.name, d.has(m.name), m.hint)
	}
	if d.node.Kind != Template {
		const hint = "only an object that a template creates can be kept after deletion, or have fields that are left to others"
		refuse("deletionPolicy", d.src.DeletionPolicy != "", hint)
		refuse("externalFields", len(d.src.ExternalFields) > 0, hint)
	}
}

// readDeletionPolicy reads what becomes of the objects of a template.
func (c *compiler) readDeletionPolicy(d *draft) {
	switch d.src.DeletionPolicy {
	case "", v1alpha1.DeletionPolicyDelete:
	case v1alpha1.DeletionPolicyOrphaned:
		d.node.Orphan = true
	default:
		c.report(d.at(fieldBody, d.path+".deletionPolicy"), Diagnostic{Code: CodeShape,
			Message: fmt.Sprintf("%sdeletionPolicy %q is neither %s nor %s", d.attempt(), d.src.DeletionPolicy, v1alpha1.DeletionPolicyDelete, v1alpha1.DeletionPolicyOrphaned)})
	}
}
