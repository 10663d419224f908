package library

import (
	"encoding/json"
	"strings"
	"testing"

	celgo "github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"pgregory.net/rapid"
)

// environment has the library alone, with cel-go's own conversions.
func environment(t *testing.T) *celgo.Env {
	t.Helper()
	encode := func(v ref.Val) (any, error) { return v.Value(), nil }
	env, err := celgo.NewEnv(Functions(Codec{Encode: encode, Decode: types.DefaultTypeAdapter.NativeToValue})...)
	if err != nil {
		t.Fatal(err)
	}
	return env
}

func run(t *testing.T, env *celgo.Env, source string) (ref.Val, error) {
	t.Helper()
	compiled, issues := env.Compile(source)
	if issues.Err() != nil {
		t.Fatalf("%s: %v", source, issues.Err())
	}
	program, err := env.Program(compiled)
	if err != nil {
		t.Fatal(err)
	}
	v, _, err := program.Eval(celgo.NoVars())
	return v, err
}

func TestFunctionsAreExact(t *testing.T) {
	env := environment(t)
	for source, want := range map[string]ref.Val{
		"random.seededString(20, 'abc')":        types.String("r6qfjs5dr6qfjs5dr6qf"),
		"random.seededString(5, 'other seed')":  types.String("j3m83"),
		"random.seededString(3, '')":            types.String("ew0"),
		"random.seededInt(30000, 32768, 'abc')": types.Int(32138),
		"random.seededInt(10, 20, 'abc')":       types.Int(14),
		"random.seededInt(-5, 5, 'seed')":       types.Int(-3),
		"size(hash.sha256('a')) == 32 && size(hash.md5('a')) == 16 && size(hash.fnv64a('a')) == 8":            types.True,
		"{'a': 1, 'b': 2}.merge({'b': 3}) == {'a': 1, 'b': 3}":                                                types.True,
		"{'a': {'x': 1}}.merge({'a': {'y': 2}}) == {'a': {'y': 2}}":                                           types.True,
		"{'a': {'x': 1, 'l': [1]}}.deepMerge({'a': {'y': 2, 'l': [9]}}) == {'a': {'x': 1, 'y': 2, 'l': [9]}}": types.True,
		"deepMerge({'a': {'x': 1}}, {'a': 'flat'}) == {'a': 'flat'}":                                          types.True,
		"lists.setAtIndex([1, 2, 3], 1, 9) == [1, 9, 3]":                                                      types.True,
		"lists.insertAtIndex([1, 2], 0, 9) == [9, 1, 2]":                                                      types.True,
		"lists.insertAtIndex([1, 2], 2, 9) == [1, 2, 9]":                                                      types.True,
		"lists.removeAtIndex([1, 2, 3], 2) == [1, 2]":                                                         types.True,
		"json.unmarshal('[1, \"a\", null]') == [1.0, 'a', null]":                                              types.True,
	} {
		got, err := run(t, env, source)
		if err != nil {
			t.Errorf("%s: %v", source, err)
			continue
		}
		if got.Equal(want) != types.True {
			t.Errorf("%s = %v, want %v", source, got, want)
		}
	}
}

func TestFunctionsRefuse(t *testing.T) {
	env := environment(t)
	for source, want := range map[string]string{
		"random.seededString(-1, 'a')":       "random.seededString length must be positive",
		"random.seededString(1048577, 'a')":  "random.seededString length must be at most 1048576, got 1048577",
		"random.seededString(dyn('a'), 'a')": "no such overload",
		"random.seededInt(5, 5, 'a')":        "random.seededInt min must be less than max",
		"lists.setAtIndex([1], 1, 2)":        "lists.setAtIndex: index 1 out of bounds [0, 1)",
		"lists.setAtIndex([1], -1, 2)":       "lists.setAtIndex: index -1 out of bounds [0, 1)",
		"lists.insertAtIndex([1], 2, 2)":     "lists.insertAtIndex: index 2 out of bounds [0, 1]",
		"lists.removeAtIndex([1], 1)":        "lists.removeAtIndex: index 1 out of bounds [0, 1)",
		"json.unmarshal('{')":                "json.unmarshal failed to parse JSON: unexpected end of JSON input",
		"{'a': 1}.deepMerge([1])":            "no such overload",
		"omit() == 1":                        "omit() cannot be compared",
		"string(omit())":                     "no such overload",
	} {
		got, err := run(t, env, source)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s = %v, %v; want error %q", source, got, err, want)
		}
	}
}

// TestSeededValuesStayInRange holds for every range and seed, also the widest.
func TestSeededValuesStayInRange(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		low := rapid.Int64().Draw(r, "low")
		high := rapid.Int64().Draw(r, "high")
		if low >= high {
			low, high = high, low
		}
		if low == high {
			r.Skip("empty range")
		}
		seed := types.String(rapid.String().Draw(r, "seed"))
		got := seededInt(types.Int(low), types.Int(high), seed)
		if n, ok := got.(types.Int); !ok || int64(n) < low || int64(n) >= high {
			r.Fatalf("seededInt(%d, %d) = %v", low, high, got)
		}
		n := rapid.IntRange(1, 100).Draw(r, "length")
		text, ok := seededString(types.Int(n), seed).(types.String)
		if !ok || len(text) != n {
			r.Fatalf("seededString(%d) = %v", n, text)
		}
		for i := 8; i < n; i++ {
			if text[i] != text[i-8] {
				r.Fatalf("%q does not repeat every eight characters", text)
			}
		}
	})
}

// TestMergeKeepsBothSides: every key of either side is there, and the right one wins.
func TestMergeKeepsBothSides(t *testing.T) {
	values := rapid.MapOfN(rapid.StringMatching(`[a-d]`), rapid.Int(), 0, 4)
	rapid.Check(t, func(r *rapid.T) {
		left, right := values.Draw(r, "left"), values.Draw(r, "right")
		want := map[string]int{}
		for k, v := range left {
			want[k] = v
		}
		for k, v := range right {
			want[k] = v
		}
		adapter := types.DefaultTypeAdapter
		for _, got := range []ref.Val{
			merge(adapter.NativeToValue(left), adapter.NativeToValue(right)),
			deepMerge(adapter.NativeToValue(left), adapter.NativeToValue(right)),
		} {
			if got.Equal(adapter.NativeToValue(want)) != types.True {
				text, _ := json.Marshal(want)
				r.Fatalf("got %v, want %s", got, text)
			}
		}
	})
}
