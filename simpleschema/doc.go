// Package simpleschema turns SimpleSchema, the short notation in which authors write the fields of a new kind, into an OpenAPI v3 schema.
//
// What comes in are two maps as they stand in the document, spec.schema.spec and spec.schema.types. A value in them is a nested map, or a text:
//
//	replicas: integer | default=3 minimum=1
//	hosts: '[]Host | maxItems=10'
//	limits: 'map[string]string'
//
// What goes out is a structural schema and every fault that was found, not only the first. A schema built without faults is one that the Kubernetes API
// server accepts in a CRD: defaults are checked against the schema they belong to, CEL rules are compiled and their cost is estimated, keys of
// list maps must exist. So a definition is refused when it is compiled and not later when its CRD is written.
//
// The way through the package: build.go walks the maps, types.go resolves named types, expression.go reads the type before the bar, lexer.go the markers
// behind it, markers.go puts them into the schema, check.go and rules.go look at the result as the API server would, hints.go knows the usual mistakes.
package simpleschema
