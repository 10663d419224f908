package simpleschema

import (
	"errors"
	"fmt"
	"strings"
)

// maxNesting bounds the depth of [] and map[string] in one type.
const maxNesting = 16

// form tells the three forms of a type apart.
type form int

const (
	nameForm form = iota
	listForm
	mapForm
)

// expression is a type as written: a name, a list of another type, or a map to another type.
type expression struct {
	form    form
	name    string
	element *expression
}

// parseType reads the text before the bar.
func parseType(text string) (*expression, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return nil, errors.New("empty type")
	}
	return parseNested(text, 0)
}

func parseNested(text string, depth int) (*expression, error) {
	if depth > maxNesting {
		return nil, fmt.Errorf("type nesting too deep (max %d): %q", maxNesting, text)
	}
	if rest, ok := strings.CutPrefix(text, "[]"); ok {
		rest = strings.TrimSpace(rest)
		if rest == "" {
			return nil, errors.New("empty slice element type")
		}
		element, err := parseNested(rest, depth+1)
		return &expression{form: listForm, element: element}, err
	}
	if rest, ok := strings.CutPrefix(text, "map["); ok {
		key, rest, closed := strings.Cut(rest, "]")
		if !closed || strings.TrimSpace(key) != "string" {
			return nil, fmt.Errorf("map key must be string, as in map[string]integer, got: %s", text)
		}
		rest = strings.TrimSpace(rest)
		if rest == "" {
			return nil, errors.New("map value type is required")
		}
		element, err := parseNested(rest, depth+1)
		return &expression{form: mapForm, element: element}, err
	}
	return &expression{form: nameForm, name: text}, nil
}
