package cel

import (
	"encoding/base64"
	"math"
	"time"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"k8s.io/kube-openapi/pkg/validation/strfmt"

	"kro.run/kro/schema"
)

// Value gives the CEL view of a JSON value (map[string]any, []any, string, bool, int64, float64, nil) as its schema types it: text of format byte is
// bytes, dates and times are timestamps, a null property is absent, a whole number is an integer where the schema wants one. What the schema does
// not name, and all of a nil schema, is read as it is.
//
// The view copies nothing and keeps v, which must not change as long as the view is used. Data that contradicts its schema is read as an error that
// says so.
func (t *Types) Value(n *schema.Node, v any) ref.Val {
	return view(n, v)
}

// view is Value; it needs no Types.
func view(n *schema.Node, v any) ref.Val {
	if v == nil {
		return types.NullValue
	}
	switch kindOf(n) {
	case kindDyn, kindScalar, kindHidden:
		return plain(v)
	case kindOpen, kindStruct, kindMap:
		if m, ok := v.(map[string]any); ok {
			return &object{node: n, fields: m}
		}
		return mismatch("an object", v)
	case kindList:
		if l, ok := v.([]any); ok {
			return &list{items: n.Items, elems: l}
		}
		return mismatch("a list", v)
	case kindBool:
		if b, ok := v.(bool); ok {
			return types.Bool(b)
		}
		return mismatch("a boolean", v)
	case kindInteger:
		return integer(v)
	case kindNumber:
		return number(v)
	}
	s, ok := v.(string)
	if !ok {
		return mismatch("text", v)
	}
	return text(n, s)
}

// text reads text in the form its format says.
func text(n *schema.Node, s string) ref.Val {
	switch kindOf(n) {
	case kindBytes:
		b, err := base64.StdEncoding.DecodeString(s)
		if err != nil {
			return types.NewErr("invalid base64 text in a field of format byte: %v", err)
		}
		return types.Bytes(b)
	case kindDate:
		d, err := time.Parse(time.DateOnly, s)
		if err != nil {
			return types.NewErr("invalid date %q: %v", s, err)
		}
		return types.Timestamp{Time: d}
	case kindTimestamp:
		return timestamp(s)
	case kindDuration:
		return duration(s)
	}
	return types.String(s)
}

// timestamp reads RFC 3339 and, as the API server does, the looser forms of OpenAPI's date-time.
func timestamp(s string) ref.Val {
	if d, err := time.Parse(time.RFC3339Nano, s); err == nil {
		return types.Timestamp{Time: d}
	}
	d, err := strfmt.ParseDateTime(s)
	if err != nil {
		return types.NewErr("invalid time %q: %v", s, err)
	}
	return types.Timestamp{Time: time.Time(d)}
}

func duration(s string) ref.Val {
	d, err := strfmt.ParseDuration(s)
	if err != nil {
		return types.NewErr("invalid duration %q: %v", s, err)
	}
	return types.Duration{Duration: d}
}

// integer takes whole numbers in floating form too: they come from JSON documents that write 1.0.
func integer(v any) ref.Val {
	switch i := v.(type) {
	case int64:
		return types.Int(i)
	case int:
		return types.Int(i)
	case int32:
		return types.Int(i)
	case float64:
		if i == math.Trunc(i) && math.Abs(i) < 1<<63 {
			return types.Int(int64(i))
		}
	}
	return mismatch("a whole number", v)
}

func number(v any) ref.Val {
	switch f := v.(type) {
	case float64:
		return types.Double(f)
	case float32:
		return types.Double(f)
	case int64:
		return types.Double(f)
	case int:
		return types.Double(f)
	case int32:
		return types.Double(f)
	}
	return mismatch("a number", v)
}

// plain reads a value without a schema. JSON values become views that copy nothing; anything else is left to cel-go.
func plain(v any) ref.Val {
	switch p := v.(type) {
	case nil:
		return types.NullValue
	case ref.Val:
		return p
	case string:
		return types.String(p)
	case bool:
		return types.Bool(p)
	case int64:
		return types.Int(p)
	case float64:
		return types.Double(p)
	case map[string]any:
		return &object{fields: p}
	case []any:
		return &list{elems: p}
	}
	return types.DefaultTypeAdapter.NativeToValue(v)
}

func mismatch(want string, got any) ref.Val {
	return types.NewErr("invalid data: expected %s by its schema, got %s", want, jsonKind(got))
}

// jsonKind names the JSON kind of a value; the value itself may be secret and stays out of messages.
func jsonKind(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case map[string]any:
		return "object"
	case []any:
		return "list"
	case string:
		return "text"
	case bool:
		return "boolean"
	case int64, int, int32, float64, float32:
		return "number"
	}
	return "an unknown value"
}
