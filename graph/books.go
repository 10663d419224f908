package graph

import (
	"fmt"
	"strings"
)

// kro keeps its books in labels and annotations: of what it makes, to know it again, and of instances. A template must not write there. A key that
// the author wrote or computed is refused. A map that comes from elsewhere as a whole is mostly that of the instance, handed on to its objects
// (labels: ${schema.metadata.labels}): the author means what users set, so what kro itself set is left out of it. Handed on, it would make an object
// look like an instance, or two controllers fight over the labels of an instance in an instance.

// books are the fields of metadata that kro keeps its books in.
var books = []string{"labels", "annotations"}

// reservedPrefixes are those of keys that nobody else may write. parentPrefix is that of what marks an instance as the parent of its ApplySet.
var reservedPrefixes = []string{"kro.run/", "internal.kro.run/"}

const parentPrefix = "applyset.kubernetes.io/"

// reservedPrefix is the prefix that reserves a key, "" when nothing does.
func reservedPrefix(key string) string {
	for _, prefix := range reservedPrefixes {
		if strings.HasPrefix(key, prefix) {
			return prefix
		}
	}
	return ""
}

// reservedFor is why a key of labels or annotations is refused.
func reservedFor(field, prefix string) string {
	return fmt.Sprintf("%s with prefix %q are reserved for internal use", field, prefix)
}

// guardBooks marks the labels and annotations of an object, so that their evaluation keeps to the rules above.
func (v *Value) guardBooks() {
	for _, field := range books {
		if entries := v.entry("metadata").entry(field); entries != nil {
			entries.book = field
		}
	}
}

// entry is the value of a field of a map; nil when there is none.
func (v *Value) entry(name string) *Value {
	if v == nil {
		return nil
	}
	for _, f := range v.fields {
		if f.key == nil && f.name == name {
			return f.value
		}
	}
	return nil
}

// withoutBooks is the result of an expression that gives all labels or all annotations, without what kro keeps its books with. The result is fresh,
// so it may be changed.
func withoutBooks(result any) any {
	entries, _ := result.(map[string]any)
	for key := range entries {
		if reservedPrefix(key) != "" || strings.HasPrefix(key, parentPrefix) {
			delete(entries, key)
		}
	}
	return result
}
