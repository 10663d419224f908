package graph

import (
	"strconv"
	"strings"
)

// Paths are written as users write them: spec.containers[0].image, with names that are no plain word in brackets and
// quotes: metadata.labels["app.kubernetes.io/name"].

// joinField appends the name of a field to a path.
func joinField(path, name string) string {
	if name == "" || strings.ContainsAny(name, `."[]{`) {
		return path + "[" + strconv.Quote(name) + "]"
	}
	if path == "" {
		return name
	}
	return path + "." + name
}

// joinIndex appends an index to a path.
func joinIndex(path string, i int) string {
	return path + "[" + strconv.Itoa(i) + "]"
}

// joinPath appends a relative path, which may be empty or start with a bracket.
func joinPath(path, rest string) string {
	if path == "" || rest == "" || rest[0] == '[' {
		return path + rest
	}
	return path + "." + rest
}
