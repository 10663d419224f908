package cel

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/structpb"
	"pgregory.net/rapid"

	"kro.run/kro/schema"
)

func TestValueReadsDataAsItsSchemaTypesIt(t *testing.T) {
	dateNode := &schema.Node{Type: "string", Format: "date"}
	durationNode := &schema.Node{Type: "string", Format: "duration"}
	noon := time.Date(2024, 2, 29, 12, 0, 0, 0, time.UTC)
	cases := map[string]struct {
		node *schema.Node
		in   any
		want ref.Val
	}{
		"text":                            {textNode, "a", types.String("a")},
		"integer":                         {intNode, int64(3), types.Int(3)},
		"whole number as integer":         {intNode, float64(3), types.Int(3)},
		"integer as number":               {numberNode, int64(3), types.Double(3)},
		"boolean":                         {boolNode, true, types.True},
		"bytes":                           {bytesNode, "YQ==", types.Bytes("a")},
		"time":                            {timeNode, "2024-02-29T12:00:00Z", types.Timestamp{Time: noon}},
		"time with microseconds":          {timeNode, "2024-02-29T12:00:00.000000Z", types.Timestamp{Time: noon}},
		"date":                            {dateNode, "2024-02-29", types.Timestamp{Time: noon.Truncate(24 * time.Hour)}},
		"duration":                        {durationNode, "1h30m", types.Duration{Duration: 90 * time.Minute}},
		"number in int-or-string":         {&schema.Node{IntOrString: true}, int64(3), types.Int(3)},
		"text in int-or-string":           {&schema.Node{IntOrString: true}, "25%", types.String("25%")},
		"fraction in a quantity":          {&schema.Node{IntOrString: true}, 0.5, types.Double(0.5)},
		"anything without schema":         {nil, float64(3), types.Double(3)},
		"null":                            {textNode, nil, types.NullValue},
		"text where an integer should be": {intNode, "3", types.NewErr("invalid data: expected a whole number by its schema, got text")},
		"a fraction as integer":           {intNode, 3.5, types.NewErr("invalid data: expected a whole number by its schema, got number")},
		"an object where text should be":  {textNode, map[string]any{}, types.NewErr("invalid data: expected text by its schema, got object")},
		"a list where an object should":   {textMapNode, []any{}, types.NewErr("invalid data: expected an object by its schema, got list")},
		"no time":                         {timeNode, "soon", types.NewErr("invalid time")},
		"no base64":                       {bytesNode, "!", types.NewErr("invalid base64 text")},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := NewTypes().Value(tc.node, tc.in)
			if fault, ok := tc.want.(*types.Err); ok {
				if !types.IsError(got) || !strings.Contains(got.(*types.Err).Error(), fault.Error()) {
					t.Errorf("got %v, want error %q", got, fault)
				}
				return
			}
			if got.Type() != tc.want.Type() || got.Equal(tc.want) != types.True {
				t.Errorf("got %v (%s), want %v (%s)", got, got.Type(), tc.want, tc.want.Type())
			}
		})
	}
}

func TestNullPropertiesAreAbsent(t *testing.T) {
	node := &schema.Node{Type: "object", Properties: properties{"a": textNode, "b": textNode}, PreserveUnknown: true}
	v := view(node, map[string]any{"a": nil, "b": "x", "c": nil, "d": map[string]any{"e": nil}}).(traits.Mapper)
	if _, ok := v.Find(types.String("a")); ok {
		t.Error("a null property is there")
	}
	if v.Size() != types.Int(2) {
		t.Errorf("size %v, want 2: nulls do not count", v.Size())
	}
	var names []string
	for it := v.Iterator(); it.HasNext() == types.True; {
		names = append(names, string(it.Next().(types.String)))
	}
	if diff := cmp.Diff([]string{"b", "d"}, names); diff != "" {
		t.Error(diff)
	}
	deep := v.Get(types.String("d")).(traits.Mapper)
	if e, ok := deep.Find(types.String("e")); !ok || e != types.NullValue {
		t.Errorf("null in data without a schema is %v, %v, want the value null", e, ok)
	}
}

func TestViewsConvertLikeMapsAndListsOfCEL(t *testing.T) {
	v := view(instanceNode, instanceData()).(*object)
	spec := v.Get(types.String("spec")).(*object)
	names := spec.Get(types.String("names"))
	if got, err := names.ConvertToNative(reflect.TypeFor[[]string]()); err != nil || !cmp.Equal(got, []string{"b", "a"}) {
		t.Errorf("list to []string: %v, %v", got, err)
	}
	got, err := spec.Get(types.String("o")).ConvertToNative(types.JSONValueType)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]any{"a": map[string]any{"x": 1.0, "l": []any{1.0, 2.0}}, "keep": "k"}, got.(*structpb.Value).AsInterface()); diff != "" {
		t.Error(diff)
	}
	if v.ConvertToType(types.TypeType) != types.MapType || names.ConvertToType(types.TypeType) != types.ListType {
		t.Error("views do not tell their type")
	}
	if !types.IsError(v.ConvertToType(types.IntType)) || !types.IsError(v.Get(types.Int(1))) || !types.IsError(names.(*list).Get(types.String("x"))) {
		t.Error("nonsense is no error")
	}
}

// TestRoundTrip: any JSON value that is viewed and converted is the same value, and shares nothing with it.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		in := jsonValue(3).Draw(r, "value")
		before, err := json.Marshal(in)
		if err != nil {
			r.Skip("no JSON")
		}
		for _, node := range []*schema.Node{nil, openNode} {
			if _, isObject := in.(map[string]any); node != nil && !isObject {
				continue
			}
			out, err := ToJSON(view(node, in))
			if err != nil {
				r.Fatal(err)
			}
			if diff := cmp.Diff(in, out); diff != "" {
				r.Fatal(diff)
			}
			scribble(out)
			if after, _ := json.Marshal(in); string(after) != string(before) {
				r.Fatalf("changing the result changed the source: %s, was %s", after, before)
			}
		}
	})
}

// TestEqualIsTheSameFromBothSides compares views with CEL's own maps and lists of the same content.
func TestEqualIsTheSameFromBothSides(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		a, b := jsonValue(2).Draw(r, "a"), jsonValue(2).Draw(r, "b")
		want := types.Bool(reflect.DeepEqual(types.DefaultTypeAdapter.NativeToValue(a).Equal(types.DefaultTypeAdapter.NativeToValue(b)), ref.Val(types.True)))
		pairs := [][2]ref.Val{
			{plain(a), plain(b)}, {plain(b), plain(a)},
			{plain(a), types.DefaultTypeAdapter.NativeToValue(b)}, {types.DefaultTypeAdapter.NativeToValue(a), plain(b)},
		}
		for i, p := range pairs {
			if got := types.Equal(p[0], p[1]); got != ref.Val(want) {
				r.Fatalf("pair %d: %v, want %v", i, got, want)
			}
		}
	})
}

func jsonValue(depth int) *rapid.Generator[any] {
	scalar := rapid.OneOf(
		rapid.Map(rapid.StringMatching(`[a-z_]{0,4}`), func(s string) any { return s }),
		rapid.Map(rapid.Int64Range(-9, 9), func(i int64) any { return i }),
		rapid.Map(rapid.Bool(), func(b bool) any { return b }),
		rapid.Just[any](nil), rapid.Just[any](1.5),
	)
	if depth == 0 {
		return scalar
	}
	return rapid.OneOf(scalar,
		rapid.Map(rapid.SliceOfN(jsonValue(depth-1), 0, 3), func(l []any) any { return l }),
		rapid.Map(rapid.MapOfN(rapid.StringMatching(`[a-z]{1,3}`), jsonValue(depth-1), 0, 3), func(m map[string]any) any { return m }))
}

// scribble changes every container of a value.
func scribble(v any) {
	switch x := v.(type) {
	case map[string]any:
		for _, child := range x {
			scribble(child)
		}
		x["scribbled"] = true
	case []any:
		for i, child := range x {
			scribble(child)
			x[i] = "scribbled"
		}
	}
}

func TestResultsWithoutJSONForm(t *testing.T) {
	env, vars := testEnv(t), testVars(t)
	for source, want := range map[string]string{
		"b'x'":                         "bytes value cannot be used directly in a resource template or status field; encode it explicitly, e.g. base64.encode(...)",
		"['a', b'x']":                  "bytes value cannot be used directly",
		"{1: 'a'}":                     "map key must be string, got int",
		"quantity('1')":                "unsupported type: kubernetes.Quantity",
		"url('http://x')":              "unsupported type: kubernetes.URL",
		"uint('18446744073709551615')": "larger than the largest integer",
		"0.0 / 0.0":                    "has no JSON form",
		"type(1)":                      "unsupported type: type",
		"json.marshal({'a': omit()})":  "omit() has no JSON form",
		"json.marshal(b'x')":           "bytes value cannot be used directly",
	} {
		_, err := eval(t, env, vars, source)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", source, err, want)
		}
	}
}

func TestTruth(t *testing.T) {
	for name, tc := range map[string]struct {
		in           ref.Val
		truth, known bool
		fault        bool
	}{
		"true":            {in: types.True, truth: true, known: true},
		"false":           {in: types.False, known: true},
		"null":            {in: types.NullValue},
		"absent":          {in: types.OptionalNone},
		"optional true":   {in: types.OptionalOf(types.True), truth: true, known: true},
		"text is a fault": {in: types.String("true"), fault: true},
	} {
		truth, known, err := Truth(tc.in)
		if truth != tc.truth || known != tc.known || (err != nil) != tc.fault {
			t.Errorf("%s: %v, %v, %v", name, truth, known, err)
		}
	}
}
