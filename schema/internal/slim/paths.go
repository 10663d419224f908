package slim

import (
	"strings"
)

// endpoint is where a kind is served.
type endpoint struct {
	resource   string
	namespaced bool
}

// path notes the kind that a path serves. A document names the kind of an operation but neither its plural nor its scope: both follow from the
// paths. Only a resource's own paths count, since `…/deployments/{name}/scale` serves kind Scale, and `…/pods/{name}/eviction` one of another group.
func (r *reader) path(rawPath []byte) error {
	at, own := parsePath(string(rawPath))
	if !own || r.peek() != '{' {
		return r.skip()
	}
	return r.object(func(method []byte) error {
		if !isMethod(string(method)) || r.peek() != '{' {
			return r.skip()
		}
		return r.object(func(name []byte) error {
			if string(name) != "x-kubernetes-group-version-kind" || r.peek() != '{' {
				return r.skip()
			}
			gvk, err := r.kind()
			if err != nil {
				return err
			}
			// A namespaced kind is also listed across namespaces, at a path that looks like that of a cluster-scoped one.
			if known, seen := r.served[gvk]; !seen || at.namespaced && !known.namespaced {
				r.served[gvk] = at
			}
			return nil
		})
	})
}

func isMethod(name string) bool {
	switch name {
	case "get", "put", "post", "patch", "delete":
		return true
	}
	return false
}

// parsePath recognises the paths of a resource itself: /api/v1/… and /apis/<group>/<version>/…, then optionally namespaces/{namespace}, then the
// plural, then optionally {name}.
func parsePath(path string) (endpoint, bool) {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	switch {
	case len(parts) > 2 && parts[0] == "api":
		parts = parts[2:]
	case len(parts) > 3 && parts[0] == "apis":
		parts = parts[3:]
	default:
		return endpoint{}, false
	}
	namespaced := len(parts) > 2 && parts[0] == "namespaces" && parts[1] == "{namespace}"
	if namespaced {
		parts = parts[2:]
	}
	plural := parts[0]
	if strings.HasPrefix(plural, "{") || plural == "" || len(parts) > 2 || len(parts) == 2 && parts[1] != "{name}" {
		return endpoint{}, false
	}
	return endpoint{resource: plural, namespaced: namespaced}, true
}
