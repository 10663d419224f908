package crd

import (
	"maps"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiserver/pkg/cel"
	"k8s.io/utils/ptr"
)

// statusGraph is the one status field that kro itself adds to what the author declares, unless it is told not to.
const statusGraph = "status.graph"

// schemas compares the root schemas of a version.
func (r *Report) schemas(old, next *apiextensionsv1.JSONSchemaProps) { r.schema("", old, next) }

// schema compares two schemas of one place. It knows every keyword: TestCompareNoticesEveryKeyword fails when one is added and not compared here.
func (r *Report) schema(path string, old, next *apiextensionsv1.JSONSchemaProps) {
	r.prose(path, old, next)
	r.null(path, old, next)
	if kindOf(old) != kindOf(next) {
		r.add(path, !widens(path, old, next), "Type changed from %s to %s", kindOf(old), kindOf(next))
		return
	}
	r.openness(path, old, next)
	r.value(path, old, next)
	r.bounds(path, old, next)
	r.rules(path, old, next)
	r.logic(path, old, next)
	r.list(path, old, next)
	r.properties(path, old, next)
	r.mapValues(path, old, next)
}

// kindOf names what values a schema takes in terms of JSON types.
func kindOf(s *apiextensionsv1.JSONSchemaProps) string {
	switch {
	case s.XIntOrString:
		return "integer or string"
	case s.Type == "":
		return "any"
	}
	return s.Type
}

// widens tells that every stored value of the old type has the new one.
func widens(path string, old, next *apiextensionsv1.JSONSchemaProps) bool {
	switch kindOf(next) {
	case "any":
		return ptr.Deref(next.XPreserveUnknownFields, false)
	case "integer or string":
		return old.Type == "integer" || old.Type == "string"
	}
	// Types in the status are inferred from expressions, and what stands there was computed from them. Other releases of kro know fewer of these types and leave
	// the field open; that the type is known now must not keep a definition from being served.
	return kindOf(old) == "any" && inStatus(path)
}

func inStatus(path string) bool { return strings.HasPrefix(path, "status.") }

// prose compares what only people read.
func (r *Report) prose(path string, old, next *apiextensionsv1.JSONSchemaProps) {
	if old.Description != next.Description {
		r.harmless(path, "Description field was changed from %s to %s", old.Description, next.Description)
	}
	if old.Title != next.Title {
		r.harmless(path, "Title was changed from %s to %s", old.Title, next.Title)
	}
	if old.ID != next.ID {
		r.harmless(path, "Id was changed from %s to %s", old.ID, next.ID)
	}
	if old.Schema != next.Schema {
		r.harmless(path, "Schema URL was changed from %s to %s", old.Schema, next.Schema)
	}
	if !sameJSON(old.Example, next.Example) {
		r.harmless(path, "Example was changed")
	}
	if ptr.Deref(old.ExternalDocs, apiextensionsv1.ExternalDocumentation{}) != ptr.Deref(next.ExternalDocs, apiextensionsv1.ExternalDocumentation{}) {
		r.harmless(path, "External documentation was changed")
	}
}

// null compares whether null is taken. That is apart from the type.
func (r *Report) null(path string, old, next *apiextensionsv1.JSONSchemaProps) {
	switch {
	case old.Nullable && !next.Nullable:
		r.breaking(path, "Null is no longer allowed")
	case !old.Nullable && next.Nullable:
		r.harmless(path, "Null is allowed")
	}
}

// openness compares whether undeclared fields are kept.
func (r *Report) openness(path string, old, next *apiextensionsv1.JSONSchemaProps) {
	was, is := ptr.Deref(old.XPreserveUnknownFields, false), ptr.Deref(next.XPreserveUnknownFields, false)
	switch {
	case was && !is:
		r.breaking(path, "Unknown fields are no longer preserved")
	case !was && is:
		r.harmless(path, "Unknown fields are preserved")
	}
	if old.XEmbeddedResource != next.XEmbeddedResource {
		r.breaking(path, "Embedded resource was changed from %t to %t", old.XEmbeddedResource, next.XEmbeddedResource)
	}
	if was, is := ptr.Deref(old.XMapType, "granular"), ptr.Deref(next.XMapType, "granular"); was != is {
		r.harmless(path, "Map type changed from %s to %s", was, is)
	}
}

// value compares what a single value may be: format, pattern, enum, default.
func (r *Report) value(path string, old, next *apiextensionsv1.JSONSchemaProps) {
	switch {
	case old.Format == next.Format:
	case old.Format == "":
		r.breaking(path, "Format %s was added", next.Format)
	case next.Format == "":
		r.harmless(path, "Format %s was removed", old.Format)
	default:
		r.breaking(path, "Format changed from %s to %s", old.Format, next.Format)
	}
	switch {
	case old.Pattern == next.Pattern:
	case old.Pattern == "":
		r.breaking(path, "Validation pattern %s was added", next.Pattern)
	case next.Pattern == "":
		r.harmless(path, "Validation pattern %s was removed", old.Pattern)
	default:
		r.breaking(path, "Validation pattern changed from %s to %s", old.Pattern, next.Pattern)
	}
	r.enum(path, old.Enum, next.Enum)
	// A default that goes from a required field is reported by the object around it, which knows that the field is required.
	switch {
	case sameJSON(old.Default, next.Default):
	case old.Default == nil:
		r.harmless(path, "Default value %s was added", textOf(next.Default))
	case next.Default == nil:
		r.harmless(path, "Default value %s was removed", textOf(old.Default))
	default:
		r.harmless(path, "Default value was changed from %s to %s", textOf(old.Default), textOf(next.Default))
	}
}

func (r *Report) enum(path string, old, next []apiextensionsv1.JSON) {
	switch {
	case len(old) == 0 && len(next) == 0:
		return
	case len(old) == 0:
		r.breaking(path, "Enum constraint %s was added", textOfAll(next))
		return
	case len(next) == 0:
		r.harmless(path, "Enum constraint %s was removed", textOfAll(old))
		return
	}
	before := len(r.Changes)
	for i := range old {
		if !slices.ContainsFunc(next, func(v apiextensionsv1.JSON) bool { return sameJSON(&old[i], &v) }) {
			r.breaking(path, "Enum value %s was removed", textOf(&old[i]))
		}
	}
	for i := range next {
		if !slices.ContainsFunc(old, func(v apiextensionsv1.JSON) bool { return sameJSON(&next[i], &v) }) {
			r.harmless(path, "Enum value %s was added", textOf(&next[i]))
		}
	}
	if before == len(r.Changes) && textOfAll(old) != textOfAll(next) {
		r.harmless(path, "Enum order was changed from %s to %s", textOfAll(old), textOfAll(next))
	}
}

// properties compares the fields of an object.
func (r *Report) properties(path string, old, next *apiextensionsv1.JSONSchemaProps) {
	names := slices.Collect(maps.Keys(old.Properties))
	for name := range next.Properties {
		if _, known := old.Properties[name]; !known {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		was, had := old.Properties[name]
		is, has := next.Properties[name]
		below := join(path, name)
		required := slices.Contains(next.Required, name)
		switch {
		case !has:
			r.removed(below, name, &was, next)
		case !had && required:
			r.add(below, wasFree(old), "Required property %s was added", name)
		case !had:
			r.add(below, wasFree(old), "Optional property %s was added", name)
		case below == statusGraph && isStatusGraph(&was) && kindOf(&is) != kindOf(&was):
			// The author now fills the field that kro filled. What is stored in it is kro's, and is replaced with the next status.
			r.harmless(below, "Type changed from %s to %s", kindOf(&was), kindOf(&is))
		default:
			r.schema(below, &was, &is)
		}
		if had && has && required && slices.Contains(old.Required, name) && was.Default != nil && is.Default == nil {
			r.breaking(below, "Default value removed from required field %s", name)
		}
		if had && !required && slices.Contains(old.Required, name) {
			r.harmless(below, "Field %s is no longer required", name)
		}
		if required && !slices.Contains(old.Required, name) {
			// A new field with a default is filled in when stored objects are read.
			r.add(below, had || is.Default == nil, "Field %s is newly required", name)
		}
	}
	r.requiredOnly(path, old, next)
}

// removed reports a field that is gone. Its values are lost unless the object keeps unknown fields.
func (r *Report) removed(path, name string, was, next *apiextensionsv1.JSONSchemaProps) {
	kept := ptr.Deref(next.XPreserveUnknownFields, false) || path == statusGraph && isStatusGraph(was)
	// Other releases of kro write field names of the status as CEL escapes them (__namespace__), under which no value was ever stored.
	if plain, ok := cel.Unescape(name); ok && plain != name && inStatus(path) {
		_, kept = next.Properties[plain]
	}
	r.add(path, !kept, "Property %s was removed", name)
}

// wasFree tells that objects could hold a value of any name and kind, so also one that a new property does not take.
func wasFree(old *apiextensionsv1.JSONSchemaProps) bool {
	return ptr.Deref(old.XPreserveUnknownFields, false) || valuesOf(old) != nil
}

// requiredOnly compares required names for which there is no property.
func (r *Report) requiredOnly(path string, old, next *apiextensionsv1.JSONSchemaProps) {
	for _, name := range slices.Sorted(slices.Values(next.Required)) {
		if _, declared := next.Properties[name]; !declared && !slices.Contains(old.Required, name) {
			r.breaking(join(path, name), "Field %s is newly required", name)
		}
	}
	for _, name := range slices.Sorted(slices.Values(old.Required)) {
		if _, declared := old.Properties[name]; !declared && !slices.Contains(next.Required, name) {
			r.harmless(join(path, name), "Field %s is no longer required", name)
		}
	}
}

// isStatusGraph recognises kro's own status field by its schema: an open object and nothing else.
func isStatusGraph(s *apiextensionsv1.JSONSchemaProps) bool {
	return s.Type == "object" && ptr.Deref(s.XPreserveUnknownFields, false) && len(s.Properties) == 0 && s.AdditionalProperties == nil
}

// mapValues compares the values of a map.
func (r *Report) mapValues(path string, old, next *apiextensionsv1.JSONSchemaProps) {
	was, is := valuesOf(old), valuesOf(next)
	switch {
	case was == nil && is == nil:
	case was == nil:
		r.harmless(path, "Map value schema was added")
	case is == nil:
		r.add(path, !ptr.Deref(next.XPreserveUnknownFields, false), "Map value schema was removed")
	default:
		r.schema(path+".*", was, is)
	}
}

// valuesOf gives the schema of additional properties; additionalProperties: true takes any value.
func valuesOf(s *apiextensionsv1.JSONSchemaProps) *apiextensionsv1.JSONSchemaProps {
	switch {
	case s.AdditionalProperties == nil:
		return nil
	case s.AdditionalProperties.Schema != nil:
		return s.AdditionalProperties.Schema
	case s.AdditionalProperties.Allows:
		return &apiextensionsv1.JSONSchemaProps{XPreserveUnknownFields: ptr.To(true)}
	}
	return nil
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}
