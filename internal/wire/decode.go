package wire

import (
	"bytes"
	"io"
	"strconv"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// mostNames and longestName bound the names that one decoder remembers.
const (
	mostNames   = 4096
	longestName = 64
)

// decoder turns JSON into the values of an unstructured object, in one pass.
type decoder struct {
	source bytes.Buffer
	text   jsontext.Decoder
	// names are the names of fields met before. The same few thousand come again and again.
	names map[string]string
	lean  bool
}

var decoders = sync.Pool{New: func() any { return &decoder{names: map[string]string{}} }}

// lenient takes equal names in an object, as Kubernetes does; the last one wins.
var lenient = jsontext.AllowDuplicateNames(true)

// decode gives the object that data holds, and false when data holds something else, or something that is not beyond doubt: the caller asks another
// decoder then. A lean object has no metadata.managedFields, its items neither.
func decode(data []byte, lean bool) (map[string]any, bool) {
	d := decoders.Get().(*decoder)
	defer d.release()
	d.lean = lean
	d.read(data)
	if d.text.PeekKind() != '{' {
		return nil, false
	}
	object, err := d.object(root)
	if err != nil {
		return nil, false
	}
	_, err = d.text.ReadToken()
	return object, err == io.EOF
}

// decodeEvent reads the type of an event and finds the bytes of its object.
func decodeEvent(data []byte, event *metav1.WatchEvent) bool {
	d := decoders.Get().(*decoder)
	defer d.release()
	d.read(data)
	if token, err := d.text.ReadToken(); err != nil || token.Kind() != '{' {
		return false
	}
	for d.text.PeekKind() == '"' {
		name, err := d.name()
		if err != nil {
			return false
		}
		value, err := d.text.ReadValue()
		switch {
		case err != nil:
			return false
		case name == "type" && value.Kind() == '"':
			text, err := jsontext.AppendUnquote(nil, value)
			if err != nil {
				return false
			}
			event.Type = string(text)
		case name == "object" && value.Kind() != 'n':
			event.Object.Raw = value
		}
	}
	return event.Type != "" && event.Object.Raw != nil
}

func (d *decoder) read(data []byte) {
	d.source = *bytes.NewBuffer(data)
	d.text.Reset(&d.source, lenient)
}

// release gives the decoder back, without the bytes of its last document.
func (d *decoder) release() {
	d.source = bytes.Buffer{}
	d.text.Reset(&d.source, lenient)
	if len(d.names) > mostNames {
		clear(d.names)
	}
	decoders.Put(d)
}

// place tells where a value stands, as far as it matters for what is left out.
type place int

const (
	elsewhere place = iota
	root            // an object of its own, or an item of a list
	itemsList       // the items of a list
	metadata        // the metadata of an object
)

// within tells the place of the field of that name.
func (p place) within(name string) place {
	switch {
	case p == root && name == "metadata":
		return metadata
	case p == root && name == "items":
		return itemsList
	}
	return elsewhere
}

func (d *decoder) value(at place) (any, error) {
	switch d.text.PeekKind() {
	case '{':
		if at == itemsList {
			at = elsewhere
		}
		return d.object(at)
	case '[':
		return d.list(at)
	case '"':
		return d.string()
	case '0':
		return d.number()
	}
	token, err := d.text.ReadToken()
	switch {
	case err != nil:
		return nil, err
	case token.Kind() == 'n':
		return nil, nil
	}
	return token.Bool(), nil
}

func (d *decoder) object(at place) (map[string]any, error) {
	if _, err := d.text.ReadToken(); err != nil {
		return nil, err
	}
	object := map[string]any{}
	for d.text.PeekKind() == '"' {
		name, err := d.name()
		if err != nil {
			return nil, err
		}
		if d.lean && at == metadata && name == "managedFields" {
			if err := d.text.SkipValue(); err != nil {
				return nil, err
			}
			continue
		}
		if object[name], err = d.value(at.within(name)); err != nil {
			return nil, err
		}
	}
	_, err := d.text.ReadToken()
	return object, err
}

func (d *decoder) list(at place) ([]any, error) {
	if _, err := d.text.ReadToken(); err != nil {
		return nil, err
	}
	element := elsewhere
	if at == itemsList {
		element = root
	}
	list := []any{}
	for kind := d.text.PeekKind(); kind != ']' && kind > 0; kind = d.text.PeekKind() {
		value, err := d.value(element)
		if err != nil {
			return nil, err
		}
		list = append(list, value)
	}
	_, err := d.text.ReadToken()
	return list, err
}

// name reads the name of a field.
func (d *decoder) name() (string, error) {
	quoted, err := d.text.ReadValue()
	if err != nil {
		return "", err
	}
	plain, ok := unescaped(quoted)
	if !ok {
		text, err := jsontext.AppendUnquote(nil, quoted)
		return string(text), err
	}
	if name, ok := d.names[string(plain)]; ok {
		return name, nil
	}
	name := string(plain)
	if len(name) <= longestName {
		d.names[name] = name
	}
	return name, nil
}

func (d *decoder) string() (string, error) {
	quoted, err := d.text.ReadValue()
	if err != nil {
		return "", err
	}
	if plain, ok := unescaped(quoted); ok {
		return string(plain), nil
	}
	text, err := jsontext.AppendUnquote(nil, quoted)
	return string(text), err
}

// unescaped gives what stands between the quotes, if it stands for itself.
func unescaped(quoted jsontext.Value) ([]byte, bool) {
	plain := quoted[1 : len(quoted)-1]
	return plain, bytes.IndexByte(plain, '\\') < 0
}

// number is an int64 where the text is an integer that fits, and a float64 otherwise, as everywhere in Kubernetes.
func (d *decoder) number() (any, error) {
	text, err := d.text.ReadValue()
	if err != nil {
		return nil, err
	}
	if !bytes.ContainsAny(text, ".eE") {
		if integer, err := strconv.ParseInt(string(text), 10, 64); err == nil {
			return integer, nil
		}
	}
	return strconv.ParseFloat(string(text), 64)
}
