package graph

import (
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"kro.run/kro/schema"
)

var textSchema = &schema.Node{Type: "string"}

// selectorSchema is that of metav1.LabelSelector.
var selectorSchema = &schema.Node{Type: "object", Properties: map[string]*schema.Node{
	"matchLabels": {Type: "object", AdditionalProperties: textSchema},
	"matchExpressions": {Type: "array", Items: &schema.Node{Type: "object", Required: []string{"key", "operator"}, Properties: map[string]*schema.Node{
		"key":      textSchema,
		"operator": textSchema,
		"values":   {Type: "array", Items: textSchema},
	}}},
}}

// readReference reads which objects a node refers to.
func (c *compiler) readReference(d *draft) {
	src, root := d.ref, d.path+"."+d.refField
	at := d.at(fieldBody, root)
	d.node.Kind, d.node.Ref = Reference, &Ref{}
	if src.Selector != nil {
		d.node.Kind, d.node.Collection = Selection, true
	}
	c.resolveKind(d, src.APIVersion, src.Kind, at)

	attempt := fmt.Sprintf("%sfailed to extract CEL expressions from schema for %s %s: ", d.attempt(), d.noun, d.name)
	w := &walker{c: c, role: roleReference, at: at, root: root + ".metadata", attempt: attempt}
	if (src.Name != "") == (src.Selector != nil) {
		c.report(d.at(fieldBody, w.root), Diagnostic{Code: CodeShape,
			Message: fmt.Sprintf("%sinvalid %s of %s %q: exactly one of name or selector must be provided", d.attempt(), d.refField, d.noun, d.name)})
	} else if d.refField == "watch" && src.Selector == nil {
		c.report(d.at(fieldBody, w.root), Diagnostic{Code: CodeShape, Hint: "use ref for one object by name",
			Message: fmt.Sprintf("%sinvalid watch of %s %q: a selector must be provided", d.attempt(), d.noun, d.name)})
	}
	if d.node.Dynamic {
		kind := &walker{c: c, role: roleReference, at: at, root: root, attempt: attempt}
		d.node.Ref.APIVersion = kind.walk(src.APIVersion, textSchema, "apiVersion")
		d.node.Ref.Kind = kind.walk(src.Kind, textSchema, "kind")
		d.sites, w.at = append(d.sites, kind.sites...), kind.at
	}
	if src.Name != "" {
		d.node.Ref.Name = w.walk(src.Name, textSchema, "name")
	}
	if src.Namespace != "" {
		d.node.Ref.Namespace = w.walk(src.Namespace, textSchema, "namespace")
	}
	if src.Selector != nil {
		d.node.Ref.Selector = c.readSelector(d, w)
	}
	var namespace any
	if src.Namespace != "" {
		namespace = src.Namespace
	}
	c.checkNamespace(d, namespace, d.at(fieldBody, w.root+".namespace"))
	d.sites = append(d.sites, w.sites...)
}

// readSelector reads a selector, which is a whole expression or a label selector with expressions in it. What is no
// selector must not get through: a field misspelt would select everything.
func (c *compiler) readSelector(d *draft, w *walker) *Value {
	at := d.at(fieldBody, w.root+".selector")
	refuse := func(problem any, hint string) *Value {
		c.report(at, Diagnostic{Code: CodeShape, Hint: hint,
			Message: fmt.Sprintf("%sinvalid %s of %s %q: invalid selector: %v", d.attempt(), d.refField, d.noun, d.name, problem)})
		return nil
	}
	decoded, err := decode(d.ref.Selector)
	if err != nil {
		return refuse(err, "")
	}
	switch decoded := decoded.(type) {
	case string:
		if _, err := wholeExpression(decoded); err != nil {
			return refuse(err, "write a label selector, or one ${...} that returns one")
		}
	case map[string]any:
		if problem := literalSelectorFault(decoded); problem != nil {
			return refuse(problem, "")
		}
	default:
		return refuse("expected a label selector or an expression, got "+jsonType(decoded), "use {} to select every object of the kind")
	}
	return w.walk(decoded, selectorSchema, "selector")
}

// literalSelectorFault checks the selector rules that a schema does not tell, as far as the parts they need are literal.
func literalSelectorFault(selector map[string]any) error {
	expressions, _ := selector["matchExpressions"].([]any)
	for _, e := range expressions {
		requirement, _ := e.(map[string]any)
		key, _ := requirement["key"].(string)
		operator, _ := requirement["operator"].(string)
		if operator == "" || key == "" {
			return errors.New("matchExpressions need key and operator")
		}
	}
	if hasAnyExpression(selector) {
		return nil // what is computed is known at run time only
	}
	var typed metav1.LabelSelector
	if runtime.DefaultUnstructuredConverter.FromUnstructured(selector, &typed) != nil {
		return nil // the walk along the schema tells it better
	}
	_, err := metav1.LabelSelectorAsSelector(&typed)
	return err
}

func hasAnyExpression(value any) bool {
	switch value := value.(type) {
	case string:
		return hasExpression(value)
	case []any:
		for _, v := range value {
			if hasAnyExpression(v) {
				return true
			}
		}
	case map[string]any:
		for _, v := range value {
			if hasAnyExpression(v) {
				return true
			}
		}
	}
	return false
}
