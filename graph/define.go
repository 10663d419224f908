package graph

import (
	"fmt"

	"kro.run/kro/schema"
)

// Values that a document computes, and the types that they have: those of literals are plain to see, those of
// expressions are known once these are checked.

// readDefinition reads the values of a def.
func (c *compiler) readDefinition(d *draft) {
	root := d.path + ".def"
	at := d.at(fieldBody, root)
	decoded, err := decode(d.src.Definition)
	if err != nil {
		c.report(at, Diagnostic{Code: CodeShape, Message: fmt.Sprintf("%sfailed to unmarshal def: %s", d.attempt(), err)})
		return
	}
	values, isObject := decoded.(map[string]any)
	if !isObject {
		c.report(at, Diagnostic{Code: CodeShape, Message: fmt.Sprintf("%sdef must be an object, got %s", d.attempt(), jsonType(decoded)),
			Hint: "give the value a name: def: {value: …}"})
		return
	}
	w := &walker{c: c, role: roleDefinition, at: at, root: root, attempt: fmt.Sprintf("%sfailed to read def: ", d.attempt())}
	d.node.Body = w.walk(values, nil, "")
	d.sites = append(d.sites, w.sites...)
}

// typeNode types what a node computes, once its expressions are checked.
func (c *compiler) typeNode(d *draft) {
	switch {
	case d.typed:
		return
	case d.node.Kind == Subgraph:
		d.node.Schema = childrenOf(d)
	case d.node.Kind == Definition && d.node.Body != nil:
		d.node.Schema = c.resultOf(d.node.Body)
	}
	d.typed = true
}

// anything is the schema of what is not known.
func anything() *schema.Node { return &schema.Node{PreserveUnknown: true} }

// resultOf is the schema of what a value evaluates to. Expressions are told to render for it, so that bytes find their
// way through JSON.
func (c *compiler) resultOf(v *Value) *schema.Node {
	switch v.form {
	case formLiteral:
		return literalSchema(v.literal)
	case formMap:
		names, values := make([]string, len(v.fields)), make([]*schema.Node, len(v.fields))
		computed := false
		for i, f := range v.fields {
			names[i], values[i] = f.name, c.resultOf(f.value)
			computed = computed || f.key != nil
		}
		return objectSchema(names, values, computed)
	case formList:
		items := make([]*schema.Node, len(v.items))
		for i, item := range v.items {
			items[i] = c.resultOf(item)
		}
		return &schema.Node{Type: "array", Items: common(items)}
	}
	if v.expr == nil {
		return anything()
	}
	result, _ := c.types.Result(v.expr.Type()) // what has no JSON form is reported with the expression
	v.target = result
	return result
}

func literalSchema(value any) *schema.Node {
	switch value := value.(type) {
	case map[string]any:
		names := sortedKeys(value)
		values := make([]*schema.Node, len(names))
		for i, name := range names {
			values[i] = literalSchema(value[name])
		}
		return objectSchema(names, values, false)
	case []any:
		items := make([]*schema.Node, len(value))
		for i, item := range value {
			items[i] = literalSchema(item)
		}
		return &schema.Node{Type: "array", Items: common(items)}
	case nil:
		return anything()
	case float64:
		return &schema.Node{Type: "number"}
	}
	return &schema.Node{Type: jsonType(value)}
}

// objectSchema is that of an object that is spelled out: a struct when all its keys can be written after a dot, so that
// misspelt ones are found; else a map.
func objectSchema(names []string, values []*schema.Node, computed bool) *schema.Node {
	if len(names) == 0 {
		return &schema.Node{Type: "object", PreserveUnknown: true}
	}
	properties := make(map[string]*schema.Node, len(names))
	for i, name := range names {
		if computed || !identifier.MatchString(name) {
			return &schema.Node{Type: "object", AdditionalProperties: common(values)}
		}
		properties[name] = values[i]
	}
	return &schema.Node{Type: "object", Properties: properties}
}

// childrenOf is the schema of an inline graph as others see it: an object with what each child is under its id.
func childrenOf(d *draft) *schema.Node {
	if d.inline == nil {
		return nil
	}
	children := make(map[string]*schema.Node, len(d.inline.nodes))
	for _, child := range d.inline.nodes {
		if child.node.Kind == Patch {
			continue
		}
		n := child.node.Schema
		if n == nil {
			n = anything()
		}
		if child.node.Kind == Selection || len(child.src.ForEach) > 0 {
			n = &schema.Node{Type: "array", Items: n}
		}
		children[child.src.ID] = n
	}
	return &schema.Node{Type: "object", Properties: children}
}
