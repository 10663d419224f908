package cel

import (
	"context"
	"strings"
	"testing"

	celgo "github.com/google/cel-go/cel"
	"github.com/google/go-cmp/cmp"
)

func TestConditionEntriesRefused(t *testing.T) {
	env := testEnv(t)
	for source, want := range map[string]string{
		"schema.metadata.name":         `condition "schema.metadata.name": condition expressions must return runtime.newCondition(...) or a list of them, got "string"`,
		"['a']":                        `or a list of them, got "list(string)"`,
		"runtime.newCondition(schema)": "runtime.newCondition: argument must be a map literal",
		"runtime.newCondition({'type': 'Up', 'status': 'True'})":                                "keys must be bare identifiers (type, status, reason, message); quoted or computed keys are not allowed",
		"runtime.newCondition({'a' + 'b': 'Up', status: 'True'})":                               "keys must be bare identifiers",
		"runtime.newCondition({type: 'Up', status: 'True', color: 'r'})":                        `unknown key "color" (allowed: type, status, reason, message)`,
		"runtime.newCondition({type: 'Up', status: 'True', type: 'U'})":                         `duplicate key "type"`,
		"runtime.newCondition({status: 'True'})":                                                "'type' is required",
		"runtime.newCondition({type: 'Up'})":                                                    "'status' is required",
		"runtime.newCondition({type: 'Up', status: 'Maybe'})":                                   `runtime.newCondition: status must be one of True, False, Unknown (got "Maybe") in expression "runtime.newCondition({type: 'Up', status: 'Maybe'})"`,
		"runtime.newCondition({type: 'Up', status: schema.spec.flag ? 'True' : 'Nope'})":        `(got "Nope")`,
		"runtime.newCondition({type: '', status: 'True'})":                                      "runtime.newCondition: type must not be empty in expression",
		"runtime.newCondition({type: 'Up', status: 1})":                                         "status",
		"runtime.newCondition({type: 'Up', status: runtime.condition(schema, 'Ready').colour})": "undefined field 'colour'",
		"runtime.nothing(schema)":                                                               "nothing",
		"runtime":                                                                               "runtime",
	} {
		_, err := env.Compile(source, StatusConditions)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\n got %v\nwant %s", source, err, want)
		}
	}
}

func TestConditionEntriesAgainstEachOther(t *testing.T) {
	env := testEnv(t)
	compile := func(sources ...string) []*Expression {
		entries := make([]*Expression, len(sources))
		for i, source := range sources {
			if source == "" {
				continue
			}
			x, err := env.Compile(source, StatusConditions)
			if err != nil {
				t.Fatal(err)
			}
			entries[i] = x
		}
		return entries
	}
	up := "runtime.newCondition({type: 'Up', status: 'True'})"
	reads := func(name string) string {
		return "runtime.newCondition({type: 'Two', status: runtime.condition(schema, '" + name + "').status})"
	}
	cases := map[string]struct {
		entries []*Expression
		want    []ConditionFault
	}{
		"built-in types may be read and declared": {compile("runtime.newCondition({type: 'Ready', status: runtime.condition(schema, 'Ready').status})", ""), nil},
		"one entry may repeat a type":             {compile("schema.spec.flag ? " + up + " : " + up), nil},
		"a type in two entries":                   {compile(up, "", "["+up+"]"), []ConditionFault{{2, `condition type "Up" is declared by more than one conditions entry`}}},
		"custom conditions read each other": {compile(reads("Up"), up), []ConditionFault{{0,
			`runtime.condition(schema, "Up"): custom conditions cannot reference each other in expression "` + reads("Up") + `"`}}},
		"a type nobody knows": {compile(reads("Nope")), []ConditionFault{{0, `runtime.condition(schema, "Nope"): unknown condition type; ` +
			`only kro's built-in types (InstanceManaged, GraphResolved, ResourcesReady, Ready) can be read from schema in expression "` + reads("Nope") + `"`}}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, ConditionFaults(tc.entries)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestConditionsEvaluate(t *testing.T) {
	types := NewTypes()
	conditionNode := objectNode(properties{"type": textNode, "status": textNode, "reason": textNode, "message": textNode})
	fanNode := objectNode(properties{"status": objectNode(properties{"conditions": listNode(conditionNode)})})
	env, err := NewEnv(types, Variable{"schema", types.Declare("schema", instanceNode)}, Variable{"fan", types.Declare("fan", fanNode)},
		Variable{"bare", types.Declare("bare", fanNode)})
	if err != nil {
		t.Fatal(err)
	}
	fan := map[string]any{"status": map[string]any{"conditions": []any{
		map[string]any{"type": "Progressing", "status": "False"},
		map[string]any{"type": "Available", "status": "True", "reason": "Spinning", "message": "m"},
	}}}
	instance := WithConditions(types.Value(instanceNode, instanceData()), []StatusCondition{{Type: "ResourcesReady", Status: "True", Reason: "AllResourcesReady"}})
	vars, err := celgo.NewActivation(map[string]any{"schema": instance, "fan": types.Value(fanNode, fan), "bare": types.Value(fanNode, map[string]any{})})
	if err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct {
		source string
		want   []StatusCondition
		fault  string
	}{
		"of the instance": {source: "runtime.newCondition({type: 'A', status: runtime.condition(schema, 'ResourcesReady').status, reason: runtime.condition(schema, 'ResourcesReady').reason})",
			want: []StatusCondition{{Type: "A", Status: "True", Reason: "AllResourcesReady"}}},
		"of an object": {source: "runtime.newCondition({type: 'B', status: runtime.condition(fan, 'Available').status, message: runtime.condition(fan, 'Available').message + schema.metadata.name})",
			want: []StatusCondition{{Type: "B", Status: "True", Message: "mr"}}},
		"of an object without any": {source: "runtime.newCondition({type: 'C', status: runtime.condition(bare, 'Available').status == '' ? 'Unknown' : 'True'})",
			want: []StatusCondition{{Type: "C", Status: "Unknown"}}},
		"a list": {source: "[runtime.newCondition({type: 'A', status: 'True'}), runtime.condition(fan, 'Progressing')]",
			want: []StatusCondition{{Type: "A", Status: "True"}, {Type: "Progressing", Status: "False"}}},
		"a list from a loop": {source: "schema.spec.names.map(n, runtime.newCondition({type: n, status: 'True'}))",
			want: []StatusCondition{{Type: "b", Status: "True"}, {Type: "a", Status: "True"}}},
		"a computed status that is none": {source: "runtime.newCondition({type: 'A', status: schema.spec.word})", fault: `status must be one of True, False, Unknown (got "word")`},
		"a computed type that is empty":  {source: "runtime.newCondition({type: runtime.condition(bare, 'X').type, status: 'True'})", fault: "type must not be empty"},
		"something else":                 {source: "schema.spec.o.keep", fault: "must return runtime.newCondition(...) or a list of them, got string"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			x, err := env.Compile(tc.source, StatusConditions)
			if err != nil {
				t.Fatal(err)
			}
			v, err := x.Eval(context.Background(), vars)
			if err != nil {
				t.Fatal(err)
			}
			got, err := ConditionsOf(v)
			if tc.fault != "" {
				if err == nil || !strings.Contains(err.Error(), tc.fault) {
					t.Fatalf("got %v, want %q", err, tc.fault)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
