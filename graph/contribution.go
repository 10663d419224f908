package graph

import (
	"fmt"
	"slices"
	"strings"
)

// A patch contributes to one endpoint of an object: to its status, or to the rest of it. Which one, its fields tell.

// checkContribution decides where a patch goes, and reports one that goes nowhere, to two places, or too far.
func (c *compiler) checkContribution(d *draft, body map[string]any, at place) {
	refuse := func(path, problem, hint string) {
		faulty := at
		faulty.path = joinPath(at.path, path)
		c.report(faulty, Diagnostic{Code: CodeShape, Hint: hint, Message: fmt.Sprintf("%sinvalid patch of %s %q: %s", d.attempt(), d.noun, d.name, problem)})
	}
	_, status := body["status"]
	var main []string
	for _, field := range sortedKeys(body) {
		if !slices.Contains([]string{"apiVersion", "kind", "metadata", "status"}, field) {
			main = append(main, field)
		}
	}
	metadata, _ := body["metadata"].(map[string]any)
	for _, field := range sortedKeys(metadata) {
		switch field {
		case "name", "namespace":
		case "ownerReferences", "finalizers", "deletionTimestamp", "uid":
			refuse("metadata."+field, fmt.Sprintf("metadata.%s cannot be contributed", field), "it decides about the life of an object, which belongs to its owner")
			main = append(main, "metadata."+field)
		default:
			main = append(main, "metadata."+field)
		}
	}
	switch {
	case status && len(main) > 0:
		refuse("", fmt.Sprintf("it contributes to the status and to %s, which are two endpoints", strings.Join(main, ", ")), "use one patch for status and another for the rest")
	case status:
		d.node.Subresource = "status"
	case len(main) == 0:
		refuse("", "it contributes nothing", "add the fields to contribute beside apiVersion, kind and metadata.name; to read an object, use a reference")
	}
}
