package cel

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	celgo "github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"
)

// eval compiles and evaluates, and gives the JSON value.
func eval(t *testing.T, env *Env, vars Activation, source string) (any, error) {
	t.Helper()
	x, err := env.Compile(source, Template)
	if err != nil {
		t.Fatalf("Compile(%s): %v", source, err)
	}
	v, err := x.Eval(context.Background(), vars)
	if err != nil {
		return nil, err
	}
	return ToJSON(v)
}

func TestEvalTellsMissingDataFromFaults(t *testing.T) {
	env, vars := testEnv(t, Variable{"absent", celgo.DynType}), testVars(t)
	for source, tc := range map[string]struct {
		pending bool
		message string
	}{
		"schema.spec.gone":                                    {true, "no such key: gone"},
		"schema.spec.o.nothing.there":                         {true, "no such key: nothing"},
		"schema.spec.m['q']":                                  {true, "no such key: q"},
		"schema.spec.names[7]":                                {true, "index out of bounds: 7"},
		"absent.metadata.name":                                {true, "no such attribute(s): absent"},
		"schema.spec.names.map(n, schema.spec.m[n])":          {true, "no such key: b"},
		"1 / (schema.spec.num - 3)":                           {false, "division by zero"},
		"schema.spec.o.keep + 1":                              {false, "no such overload"},
		"int(schema.spec.word)":                               {false, "word"},
		"json.unmarshal('no such key: x').a":                  {false, "json.unmarshal failed to parse JSON"},
		"duration(schema.spec.word)":                          {false, "duration"},
		"url('no such key: %zz')":                             {false, "no such key"},
		"lists.setAtIndex([1], 5, 1)":                         {false, "lists.setAtIndex: index 5 out of bounds [0, 1)"},
		"lists.insertAtIndex([1], 5, 1)":                      {false, "lists.insertAtIndex: index 5 out of bounds [0, 1]"},
		"random.seededString(0, 'a')":                         {false, "random.seededString length must be positive"},
		"random.seededString(2000000000, 'a')":                {false, "random.seededString length must be at most"},
		"random.seededInt(3, 3, 'a')":                         {false, "random.seededInt min must be less than max"},
		"optional.none().value()":                             {false, "optional.none()"},
		"'a' + dyn(omit())":                                   {false, "no such overload"},
		"omit() == omit()":                                    {false, "omit() cannot be compared"},
		"{'a': 1}.deepMerge(3)":                               {false, "no such overload"},
		"schema.spec.gone == 'x' || schema.spec.num / 0 == 1": {true, "no such key: gone"},
	} {
		x, err := env.Compile(source, Template)
		if err != nil {
			t.Errorf("Compile(%s): %v", source, err)
			continue
		}
		_, err = x.Eval(context.Background(), vars)
		var fault *EvalError
		if !errors.As(err, &fault) {
			t.Errorf("Eval(%s) gave %v, want an *EvalError", source, err)
			continue
		}
		if fault.Pending != tc.pending || !strings.Contains(fault.Error(), tc.message) || !strings.HasPrefix(fault.Error(), "eval ") {
			t.Errorf("%s: pending %v, %q; want pending %v, message with %q", source, fault.Pending, fault.Error(), tc.pending, tc.message)
		}
	}
}

func TestEvalCopes(t *testing.T) {
	env, vars := testEnv(t), testVars(t)
	for source, want := range map[string]any{
		"schema.spec.port":  int64(80),
		"schema.spec.odd":   "odd",
		"schema.spec.ratio": float64(2), // an integer in the data of a number field
		"schema.spec.ref.__in__ + schema.spec.ref.`a-b`":     "insidedash",
		"schema.spec.ref.a__dash__b + schema.spec.ref.name":  "dashn",
		"schema.spec.ref.namespace":                          "ns",
		"schema.spec.?gone":                                  nil,
		"has(schema.spec.ref.__in__)":                        true,
		"schema.metadata.creationTimestamp":                  "2024-02-29T01:00:00Z",
		"schema.metadata.creationTimestamp + duration('1h')": "2024-02-29T02:00:00Z",
		"duration('90m')":                                    "1h30m0s",
		"uint(7)":                                            int64(7),
		"null":                                               nil,
		"schema.spec.m":                                      map[string]any{"k": "v"},
		"schema.spec.names + ['c']":                          []any{"b", "a", "c"},
		"size(schema.spec.m) == 1":                           true,
		"schema.spec.nulls.deep.list[1].k == null":           true,
		"schema.spec.names == ['b', 'a']":                    true,
		"{'k': 'v'} == schema.spec.m":                        true,
		"schema.spec.m == {'k': 'v'}":                        true,
		"schema.spec.m == {'k': 'w'}":                        false,
		"'b' in schema.spec.names && 'k' in schema.spec.m":   true,
		"json.encode(schema.spec.o)":                         `{"a":{"l":[1,2],"x":1},"keep":"k"}`,
		"'%s'.format([schema.spec.names])":                   "[b, a]",
		"schema.spec.o.merge({'added': true})": map[string]any{
			"a": map[string]any{"x": int64(1), "l": []any{int64(1), int64(2)}}, "keep": "k", "added": true},
		"[schema.spec.flag ? omit() : 1, 2]":                []any{Omitted, int64(2)},
		"{'a': omit()}":                                     map[string]any{"a": Omitted},
		"type(schema.spec) == map":                          true,
		"optional.ofNonZeroValue(schema.spec.m).hasValue()": true,
	} {
		got, err := eval(t, env, vars, source)
		if err != nil {
			t.Errorf("%s: %v", source, err)
			continue
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", source, diff)
		}
	}
}

// TestFunctionsTakeViews: what works on literals works on data.
func TestFunctionsTakeViews(t *testing.T) {
	item := objectNode(properties{"k": intNode, "v": textNode})
	node := objectNode(properties{"nums": listNode(intNode), "items": listNode(item), "lists": listNode(listNode(intNode)), "m": textMapNode})
	types := NewTypes()
	env, err := NewEnv(types, Variable{"x", types.Declare("x", node)}, Variable{"free", celgo.DynType})
	if err != nil {
		t.Fatal(err)
	}
	data := map[string]any{
		"nums":  []any{int64(3), int64(1), float64(2), int64(1)},
		"items": []any{map[string]any{"k": int64(2), "v": "two"}, map[string]any{"k": int64(1), "v": "one"}},
		"lists": []any{[]any{int64(1)}, []any{int64(2), int64(3)}},
		"m":     map[string]any{"b": "2", "a": "1"},
	}
	vars, err := celgo.NewActivation(map[string]any{"x": types.Value(node, data), "free": plain(data)})
	if err != nil {
		t.Fatal(err)
	}
	for source, want := range map[string]any{
		"x.nums.sort()":                                  []any{int64(1), int64(1), int64(2), int64(3)},
		"x.nums.distinct()":                              []any{int64(3), int64(1), int64(2)},
		"x.nums.reverse()":                               []any{int64(1), int64(2), int64(1), int64(3)},
		"x.nums.slice(1, 3)":                             []any{int64(1), int64(2)},
		"x.nums.sum() + x.nums.min() + x.nums.max()":     int64(11),
		"x.nums.indexOf(1) + x.nums.lastIndexOf(1)":      int64(4),
		"x.nums.isSorted()":                              false,
		"x.nums.first().value()":                         int64(3),
		"x.items.sortBy(i, i.k).map(i, i.v)":             []any{"one", "two"},
		"x.items.filter(i, i.k > 1)":                     []any{map[string]any{"k": int64(2), "v": "two"}},
		"x.items.map(i, {i.v: i.k})":                     []any{map[string]any{"two": int64(2)}, map[string]any{"one": int64(1)}},
		"x.lists.flatten()":                              []any{int64(1), int64(2), int64(3)},
		"x.m.transformMap(k, v, v + k)":                  map[string]any{"a": "1a", "b": "2b"},
		"x.m.transformMapEntry(k, v, {v: k})":            map[string]any{"1": "a", "2": "b"},
		"lists.setAtIndex(x.nums, 0, 9)[0]":              int64(9),
		"'%s %s'.format([x.nums, x.m])":                  "[3, 1, 2, 1] {a: 1, b: 2}",
		"dyn(x.items[0]) == {'k': 2, 'v': 'two'}":        true,
		"[x.items[1]] == x.items.filter(i, i.k == 1)":    true,
		"x.items[0] in x.items":                          true,
		"free.items.exists(i, i.k == 1)":                 true,
		"free.lists.map(l, l[0] + 1)[0]":                 int64(2),
		"1 in free.m":                                    false,
		"free.m == x.m && x.m == free.m":                 true,
		"x.m.merge(x.m) == x.m":                          true,
		"cel.bind(a, x.nums + x.nums, size(a))":          int64(8),
		"has(free.nothing) || has(x.items[0].v)":         true,
		"json.encode(x.items)":                           `[{"k":2,"v":"two"},{"k":1,"v":"one"}]`,
		"optional.ofNonZeroValue(x.lists[0]).hasValue()": true,
	} {
		got, err := eval(t, env, vars, source)
		if err != nil {
			t.Errorf("%s: %v", source, err)
			continue
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", source, diff)
		}
	}
}

func TestCompileAndEvalAreConcurrent(t *testing.T) {
	types := NewTypes()
	deployment := kindNode(t, "apps", "v1", "Deployment")
	env, err := NewEnv(types, Variable{"dep", types.Declare("dep", deployment)})
	if err != nil {
		t.Fatal(err)
	}
	vars, err := celgo.NewActivation(map[string]any{"dep": types.Value(deployment, map[string]any{
		"metadata": map[string]any{"name": "d", "labels": map[string]any{"a": "b"}}, "spec": map[string]any{"replicas": int64(2)}})})
	if err != nil {
		t.Fatal(err)
	}
	sources := []string{"dep.spec.replicas", "dep.metadata.labels.map(k, k)", "has(dep.spec.template.spec.containers)", "dep.metadata.name + '-x'"}
	var group errgroup.Group
	for range 8 {
		group.Go(func() error {
			for _, source := range sources {
				x, err := env.Compile(source, Template)
				if err != nil {
					return err
				}
				if _, err := x.Eval(context.Background(), vars); err != nil && !strings.Contains(err.Error(), "no such key") {
					return err
				}
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		t.Error(err)
	}
}

func TestMapsAreVisitedInOrderOfTheirKeys(t *testing.T) {
	data := map[string]any{}
	var sorted []string
	for c := 'a'; c <= 'z'; c++ {
		data[string(c)] = "x"
		sorted = append(sorted, string(c))
	}
	env := testEnv(t, Variable{"typed", celgo.MapType(celgo.StringType, celgo.StringType)}, Variable{"free", celgo.DynType})
	vars, err := celgo.NewActivation(map[string]any{"typed": view(textMapNode, data), "free": plain(data)})
	if err != nil {
		t.Fatal(err)
	}
	all := strings.Join(sorted, "")
	literal := "{'q': 1, 'b': 2, 'z': 3, 'a': 4, 'm': 5, 'c': 6, 'x': 7}"
	for source, want := range map[string]string{
		"typed.map(k, k).join()":                                                              all,
		"free.map(k, k).join()":                                                               all,
		"typed.transformList(k, v, k).join()":                                                 all,
		"free.filter(k, true).join()":                                                         all,
		"typed.merge({'A': 'y'}).map(k, k).join()":                                            "A" + all,
		"typed.deepMerge({'A': 'y'}).map(k, k).join()":                                        "A" + all,
		"typed.transformMap(k, v, v).map(k, k).join()":                                        all,
		"typed.transformMapEntry(k, v, {k + k: v}).map(k, k).join().size() == 52 ? 'y' : 'n'": "y",
		literal + ".map(k, k).join()":                                                         "abcmqxz",
		"cel.bind(m, " + literal + ", m.map(k, k).join())":                                    "abcmqxz",
		"(true ? " + literal + " : {}).transformList(k, v, k).join()":                         "abcmqxz",
		"{3: 'c', 1: 'a', 2: 'b'}.map(k, string(k)).join()":                                   "123",
	} {
		for range 20 {
			got, err := eval(t, env, vars, source)
			if err != nil {
				t.Fatalf("%s: %v", source, err)
			}
			if got != want {
				t.Fatalf("%s gave %v, want %s", source, got, want)
			}
		}
	}
}

func TestListsDoNotShareWhatIsAppended(t *testing.T) {
	elems := make([]any, 1, 8)
	elems[0] = "a"
	env := testEnv(t, Variable{"l", celgo.ListType(celgo.StringType)})
	vars, err := celgo.NewActivation(map[string]any{"l": view(listNode(textNode), elems)})
	if err != nil {
		t.Fatal(err)
	}
	got, err := eval(t, env, vars, "[l + ['b'], l + ['c'], l]")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]any{[]any{"a", "b"}, []any{"a", "c"}, []any{"a"}}, got); diff != "" {
		t.Error(diff)
	}
}

func TestEvalIsBounded(t *testing.T) {
	env, vars := testEnv(t), testVars(t)
	costly := "lists.range(3000).map(a, lists.range(3000).map(b, a * b).size()).size()"
	doubling := "'x'"
	for range 40 {
		doubling = "cel.bind(v, " + doubling + ", v + v)"
	}
	for _, source := range []string{costly, doubling} {
		_, err := eval(t, env.WithCostLimit(10_000), vars, source)
		if err == nil || !strings.Contains(err.Error(), "cost limit exceeded") {
			t.Errorf("got %v, want the cost limit", err)
		}
	}
	if _, err := eval(t, env, vars, doubling); err == nil || !strings.Contains(err.Error(), "cost limit exceeded") {
		t.Errorf("with the default limit: %v, want the cost limit", err)
	}
	x, err := env.WithCostLimit(0).Compile("lists.range(10000).map(a, a * a).size()", Template)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := x.Eval(context.Background(), vars); err != nil {
		t.Errorf("without a limit: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	stop, err := celgo.NewActivation(map[string]any{"schema": func() any { cancel(); return view(instanceNode, instanceData()) }})
	if err != nil {
		t.Fatal(err)
	}
	y, err := env.WithCostLimit(0).Compile("lists.range(10000).map(a, a + schema.spec.num).size()", Template)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := y.Eval(ctx, stop); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled inside: %v", err)
	}
	if _, err := y.Eval(ctx, vars); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled before: %v", err)
	}
}

// panicking is a value that breaks whoever looks at it.
type panicking struct{ ref.Val }

func (panicking) Type() ref.Type { panic("broken value") }

func TestEvalTurnsPanicsIntoErrors(t *testing.T) {
	env := testEnv(t, Variable{"bad", celgo.DynType})
	x, err := env.Compile("bad + 1", Template)
	if err != nil {
		t.Fatal(err)
	}
	vars, err := celgo.NewActivation(map[string]any{"bad": panicking{types.Int(1)}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := x.Eval(context.Background(), vars); err == nil || !strings.Contains(err.Error(), "internal error") {
		t.Errorf("got %v", err)
	}
}

// A constant that is no time, number or regular expression, in a branch, harms those only who take the branch.
func TestBrokenConstantsInBranches(t *testing.T) {
	env, vars := testEnv(t), testVars(t)
	for source, fault := range map[string]string{
		"%s ? duration('soon') : duration('1h')":                      "Duration",
		"%s ? int('abc') : 1":                                         "'int'",
		"%s && schema.spec.word.matches('[')":                         "missing closing ]",
		"!(%s) || schema.spec.word.matches('[')":                      "missing closing ]",
		"(%s ? [1] : []).map(x, timestamp('soon'))":                   "soon",
		"(%s ? optional.none() : optional.of(1)).orValue(int('abc'))": "'int'",
	} {
		for condition, want := range map[string]string{"schema.spec.word == 'nothing like it'": "", "schema.spec.word != 'nothing like it'": fault} {
			source := fmt.Sprintf(source, condition)
			x, err := env.Compile(source, Template)
			if err != nil {
				t.Errorf("Compile(%s): %v", source, err)
				continue
			}
			if _, err = x.Eval(context.Background(), vars); want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
				t.Errorf("Eval(%s) gave %v, want a fault with %q", source, err, want)
			}
		}
	}
}
