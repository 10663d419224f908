package graph

import (
	"slices"
	"testing"
)

// FuzzParsePath: a path that is understood means the same when it is written again, as every message writes it.
func FuzzParsePath(f *testing.F) {
	for _, seed := range []string{"a", "spec.replicas", `metadata.annotations["a.b/c"].d`, `["x"]["\u00e9\n"]`, "a..b", ".a", "a.", "a[0]", `a["b`, `a["b"]c`, "[`raw`]", "a]b", "['a']"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		names, err := parsePath(text)
		if err != nil {
			return
		}
		again := ""
		for _, name := range names {
			again = joinField(again, name)
		}
		if second, err := parsePath(again); err != nil || !slices.Equal(names, second) {
			t.Fatalf("%q is %q; written as %q it is %q, %v", text, names, again, second, err)
		}
	})
}
