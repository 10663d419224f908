package graph

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	kschema "k8s.io/apimachinery/pkg/runtime/schema"
)

// hash identifies what a program was made of: the content of the source, but for its name and for how its JSON is laid
// out, the options that shape the result, and the schemas it was checked against.
func hash(src Source, env Env, kinds map[kschema.GroupVersionKind]string) string {
	h := sha256.New()
	write := func(label string, value any) {
		data, err := json.Marshal(value)
		if err != nil {
			data = []byte(err.Error()) // cannot happen: all values are plain
		}
		fmt.Fprintf(h, "%s %d\n%s\n", label, len(data), data)
	}
	if src.API != nil {
		api := *src.API
		write("spec", canonical(api.Spec))
		write("types", canonical(api.Types))
		write("status", canonical(api.Status))
		api.Spec, api.Types, api.Status = nil, nil, nil
		write("api", api)
	}
	if src.Door == GraphDoor {
		write("namespace", src.Namespace)
	}
	for _, n := range src.Nodes {
		node := *n
		write("template", canonical(node.Template))
		node.Template = nil
		for _, part := range []struct {
			label string
			data  *[]byte
		}{{"def", &node.Definition}, {"patch", &node.Patch}, {"graph", &node.Graph}} {
			if *part.data != nil {
				write(part.label, canonical(*part.data))
				*part.data = nil
			}
		}
		for _, ref := range []**RefSource{&node.Ref, &node.Watch} {
			if *ref != nil {
				bare := **ref
				write("selector", canonical(bare.Selector))
				bare.Selector = nil
				*ref = &bare
			}
		}
		write("node", node)
	}
	write("graph", env.NoStatusGraph)
	names := make(map[string]string, len(kinds))
	for gvk, fingerprint := range kinds {
		names[gvk.String()] = fingerprint
	}
	write("kinds", names)
	return hex.EncodeToString(h.Sum(nil))
}

// canonical is JSON as data, so that marshalling it again sorts its keys.
func canonical(data []byte) any {
	value, err := decode(data)
	if err != nil {
		return string(data)
	}
	return value
}
