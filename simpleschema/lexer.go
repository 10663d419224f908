package simpleschema

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
)

// marker is one key=value behind the bar.
type marker struct {
	key, value string
}

// lexMarkers splits the text behind the bar into markers.
//
// Blanks separate markers. A value may be quoted, with \" and \\ for a quote and a backslash and every other backslash kept, so that regular expressions can be
// written as they are; or it may contain balanced {} and [], as JSON does, with blanks and quotes inside kept.
func lexMarkers(text string) ([]marker, error) {
	if strings.TrimSpace(text) == "" {
		return nil, errors.New("marker key '' without a value")
	}
	l := &lexer{rest: []rune(text)}
	var markers []marker
	for l.skipBlanks() {
		key, err := l.key()
		if err != nil {
			return nil, err
		}
		value, err := l.value()
		if err != nil {
			return nil, fmt.Errorf("marker %s: %w", key, err)
		}
		markers = append(markers, marker{key: key, value: value})
	}
	return markers, nil
}

type lexer struct {
	rest []rune
}

// skipBlanks moves to the next marker and tells whether there is one.
func (l *lexer) skipBlanks() bool {
	for len(l.rest) > 0 && unicode.IsSpace(l.rest[0]) {
		l.rest = l.rest[1:]
	}
	return len(l.rest) > 0
}

// key reads up to the equals sign. Blanks before the sign belong to no key, so words without one run together, as they do in other releases of kro.
func (l *lexer) key() (string, error) {
	var key strings.Builder
	for i, r := range l.rest {
		if r != '=' {
			if !unicode.IsSpace(r) {
				key.WriteRune(r)
			}
			continue
		}
		l.rest = l.rest[i+1:]
		if key.Len() == 0 {
			return "", errors.New("empty marker key")
		}
		return key.String(), nil
	}
	return "", fmt.Errorf("marker key '%s' without a value", strings.TrimSpace(string(l.rest)))
}

// value reads up to the next blank outside quotes and brackets.
func (l *lexer) value() (string, error) {
	var value strings.Builder
	for len(l.rest) > 0 {
		r := l.rest[0]
		switch {
		case unicode.IsSpace(r):
			return value.String(), nil
		case r == '"':
			if err := l.quoted(&value); err != nil {
				return "", err
			}
		case r == '{' || r == '[':
			if err := l.bracketed(&value); err != nil {
				return "", err
			}
		case r == '}' || r == ']':
			return "", errors.New("unmatched closing bracket/brace")
		default:
			value.WriteRune(r)
			l.rest = l.rest[1:]
		}
	}
	return value.String(), nil
}

// quoted reads a quoted text and writes what it stands for.
func (l *lexer) quoted(value *strings.Builder) error {
	for i := 1; i < len(l.rest); i++ {
		r := l.rest[i]
		if r == '"' {
			l.rest = l.rest[i+1:]
			return nil
		}
		if r == '\\' && i+1 < len(l.rest) && (l.rest[i+1] == '"' || l.rest[i+1] == '\\') {
			i++
			r = l.rest[i]
		}
		value.WriteRune(r)
	}
	return errors.New("unclosed quote")
}

// bracketed reads a balanced text from its opening bracket on and writes it as it is. Brackets inside its quotes do not count.
func (l *lexer) bracketed(value *strings.Builder) error {
	var open []rune
	inQuotes := false
	for i := 0; i < len(l.rest); i++ {
		r := l.rest[i]
		value.WriteRune(r)
		switch {
		case inQuotes && r == '\\' && i+1 < len(l.rest):
			i++
			value.WriteRune(l.rest[i])
		case r == '"':
			inQuotes = !inQuotes
		case inQuotes:
		case r == '{':
			open = append(open, '}')
		case r == '[':
			open = append(open, ']')
		case r == '}' || r == ']':
			if open[len(open)-1] != r {
				return errors.New("unmatched closing bracket/brace")
			}
			open = open[:len(open)-1]
		}
		if len(open) == 0 {
			l.rest = l.rest[i+1:]
			return nil
		}
	}
	if inQuotes {
		return errors.New("unclosed quote")
	}
	return errors.New("unclosed bracket/brace")
}
