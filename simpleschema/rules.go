package simpleschema

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/environment"
)

// The API server refuses a CRD with one rule, or all rules together, above these estimated costs. It does not export them from a package without a server in it.
const (
	maxRuleCost  = 10_000_000
	maxTotalCost = 100_000_000
)

// compilation is a schema in the API server's own form, with its rules compiled.
type compilation struct {
	structural *structuralschema.Structural
	rules      []cel.CompilationResult
}

// compilations keeps what was compiled for a schema under its JSON: a named type with a rule is used in many places.
type compilations map[string]*compilation

// of gives the compilation of a schema. The error says that the schema is not a structural one.
func (c compilations) of(s *apiextensionsv1.JSONSchemaProps) (*compilation, error) {
	key, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("schema cannot be written as JSON: %w", err)
	}
	if known, ok := c[string(key)]; ok {
		return known, nil
	}
	var internal apiextensions.JSONSchemaProps
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(s.DeepCopy(), &internal, nil); err != nil {
		return nil, fmt.Errorf("schema cannot be converted: %w", err)
	}
	structural, err := structuralschema.NewStructural(&internal)
	if err != nil {
		return nil, fmt.Errorf("schema is not structural: %w", err)
	}
	result := &compilation{structural: structural}
	if len(s.XValidations) > 0 {
		// The environment for stored expressions knows every function that some supported API server knows.
		env := environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion())
		result.rules, err = cel.Compile(structural, model.SchemaDeclType(structural, false), celconfig.PerCallLimit, env, cel.StoredExpressionsEnvLoader())
		if err != nil {
			return nil, fmt.Errorf("validation rules of type %s cannot be compiled: %w", s.Type, err)
		}
	}
	c[string(key)] = result
	return result, nil
}

// evaluate runs the rules of a schema and of all schemas inside it on a value, as on creation.
func (c *compilation) evaluate(value any) field.ErrorList {
	validator := cel.NewValidator(c.structural, false, celconfig.PerCallLimit)
	if validator == nil {
		return nil
	}
	errs, _ := validator.Validate(context.Background(), nil, c.structural, value, value, celconfig.RuntimeCELCostBudget)
	return errs
}

// checkRules checks what depends on the place of a rule in the whole schema: how often it runs, and whether the old value can be told.
func (b *builder) checkRules(path string, root *apiextensionsv1.JSONSchemaProps) {
	w := &ruleWalk{builder: b}
	w.visit(place{path: path, bounded: true, times: 1, hasOld: true}, root)
	if len(b.faults) == 0 && w.total > maxTotalCost {
		b.fault(path, fmt.Sprintf("all validations together cost too much: estimated %s the cost that the API server allows", factor(w.total, maxTotalCost)), costHint)
	}
}

const costHint = "give the lists they look at maxItems, and the texts maxLength"

// ruleWalk goes through a finished schema and adds the cost of its rules up.
type ruleWalk struct {
	*builder
	total uint64
}

// place is where in the schema the walk is.
type place struct {
	path string
	// times is how often a value can stand here, when a bound is known.
	times   uint64
	bounded bool
	// hasOld tells whether the API server can pair a value here with its old one.
	hasOld bool
}

func (w *ruleWalk) visit(at place, s *apiextensionsv1.JSONSchemaProps) {
	if len(s.XValidations) > 0 {
		w.rules(at, s)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		property := s.Properties[name]
		w.visit(place{path: join(at.path, name), times: at.times, bounded: at.bounded, hasOld: at.hasOld}, &property)
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		w.visit(place{path: at.path, hasOld: at.hasOld}, s.AdditionalProperties.Schema)
	}
	if s.Items != nil && s.Items.Schema != nil {
		below := place{path: at.path, hasOld: at.hasOld && s.XListType != nil && *s.XListType == listMap}
		if s.MaxItems != nil {
			below.times, below.bounded = times(at.times, uint64(max(0, *s.MaxItems))), at.bounded
		}
		w.visit(below, s.Items.Schema)
	}
}

func (w *ruleWalk) rules(at place, s *apiextensionsv1.JSONSchemaProps) {
	c, err := w.compiled.of(s)
	if err != nil {
		w.fault(at.path, err.Error(), "")
		return
	}
	for i, rule := range c.rules {
		text := s.XValidations[i].Rule
		cost := times(rule.MaxCost, rule.MaxCardinality)
		if at.bounded {
			cost = times(rule.MaxCost, at.times)
		}
		w.total = plus(w.total, cost)
		switch {
		case rule.UsesOldSelf && !at.hasOld:
			w.fault(at.path, fmt.Sprintf("validation %q uses oldSelf, but elements of a list have an old value only with listType=map", text),
				"immutable=true is such a validation")
		case cost > maxRuleCost:
			w.fault(at.path, fmt.Sprintf("validation %q costs too much: estimated %s the cost that the API server allows", text, factor(cost, maxRuleCost)), costHint)
		}
	}
}

func factor(cost, limit uint64) string {
	if cost/limit > 100 {
		return "more than 100 times"
	}
	return fmt.Sprintf("%.1f times", float64(cost)/float64(limit))
}

// times multiplies, and stays at the highest number where the product would not fit.
func times(a, b uint64) uint64 {
	if a != 0 && math.MaxUint64/a < b {
		return math.MaxUint64
	}
	return a * b
}

func plus(a, b uint64) uint64 {
	if math.MaxUint64-a < b {
		return math.MaxUint64
	}
	return a + b
}
