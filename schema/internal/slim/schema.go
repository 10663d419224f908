package slim

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// writeSchema copies the schema at the cursor to out, keeping only what decides the type of a value. What is kept reads as before and has the shape
// that Kubernetes gives it: keywords whose value has another shape than expected are dropped, so that decoding cannot fail on them.
func (c *cursor) writeSchema(out *bytes.Buffer, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("schemas are nested more than %d deep at byte %d", maxDepth, c.pos)
	}
	if c.peek() != '{' { // OpenAPI 3.1 allows true and false for a schema; both leave the type open.
		out.WriteString("{}")
		_, err := c.value()
		return err
	}
	out.WriteByte('{')
	first := true
	err := c.object(func(name []byte) error {
		form, kept := keywords[string(name)]
		if !kept || !form.fits(c.peek()) {
			_, err := c.value()
			return err
		}
		if !first {
			out.WriteByte(',')
		}
		first = false
		writeText(out, name)
		out.WriteByte(':')
		return form.write(c, out, depth+1)
	})
	out.WriteByte('}')
	return err
}

// form is the shape of a keyword's value: the bytes that it may begin with, and how it is copied.
type form struct {
	begins string
	write  func(c *cursor, out *bytes.Buffer, depth int) error
}

func (f form) fits(first byte) bool {
	return first != 0 && bytes.IndexByte([]byte(f.begins), first) >= 0
}

var keywords map[string]form

func init() { // not a literal: writeSchema and the table refer to each other
	text, flag := form{`"`, (*cursor).writeScalar}, form{"tf", (*cursor).writeScalar}
	one, openOrOne := form{"{", (*cursor).writeSchema}, form{"{tf", (*cursor).writeSchemaOrFlag}
	named, several := form{"{", (*cursor).writeNamed}, form{"[", (*cursor).writeSeveral}
	keywords = map[string]form{
		"$ref": text, "type": text, "format": text,
		"properties": named, "required": {"[", (*cursor).writeTexts}, "items": one, "additionalProperties": openOrOne,
		"allOf": several, "oneOf": several, "anyOf": several,
		"nullable":                             flag,
		"x-kubernetes-int-or-string":           flag,
		"x-kubernetes-preserve-unknown-fields": flag,
		"x-kubernetes-embedded-resource":       flag,
	}
}

func (c *cursor) writeScalar(out *bytes.Buffer, _ int) error {
	raw, err := c.value()
	out.Write(raw)
	return err
}

func (c *cursor) writeSchemaOrFlag(out *bytes.Buffer, depth int) error {
	if c.peek() == '{' {
		return c.writeSchema(out, depth)
	}
	return c.writeScalar(out, depth)
}

// writeNamed copies an object of schemas.
func (c *cursor) writeNamed(out *bytes.Buffer, depth int) error {
	out.WriteByte('{')
	first := true
	err := c.object(func(name []byte) error {
		if !first {
			out.WriteByte(',')
		}
		first = false
		writeText(out, name)
		out.WriteByte(':')
		return c.writeSchema(out, depth)
	})
	out.WriteByte('}')
	return err
}

// writeSeveral copies an array of schemas.
func (c *cursor) writeSeveral(out *bytes.Buffer, depth int) error {
	out.WriteByte('[')
	first := true
	err := c.array(func() error {
		if !first {
			out.WriteByte(',')
		}
		first = false
		return c.writeSchema(out, depth)
	})
	out.WriteByte(']')
	return err
}

// writeTexts copies an array of strings.
func (c *cursor) writeTexts(out *bytes.Buffer, _ int) error {
	out.WriteByte('[')
	first := true
	err := c.array(func() error {
		text, err := c.text()
		if err != nil {
			return err
		}
		if !first {
			out.WriteByte(',')
		}
		first = false
		writeText(out, text)
		return nil
	})
	out.WriteByte(']')
	return err
}

func writeText(out *bytes.Buffer, text []byte) {
	for _, b := range text {
		if b < ' ' || b == '"' || b == '\\' || b >= 0x7f {
			quoted, _ := json.Marshal(string(text)) // a string always marshals
			out.Write(quoted)
			return
		}
	}
	out.WriteByte('"')
	out.Write(text)
	out.WriteByte('"')
}
