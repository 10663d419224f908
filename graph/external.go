package graph

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// readExternalFields reads the paths of fields that others may take over, and holds them against the template.
func (c *compiler) readExternalFields(d *draft, body map[string]any) {
	seen := map[string]bool{}
	for i, text := range d.src.ExternalFields {
		at := d.at(fieldBody, joinIndex(d.path+".externalFields", i))
		path, err := parsePath(text)
		problem, hint := "", ""
		switch {
		case err != nil:
			problem, hint = err.Error(), "write it like spec.replicas"
		case seen[strings.Join(path, "\x00")]:
			problem = "it is listed twice"
		case isIdentity(path):
			problem = "it says which object it is, and stays with the template"
		default:
			problem, hint = inTemplate(body, path)
		}
		if problem != "" {
			c.report(at, Diagnostic{Code: CodeShape, Hint: hint,
				Message: fmt.Sprintf("%sinvalid external field %q of %s %q: %s", d.attempt(), text, d.noun, d.name, problem)})
			continue
		}
		seen[strings.Join(path, "\x00")] = true
		d.node.ExternalFields = append(d.node.ExternalFields, path)
	}
}

func isIdentity(path []string) bool {
	return slices.Equal(path, []string{"metadata"}) || isIdentityPath(strings.Join(path, "."))
}

// inTemplate says why a template has no field at a path.
func inTemplate(body map[string]any, path []string) (problem, hint string) {
	var here any = body
	for i, name := range path {
		at := strings.Join(path[:i], ".")
		switch object := here.(type) {
		case map[string]any:
			child, there := object[name]
			if !there {
				return fmt.Sprintf("the template has no field %s", joinField(at, name)), didYouMean(name, sortedKeys(object))
			}
			here = child
		case []any:
			return fmt.Sprintf("%s is a list, and a path cannot lead into one", at), "name the list as a whole"
		case string:
			return fmt.Sprintf("%s is no object, or one that an expression gives as a whole", at), "name the field that the expression fills"
		default:
			return fmt.Sprintf("%s is no object", at), ""
		}
	}
	return "", ""
}

// parsePath reads a path such as metadata.annotations["example.com/x"].size.
func parsePath(text string) ([]string, error) {
	var path []string
	for rest := text; ; {
		name, after, err := nextField(rest, len(path) == 0)
		if err != nil {
			return nil, err
		}
		path = append(path, name)
		if rest = after; rest == "" {
			return path, nil
		}
	}
}

// nextField takes the first field from a path, which begins with a dot or a bracket unless it is the first one.
func nextField(path string, first bool) (name, rest string, err error) {
	if strings.HasPrefix(path, "[") {
		quoted, err := strconv.QuotedPrefix(path[1:])
		if err == nil {
			name, err = strconv.Unquote(quoted)
		}
		rest, closed := strings.CutPrefix(path[min(len(path), 1+len(quoted)):], "]")
		if err != nil || !closed {
			return "", "", fmt.Errorf("%s is no key in quotes and brackets, as in [\"example.com/x\"]", path)
		}
		return name, rest, nil
	}
	if !first {
		after, dotted := strings.CutPrefix(path, ".")
		if !dotted {
			return "", "", fmt.Errorf("expected a dot before %q", path)
		}
		path = after
	}
	end := strings.IndexAny(path, ".[")
	if end < 0 {
		end = len(path)
	}
	if end == 0 {
		return "", "", fmt.Errorf("a path has names separated by dots, and none is empty")
	}
	return path[:end], path[end:], nil
}
