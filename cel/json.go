package cel

import (
	"encoding/base64"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"

	"kro.run/kro/cel/library"
	"kro.run/kro/schema"
)

// omitted is the type of Omitted, so that no other value is taken for it.
type omitted struct{}

// MarshalJSON fails: a placeholder that nobody removed must not reach the wire.
func (omitted) MarshalJSON() ([]byte, error) {
	return nil, errors.New("omit() has no JSON form: it stands for the absence of a field")
}

// Omitted stands in the results of ToJSON for a value that omit() took away. Whoever assembles the object removes the field or element; recognise it
// with IsOmitted.
var Omitted any = omitted{}

// IsOmitted says that a JSON value is to be left out.
func IsOmitted(v any) bool {
	_, ok := v.(omitted)
	return ok
}

var errBytes = errors.New("bytes value cannot be used directly in a resource template or status field; encode it explicitly, e.g. base64.encode(...)")

// ToJSON converts a result to a JSON value that shares nothing with the values it was made from: map[string]any, []any, string, bool, int64, float64,
// nil or Omitted. Times become RFC 3339 text, durations Go's form (1h30m0s), an absent optional and null become nil. Bytes, map keys that are no text and
// values without a JSON form (quantities, URLs) are errors.
func ToJSON(v ref.Val) (any, error) {
	return ToJSONFor(nil, v)
}

// ToJSONFor is ToJSON for a field of the given schema: where it has the format byte, bytes become base64 text.
func ToJSONFor(target *schema.Node, v ref.Val) (any, error) {
	switch x := v.(type) {
	case types.String:
		return string(x), nil
	case types.Bool:
		return bool(x), nil
	case types.Int:
		return int64(x), nil
	case types.Double:
		return double(float64(x))
	case types.Uint:
		if x > math.MaxInt64 {
			return nil, fmt.Errorf("unsigned integer %d is larger than the largest integer of a Kubernetes object, %d", uint64(x), int64(math.MaxInt64))
		}
		return int64(x), nil
	case types.Null:
		return nil, nil
	case types.Timestamp:
		return x.Time.Format(time.RFC3339Nano), nil
	case types.Duration:
		return x.Duration.String(), nil
	case types.Bytes:
		if kindOf(target) == kindBytes {
			return base64.StdEncoding.EncodeToString(x), nil
		}
		return nil, errBytes
	case *types.Optional:
		if !x.HasValue() {
			return nil, nil
		}
		return ToJSONFor(target, x.GetValue())
	case *types.Err:
		return nil, x
	}
	return containerToJSON(target, v)
}

func containerToJSON(target *schema.Node, v ref.Val) (any, error) {
	switch x := v.(type) {
	case *object:
		return copyJSON(target, x.node, x.fields)
	case *list:
		return copyList(target, x.items, x.elems)
	case traits.Mapper:
		return mapToJSON(target, x)
	case traits.Lister:
		return listToJSON(target, x)
	}
	if v == library.Omit {
		return Omitted, nil
	}
	if v == nil {
		return nil, fmt.Errorf("the expression gave no value")
	}
	return nil, fmt.Errorf("unsupported type: %s", typeName(v))
}

// typeName names the type of a value as an author knows it.
func typeName(v ref.Val) string {
	return strings.TrimPrefix(v.Type().TypeName(), "google.protobuf.")
}

func double(f float64) (any, error) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return nil, fmt.Errorf("number %v has no JSON form", f)
	}
	return f, nil
}

func mapToJSON(target *schema.Node, m traits.Mapper) (any, error) {
	out := make(map[string]any, int(m.Size().(types.Int)))
	for it := m.Iterator(); it.HasNext() == types.True; {
		key := it.Next()
		name, ok := key.(types.String)
		if !ok {
			return nil, fmt.Errorf("map key must be string, got %s", typeName(key))
		}
		value, _ := m.Find(key)
		converted, err := ToJSONFor(childOf(target, string(name)), value)
		if err != nil {
			return nil, err
		}
		out[string(name)] = converted
	}
	return out, nil
}

func listToJSON(target *schema.Node, l traits.Lister) (any, error) {
	out := make([]any, 0, int(l.Size().(types.Int)))
	for it := l.Iterator(); it.HasNext() == types.True; {
		converted, err := ToJSONFor(itemsOf(target), it.Next())
		if err != nil {
			return nil, err
		}
		out = append(out, converted)
	}
	return out, nil
}

// copyJSON copies a value that is read by a view as it stands on the wire, so times and numbers keep the form the server gave them. Text of format
// byte must go to a field of format byte, as if it had been read.
func copyJSON(target, source *schema.Node, v any) (any, error) {
	switch x := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(x))
		for name, value := range x {
			copied, err := copyJSON(childOf(target, name), childOf(source, name), value)
			if err != nil {
				return nil, err
			}
			out[name] = copied
		}
		return out, nil
	case []any:
		return copyList(target, itemsOf(source), x)
	case string:
		if source != nil && kindOf(source) == kindBytes && kindOf(target) != kindBytes {
			return nil, errBytes
		}
		return x, nil
	case nil, bool, int64, float64:
		return x, nil
	}
	return ToJSON(plain(v))
}

func copyList(target, items *schema.Node, l []any) (any, error) {
	out := make([]any, len(l))
	for i, value := range l {
		copied, err := copyJSON(itemsOf(target), items, value)
		if err != nil {
			return nil, err
		}
		out[i] = copied
	}
	return out, nil
}

func childOf(n *schema.Node, name string) *schema.Node {
	if n == nil {
		return nil
	}
	if child, ok := n.Properties[name]; ok {
		return child
	}
	return n.AdditionalProperties
}

func itemsOf(n *schema.Node) *schema.Node {
	if n == nil {
		return nil
	}
	return n.Items
}
