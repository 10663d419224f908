package cel

import (
	"fmt"
	"strconv"
	"strings"
)

// Segment is a piece of a scanned string: literal text, or the source of one expression without its `${` and `}`.
type Segment struct {
	Text       string
	Expression bool
	// Offset of Text in the scanned string, in bytes.
	Offset int
}

// ScanError says where in the scanned string an expression is malformed.
type ScanError struct {
	// Offset in bytes of the `${` or of the character that cannot stand there.
	Offset int
	Reason string
}

// Error gives the reason and the position.
func (e *ScanError) Error() string {
	return fmt.Sprintf("%s (at character %d)", e.Reason, e.Offset)
}

const reasonNested = "nested expressions are not allowed unless inside string literals"

// Scan splits s into text and `${…}` expressions, in order; it gives no empty text, and nil for the empty string.
//
// Inside an expression braces are counted, and string literals are skipped as CEL's lexer reads them: single or double quotes, one or three, raw
// when prefixed with r. An expression that ends nowhere, or that opens another `${` outside a literal, is a *ScanError. There is no escape: text that
// holds `${` is written as an expression, `${"${x}"}`.
func Scan(s string) ([]Segment, error) {
	var segments []Segment
	for at := 0; at < len(s); {
		open := strings.Index(s[at:], "${")
		if open < 0 {
			return append(segments, Segment{Text: s[at:], Offset: at}), nil
		}
		open += at
		if open > at {
			segments = append(segments, Segment{Text: s[at:open], Offset: at})
		}
		end, err := closing(s, open+2)
		if err != nil {
			return nil, err
		}
		segments = append(segments, Segment{Text: s[open+2 : end], Expression: true, Offset: open + 2})
		at = end + 1
	}
	return segments, nil
}

// closing finds the brace that ends the expression whose source starts at start.
func closing(s string, start int) (int, error) {
	depth := 0
	for i := start; i < len(s); {
		switch c := s[i]; {
		case c == '"' || c == '\'':
			end, ok := skipLiteral(s, i, rawPrefix(s[start:i]))
			if !ok {
				return 0, &ScanError{Offset: i, Reason: "string literal is never closed in expression " + excerpt(s[start-2:])}
			}
			i = end
		case c == '/' && strings.HasPrefix(s[i:], "//"):
			i = skipComment(s, i)
		case c == '$' && strings.HasPrefix(s[i:], "${"):
			return 0, &ScanError{Offset: i, Reason: reasonNested}
		case c == '{':
			depth++
			i++
		case c == '}' && depth == 0:
			return i, nil
		case c == '}':
			depth--
			i++
		default:
			i++
		}
	}
	return 0, &ScanError{Offset: start - 2, Reason: "expression " + excerpt(s[start-2:]) + " is never closed: expected }"}
}

// skipLiteral gives the position after the string literal that starts at i.
func skipLiteral(s string, i int, raw bool) (int, bool) {
	quote := s[i : i+1]
	triple := strings.Repeat(quote, 3)
	multiline := strings.HasPrefix(s[i:], triple)
	if multiline {
		quote = triple
	}
	for i += len(quote); i < len(s); i++ {
		switch {
		case strings.HasPrefix(s[i:], quote):
			return i + len(quote), true
		case s[i] == '\\' && !raw:
			i++
		case s[i] == '\n' && !multiline:
			return 0, false
		}
	}
	return 0, false
}

// rawPrefix says whether the identifier that ends the text makes the literal behind it a raw one: r, br or rb in any case.
func rawPrefix(before string) bool {
	start := len(before)
	for start > 0 && isIdent(before[start-1]) {
		start--
	}
	switch strings.ToLower(before[start:]) {
	case "r", "br", "rb":
		return true
	}
	return false
}

func isIdent(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// skipComment steps over a comment up to the next brace or line. Quotes in a comment open no literal (it's prose); braces count, because
// a comment on one line is closed by the brace of its expression: `${a // b}`.
func skipComment(s string, i int) int {
	for ; i < len(s); i++ {
		switch s[i] {
		case '\n', '{', '}':
			return i
		case '$':
			if strings.HasPrefix(s[i:], "${") {
				return i
			}
		}
	}
	return i
}

// excerpt quotes the start of an expression for a message.
func excerpt(s string) string {
	const most = 40
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return strconv.Quote(s)
}

// Standalone says that the string was exactly one expression: its value keeps its type and replaces the string.
func Standalone(segments []Segment) bool {
	return len(segments) == 1 && segments[0].Expression
}

// HasExpression says that a segment is an expression.
func HasExpression(segments []Segment) bool {
	for _, s := range segments {
		if s.Expression {
			return true
		}
	}
	return false
}

// Join gives the CEL source of a scanned string: the expression itself when it stands alone, else the concatenation of all pieces,
// `"text" + (expression) + …`.
func Join(segments []Segment) string {
	if Standalone(segments) {
		return segments[0].Text
	}
	if len(segments) == 0 {
		return `""`
	}
	var b strings.Builder
	for i, s := range segments {
		if i > 0 {
			b.WriteString(" + ")
		}
		if !s.Expression {
			b.WriteString(strconv.Quote(s.Text))
			continue
		}
		b.WriteByte('(')
		b.WriteString(s.Text)
		if strings.Contains(s.Text, "//") {
			b.WriteByte('\n') // a comment must not swallow the parenthesis
		}
		b.WriteByte(')')
	}
	return b.String()
}
