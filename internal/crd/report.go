package crd

import (
	"fmt"
	"slices"
	"strings"
)

// shown is how many changes a summary describes.
const shown = 3

// Change is one difference between two CRDs.
type Change struct {
	// Path is where: "spec.ingress.host", "spec.hosts[]" for the elements of a list, "spec.labels.*" for the values of a map; empty for the CRD as a whole.
	Path string
	// Message says what changed, with the old and the new value.
	Message string
	// Breaking tells that a stored object may be invalid or lose fields under the new schema.
	Breaking bool
}

// String gives path and message.
func (c Change) String() string {
	if c.Path == "" {
		return c.Message
	}
	return c.Path + ": " + c.Message
}

// Report is everything that differs between two CRDs, in the order of the walk: the CRD, its names, its versions, each schema by field names.
type Report struct {
	Changes []Change
}

// Empty tells that nothing differs.
func (r Report) Empty() bool { return len(r.Changes) == 0 }

// Breaking tells whether one of the changes is breaking.
func (r Report) Breaking() bool {
	return slices.ContainsFunc(r.Changes, func(c Change) bool { return c.Breaking })
}

// Summary describes the breaking changes in a line: the first three and how many more there are.
func (r Report) Summary() string {
	var texts []string
	for _, c := range r.Changes {
		if c.Breaking {
			texts = append(texts, c.String())
		}
	}
	if len(texts) == 0 {
		return "no breaking changes"
	}
	if more := len(texts) - shown; more > 0 {
		texts = append(texts[:shown], fmt.Sprintf("and %d more changes", more))
	}
	return strings.Join(texts, "; ")
}

func (r *Report) breaking(path, format string, args ...any) { r.add(path, true, format, args...) }

func (r *Report) harmless(path, format string, args ...any) { r.add(path, false, format, args...) }

func (r *Report) add(path string, breaking bool, format string, args ...any) {
	r.Changes = append(r.Changes, Change{Path: path, Message: fmt.Sprintf(format, args...), Breaking: breaking})
}
