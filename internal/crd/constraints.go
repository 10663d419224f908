package crd

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/utils/ptr"
)

// bounds compares numbers, lengths and counts.
func (r *Report) bounds(path string, old, next *apiextensionsv1.JSONSchemaProps) {
	lower(r, path, "Minimum", old.Minimum, next.Minimum, false)
	upper(r, path, "Maximum", old.Maximum, next.Maximum)
	r.exclusive(path, "Minimum", old.ExclusiveMinimum, next.ExclusiveMinimum)
	r.exclusive(path, "Maximum", old.ExclusiveMaximum, next.ExclusiveMaximum)
	lower(r, path, "MinLength", old.MinLength, next.MinLength, true)
	upper(r, path, "MaxLength", old.MaxLength, next.MaxLength)
	lower(r, path, "MinItems", old.MinItems, next.MinItems, true)
	upper(r, path, "MaxItems", old.MaxItems, next.MaxItems)
	lower(r, path, "MinProperties", old.MinProperties, next.MinProperties, true)
	upper(r, path, "MaxProperties", old.MaxProperties, next.MaxProperties)
	switch was, is := old.MultipleOf, next.MultipleOf; {
	case was == nil && is == nil:
	case was == nil:
		r.breaking(path, "MultipleOf constraint %s was added", number(*is))
	case is == nil:
		r.harmless(path, "MultipleOf constraint %s was removed", number(*was))
	case *was != *is:
		r.breaking(path, "MultipleOf was changed from %s to %s", number(*was), number(*is))
	}
}

// lower compares a lower bound. A count cannot be below zero, so a bound of zero binds nothing.
func lower[N int64 | float64](r *Report, path, what string, old, next *N, isCount bool) {
	switch {
	case old == nil && next == nil:
	case old == nil:
		r.add(path, !isCount || *next > 0, "%s constraint %s was added", what, number(*next))
	case next == nil:
		r.harmless(path, "%s constraint %s was removed", what, number(*old))
	case *next > *old:
		r.breaking(path, "%s was increased from %s to %s", what, number(*old), number(*next))
	case *next < *old:
		r.harmless(path, "%s was decreased from %s to %s", what, number(*old), number(*next))
	}
}

func upper[N int64 | float64](r *Report, path, what string, old, next *N) {
	switch {
	case old == nil && next == nil:
	case old == nil:
		r.breaking(path, "%s constraint %s was added", what, number(*next))
	case next == nil:
		r.harmless(path, "%s constraint %s was removed", what, number(*old))
	case *next > *old:
		r.harmless(path, "%s was increased from %s to %s", what, number(*old), number(*next))
	case *next < *old:
		r.breaking(path, "%s was decreased from %s to %s", what, number(*old), number(*next))
	}
}

func (r *Report) exclusive(path, what string, old, next bool) {
	if old != next {
		r.add(path, next, "%s was changed from exclusive %t to exclusive %t", what, old, next)
	}
}

// number writes a bound without an exponent, except where nobody would count the zeros.
func number[N int64 | float64](n N) string {
	if math.Abs(float64(n)) < 1e21 {
		return strconv.FormatFloat(float64(n), 'f', -1, 64)
	}
	return strconv.FormatFloat(float64(n), 'g', -1, 64)
}

// immutability is the rule that the marker immutable=true writes. It looks only at updates that change a value, so no stored object can break it.
const immutability = "self == oldSelf"

// rules compares CEL rules by their text.
func (r *Report) rules(path string, old, next *apiextensionsv1.JSONSchemaProps) {
	left := slices.Clone(old.XValidations)
	for _, rule := range next.XValidations {
		i := slices.IndexFunc(left, func(o apiextensionsv1.ValidationRule) bool { return o.Rule == rule.Rule })
		if i < 0 {
			r.add(path, rule.Rule != immutability || ptr.Deref(rule.OptionalOldSelf, false), "Validation rule %s was added", rule.Rule)
			continue
		}
		was := left[i]
		left = slices.Delete(left, i, i+1)
		switch {
		case ptr.Deref(was.OptionalOldSelf, false) != ptr.Deref(rule.OptionalOldSelf, false):
			r.breaking(path, "Validation rule %s was changed to run at other times", rule.Rule)
		case !reflect.DeepEqual(was, rule):
			r.harmless(path, "Message of validation rule %s was changed", rule.Rule)
		}
	}
	for _, rule := range left {
		r.harmless(path, "Validation rule %s was removed", rule.Rule)
	}
	sameRules := func(a, b apiextensionsv1.ValidationRule) bool { return a.Rule == b.Rule }
	if len(left) == 0 && len(old.XValidations) == len(next.XValidations) && !slices.EqualFunc(old.XValidations, next.XValidations, sameRules) {
		r.harmless(path, "Order of validation rules was changed")
	}
}

// logic compares the keywords that combine schemas. Generated CRDs have none; what is in a CRD edited by hand is compared as a whole.
func (r *Report) logic(path string, old, next *apiextensionsv1.JSONSchemaProps) {
	r.combination(path, "allOf", old.AllOf, next.AllOf)
	r.combination(path, "anyOf", old.AnyOf, next.AnyOf)
	r.combination(path, "oneOf", old.OneOf, next.OneOf)
	r.combination(path, "not", old.Not, next.Not)
	r.combination(path, "patternProperties", old.PatternProperties, next.PatternProperties)
	r.combination(path, "dependencies", old.Dependencies, next.Dependencies)
	r.combination(path, "definitions", old.Definitions, next.Definitions)
	r.combination(path, "additionalItems", old.AdditionalItems, next.AdditionalItems)
	r.combination(path, "$ref", old.Ref, next.Ref)
}

func (r *Report) combination(path, keyword string, old, next any) {
	was, is := canonical(old), canonical(next)
	switch {
	case was == is:
	case was == "null":
		r.breaking(path, "%s was added", keyword)
	case is == "null":
		r.harmless(path, "%s was removed", keyword)
	default:
		r.breaking(path, "%s was changed", keyword)
	}
}

// canonical writes a part of a schema so that equal meaning is equal text; empty is null.
func canonical(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprintf("%#v", v)
	}
	if text := string(raw); text == "[]" || text == "{}" {
		return "null"
	}
	return textOf(&apiextensionsv1.JSON{Raw: raw})
}

// list compares what makes a list: its elements, their uniqueness, their keys.
func (r *Report) list(path string, old, next *apiextensionsv1.JSONSchemaProps) {
	if old.UniqueItems != next.UniqueItems {
		r.add(path, next.UniqueItems, "UniqueItems was changed from %t to %t", old.UniqueItems, next.UniqueItems)
	}
	if was, is := listType(old), listType(next); was != is {
		// An atomic list takes every list; the others ask for elements or keys that differ.
		r.add(path, is != "atomic", "List type changed from %s to %s", was, is)
	}
	if !slices.Equal(old.XListMapKeys, next.XListMapKeys) {
		// With fewer keys, elements that differed may be the same.
		fewer := listType(next) == "map" && slices.ContainsFunc(old.XListMapKeys, func(key string) bool { return !slices.Contains(next.XListMapKeys, key) })
		r.add(path, fewer, "List map keys changed from [%s] to [%s]", strings.Join(old.XListMapKeys, " "), strings.Join(next.XListMapKeys, " "))
	}
	r.items(path, cmp.Or(old.Items, &apiextensionsv1.JSONSchemaPropsOrArray{}), cmp.Or(next.Items, &apiextensionsv1.JSONSchemaPropsOrArray{}))
}

func listType(s *apiextensionsv1.JSONSchemaProps) string { return ptr.Deref(s.XListType, "atomic") }

func (r *Report) items(path string, old, next *apiextensionsv1.JSONSchemaPropsOrArray) {
	r.combination(path, "items", old.JSONSchemas, next.JSONSchemas)
	switch {
	case old.Schema == nil && next.Schema == nil:
	case next.Schema == nil:
		r.breaking(path, "Items schema was removed")
	case old.Schema == nil:
		r.harmless(path, "Items schema was added")
	default:
		r.schema(path+"[]", old.Schema, next.Schema)
	}
}
