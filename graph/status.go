package graph

import (
	"fmt"
	"reflect"
	"slices"

	celgo "github.com/google/cel-go/cel"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"kro.run/kro/cel"
	"kro.run/kro/schema"
)

// Status fields that kro writes itself.
const (
	stateField      = "state"
	conditionsField = "conditions"
	graphField      = "graph"
)

// statusDraft is the status that the author declared, as far as it is compiled.
type statusDraft struct {
	projection    *Projection
	sites         []*site
	conditions    []*site
	hasConditions bool
	// state is what the author declared for the field that kro writes: it is checked, and never projected.
	state *projected
	// properties are the inferred ones.
	properties map[string]apiextensionsv1.JSONSchemaProps
}

const buildingStatus = "failed to build instance status schema: "

// readStatus reads the projection and the conditions, and checks the names in their expressions.
func (c *compiler) readStatus() {
	c.status = &statusDraft{projection: &Projection{root: &projected{}}}
	if c.src.API == nil {
		return
	}
	tree, err := decodeObject(c.src.API.Status)
	if err != nil {
		c.reportAPI(fieldStatus, "spec.schema.status", Diagnostic{Code: CodeShape, Message: "failed to unmarshal status schema: " + err.Error()})
		return
	}
	if conditions, declared := tree[conditionsField]; declared {
		c.readConditionList(conditions)
	}
	reader := &statusReader{c: c, at: place{node: apiPlace, field: fieldStatus}}
	root := c.status.projection.root
	for _, name := range sortedKeys(tree) {
		if name == conditionsField {
			continue
		}
		place := reader.read(tree[name], joinField("", name))
		switch {
		case place == nil:
		case name == stateField:
			c.status.state = place
		default:
			root.names, root.places = append(root.names, name), append(root.places, place)
		}
	}
	c.status.sites = reader.sites
	for _, s := range c.status.sites {
		s.bad = !c.resolveStatus(s)
	}
}

type statusReader struct {
	c     *compiler
	at    place
	sites []*site
}

// read reads one value of the projection; nil when there is nothing in it to project.
func (r *statusReader) read(value any, path string) *projected {
	r.at.ordinal++
	r.at.path = joinPath("spec.schema.status", path)
	switch value := value.(type) {
	case map[string]any:
		p := &projected{path: path}
		for _, name := range sortedKeys(value) {
			if place := r.read(value[name], joinField(path, name)); place != nil {
				p.names, p.places = append(p.names, name), append(p.places, place)
			}
		}
		return p.unlessEmpty()
	case []any:
		p := &projected{path: path, list: true}
		for i, item := range value {
			if place := r.read(item, joinIndex(path, i)); place != nil {
				p.places = append(p.places, place)
			}
		}
		return p.unlessEmpty()
	case string:
		return r.leaf(value, path)
	}
	r.literal(path, jsonType(value))
	return nil
}

func (p *projected) unlessEmpty() *projected {
	if len(p.places) == 0 {
		return nil
	}
	return p
}

func (r *statusReader) leaf(text, path string) *projected {
	segments, err := cel.Scan(text)
	if err != nil {
		r.c.report(r.at, Diagnostic{Code: CodeExpression,
			Message: fmt.Sprintf("%sfailed to extract CEL expressions from status: failed to parse %q at path %q: %s", buildingStatus, text, path, err)})
		return nil
	}
	if !cel.HasExpression(segments) {
		r.literal(path, "string")
		return nil
	}
	s := &site{role: roleStatus, at: r.at, path: path, text: cel.Join(segments), joined: !cel.Standalone(segments)}
	r.sites = append(r.sites, s)
	return &projected{path: path, site: s}
}

func (r *statusReader) literal(path, got string) {
	r.c.report(r.at, Diagnostic{Code: CodeShape,
		Message: fmt.Sprintf("%sfailed to extract CEL expressions from status: status fields without expressions are not supported: [%s] (got a literal %s)", buildingStatus, path, got),
		Hint:    "a status field shows what an expression over a resource or schema gives, in ${...}; a type is inferred, not declared"})
}

// resolveStatus tells whether the names in a status expression are ones it may use.
func (c *compiler) resolveStatus(s *site) bool {
	attempt := fmt.Sprintf("%sstatus field %q expression %q: ", buildingStatus, s.path, s.text)
	if !c.read(s, attempt) || !c.checkScope(s, c.visible(0), func(problem string) string { return attempt + problem }) {
		return false
	}
	if len(s.references) == 0 && !s.parsed.UsesOmit {
		c.report(s.at, Diagnostic{Code: CodeShape,
			Message: fmt.Sprintf("failed to create instance node: instance status field must refer to a resource or schema: %s", joinPath("status", s.path))})
		return false
	}
	return true
}

// checkStatus compiles the projection and infers its schema.
func (c *compiler) checkStatus() {
	sound := true
	for _, s := range c.status.sites {
		if !s.bad {
			c.compileStatus(s)
		}
		sound = sound && !s.bad
	}
	if !sound {
		return
	}
	c.checkState()
	c.status.projection.root.settle()
	if props := c.infer(c.status.projection.root); props != nil {
		c.status.properties = props.Properties
	}
}

func (c *compiler) compileStatus(s *site) {
	env, err := c.scopeOf(s)
	if err == nil {
		s.expr, err = env.CompileParsed(s.parsed, s.role.use())
	}
	if err != nil {
		s.bad = true
		c.reportExpression(s.at, fmt.Sprintf("%sfailed to type-check status expression %q at path %q: ", buildingStatus, s.text, s.path), err)
	}
}

// checkState refuses a field state of the author that could not even be in the place of kro's.
func (c *compiler) checkState() {
	state := c.status.state
	if state == nil || state.site != nil && slices.Contains([]celgo.Kind{celgo.StringKind, celgo.DynKind}, state.site.expr.Type().Kind()) {
		return
	}
	c.reportAPI(fieldStatus, "spec.schema.status.state", Diagnostic{Code: CodeType,
		Message: buildingStatus + "status.state is written by kro and is a string, no other type can be declared for it",
		Hint:    "use another name for the field"})
}

// settle takes the compiled expressions over.
func (p *projected) settle() {
	if p.site != nil {
		p.expr, p.site = p.site.expr, nil
	}
	for _, place := range p.places {
		place.settle()
	}
}

// infer returns the schema of a place, nil when there is a fault in it.
func (c *compiler) infer(p *projected) *apiextensionsv1.JSONSchemaProps {
	if p.expr != nil {
		props := c.types.Schema(p.expr.Type())
		p.target = schema.FromJSONSchema(props)
		return props
	}
	sound := true
	var items *apiextensionsv1.JSONSchemaProps
	object := &apiextensionsv1.JSONSchemaProps{Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{}}
	for i, place := range p.places {
		props := c.infer(place)
		switch {
		case props == nil:
			sound = false
		case !p.list:
			object.Properties[p.names[i]] = *props
		case items == nil:
			items = props
		default:
			merged, conflict := mergeItems(items, props)
			if conflict != "" {
				c.reportMixed(p, place, conflict)
				return nil
			}
			items = merged
		}
	}
	if !sound {
		return nil
	}
	if p.list {
		return &apiextensionsv1.JSONSchemaProps{Type: "array", Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: items}}
	}
	return object
}

func (c *compiler) reportMixed(list, item *projected, conflict string) {
	c.reportAPI(fieldStatus, joinPath("spec.schema.status", item.path), Diagnostic{Code: CodeType,
		Message: fmt.Sprintf("%sfailed to generate status schema from CEL types: the elements of list %q have different types: at %q %s", buildingStatus, list.path, item.path, conflict),
		Hint:    "a list has one type of elements: convert them, as with string(…), or use an object"})
}

// mergeItems finds the one schema that elements of both schemas have; conflict says why there is none.
func mergeItems(a, b *apiextensionsv1.JSONSchemaProps) (merged *apiextensionsv1.JSONSchemaProps, conflict string) {
	switch {
	case reflect.DeepEqual(a, b):
		return a, ""
	case isOpen(a):
		return a, ""
	case isOpen(b):
		return b, ""
	case a.Type != b.Type:
		return nil, fmt.Sprintf("is %s where %s came before", b.Type, a.Type)
	case a.Type == "array" && a.Items != nil && b.Items != nil && a.Items.Schema != nil && b.Items.Schema != nil:
		items, conflict := mergeItems(a.Items.Schema, b.Items.Schema)
		if conflict != "" {
			return nil, conflict
		}
		return &apiextensionsv1.JSONSchemaProps{Type: "array", Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: items}}, ""
	case a.Type == "object" && a.AdditionalProperties == nil && b.AdditionalProperties == nil:
		return mergeObjects(a, b)
	}
	return nil, fmt.Sprintf("is another kind of %s than before", b.Type)
}

func mergeObjects(a, b *apiextensionsv1.JSONSchemaProps) (*apiextensionsv1.JSONSchemaProps, string) {
	merged := a.DeepCopy()
	if merged.Properties == nil {
		merged.Properties = map[string]apiextensionsv1.JSONSchemaProps{}
	}
	if isTrue(b.XPreserveUnknownFields) {
		merged.XPreserveUnknownFields = b.XPreserveUnknownFields
	}
	for _, name := range sortedKeys(b.Properties) {
		theirs := b.Properties[name]
		ours, both := merged.Properties[name]
		if !both {
			merged.Properties[name] = theirs
			continue
		}
		one, conflict := mergeItems(&ours, &theirs)
		if conflict != "" {
			return nil, fmt.Sprintf("field %q %s", name, conflict)
		}
		merged.Properties[name] = *one
	}
	return merged, ""
}

func isOpen(p *apiextensionsv1.JSONSchemaProps) bool {
	return p.Type == "" && isTrue(p.XPreserveUnknownFields)
}

func isTrue(flag *bool) bool { return flag != nil && *flag }

// statusProps is the status schema of the CRD: what the author declared and what kro writes itself.
func (c *compiler) statusProps() apiextensionsv1.JSONSchemaProps {
	text, integer := apiextensionsv1.JSONSchemaProps{Type: "string"}, apiextensionsv1.JSONSchemaProps{Type: "integer"}
	properties := make(map[string]apiextensionsv1.JSONSchemaProps, len(c.status.properties)+3)
	for name, props := range c.status.properties {
		properties[name] = props
	}
	properties[stateField] = text
	properties[conditionsField] = apiextensionsv1.JSONSchemaProps{
		Type: "array",
		Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &apiextensionsv1.JSONSchemaProps{
			Type: "object",
			Properties: map[string]apiextensionsv1.JSONSchemaProps{
				"type": text, "status": text, "reason": text, "message": text, "lastTransitionTime": text, "observedGeneration": integer,
			},
		}},
	}
	if _, declared := properties[graphField]; !declared && !c.env.NoStatusGraph {
		open := true
		properties[graphField] = apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: &open}
	}
	return apiextensionsv1.JSONSchemaProps{Type: "object", Properties: properties}
}
