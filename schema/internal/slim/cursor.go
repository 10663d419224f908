package slim

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// maxDepth bounds the nesting of schemas, and with it the stack that a hostile document can use.
const maxDepth = 256

// cursor reads JSON forwards. It checks only as much as it needs to find its way; what it passes over unread may be malformed.
type cursor struct {
	src []byte
	pos int
}

func (c *cursor) fail(want string) error {
	if c.pos >= len(c.src) {
		return fmt.Errorf("the JSON ends early: expected %s at its end, byte %d", want, len(c.src))
	}
	return fmt.Errorf("malformed JSON: expected %s at byte %d, found %q", want, c.pos, c.src[c.pos])
}

// peek gives the next byte that is not white space, or 0 at the end.
func (c *cursor) peek() byte {
	for c.pos < len(c.src) {
		switch c.src[c.pos] {
		case ' ', '\n', '\t', '\r':
			c.pos++
		default:
			return c.src[c.pos]
		}
	}
	return 0
}

// take consumes the given byte.
func (c *cursor) take(b byte) error {
	if c.peek() != b {
		return c.fail(fmt.Sprintf("%q", b))
	}
	c.pos++
	return nil
}

// object calls member for each member of the object that comes next, with its unquoted name; member consumes the value.
// The name is only valid until member returns.
func (c *cursor) object(member func(name []byte) error) error {
	if err := c.take('{'); err != nil {
		return err
	}
	if c.peek() == '}' {
		c.pos++
		return nil
	}
	for {
		name, err := c.text()
		if err != nil {
			return err
		}
		if err := c.take(':'); err != nil {
			return err
		}
		if err := member(name); err != nil {
			return err
		}
		switch c.peek() {
		case ',':
			c.pos++
		case '}':
			c.pos++
			return nil
		default:
			return c.fail("`,` or `}`")
		}
	}
}

// array calls element for each element of the array that comes next; element consumes it.
func (c *cursor) array(element func() error) error {
	if err := c.take('['); err != nil {
		return err
	}
	if c.peek() == ']' {
		c.pos++
		return nil
	}
	for {
		if err := element(); err != nil {
			return err
		}
		switch c.peek() {
		case ',':
			c.pos++
		case ']':
			c.pos++
			return nil
		default:
			return c.fail("`,` or `]`")
		}
	}
}

// text reads a string and unquotes it; without escapes the result shares the source.
func (c *cursor) text() ([]byte, error) {
	if c.peek() != '"' {
		return nil, c.fail("a string")
	}
	raw, err := c.rawString()
	if err != nil {
		return nil, err
	}
	if bytes.IndexByte(raw, '\\') < 0 {
		return raw[1 : len(raw)-1], nil
	}
	var text string
	if err := json.Unmarshal(raw, &text); err != nil {
		return nil, fmt.Errorf("reading the string that ends at byte %d: %w", c.pos, err)
	}
	return []byte(text), nil
}

// rawString consumes the string at the cursor and gives it with its quotes.
func (c *cursor) rawString() ([]byte, error) {
	start := c.pos
	c.pos++
	for {
		end := bytes.IndexByte(c.src[c.pos:], '"')
		if end < 0 {
			c.pos = len(c.src)
			return nil, c.fail(`"`)
		}
		escape := bytes.IndexByte(c.src[c.pos:c.pos+end], '\\')
		if escape < 0 {
			c.pos += end + 1
			return c.src[start:c.pos], nil
		}
		c.pos = min(c.pos+escape+2, len(c.src))
	}
}

// value consumes whatever value comes next and gives its bytes.
func (c *cursor) value() ([]byte, error) {
	c.peek()
	start, depth := c.pos, 0
	for c.pos < len(c.src) {
		switch c.src[c.pos] {
		case '"':
			if _, err := c.rawString(); err != nil {
				return nil, err
			}
		case '{', '[':
			depth++
			c.pos++
			continue
		case '}', ']':
			if depth == 0 {
				return nil, c.fail("a value")
			}
			depth--
			c.pos++
		case ' ', '\n', '\t', '\r', ',', ':':
			if depth == 0 {
				return nil, c.fail("a value")
			}
			c.pos++
			continue
		default:
			c.scalar()
		}
		if depth == 0 {
			return c.src[start:c.pos], nil
		}
	}
	return nil, c.fail("a value")
}

// scalar consumes a number, true, false or null, or whatever stands in its place.
func (c *cursor) scalar() {
	for c.pos < len(c.src) {
		switch c.src[c.pos] {
		case ' ', '\n', '\t', '\r', ',', ':', '}', ']', '{', '[', '"':
			return
		}
		c.pos++
	}
}
