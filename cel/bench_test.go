package cel

import (
	"context"
	"fmt"
	"testing"

	celgo "github.com/google/cel-go/cel"
)

// BenchmarkCompile compiles 430 distinct expressions, the size of a large definition. The goal is 50 ms for all of them.
func BenchmarkCompile(b *testing.B) {
	texts := []string{
		"schema.metadata.name + '-%d'",
		"schema.spec.num + %d",
		"schema.spec.?gone.orValue('none-%d')",
		"has(schema.spec.gone) ? schema.spec.gone : 'x%d'",
		"schema.spec.names.map(n, n + '.svc%d').join(',')",
		`"prefix-" + (schema.spec.word) + "-" + (string(schema.spec.num + %d))`,
	}
	var sources []string
	for i := range 430 {
		sources = append(sources, fmt.Sprintf(texts[i%len(texts)], i))
	}
	testEnv(b)
	for b.Loop() {
		env := testEnv(b)
		for _, src := range sources {
			if _, err := env.Compile(src, Template); err != nil {
				b.Fatal(err)
			}
		}
	}
}

func BenchmarkWith(b *testing.B) {
	env := testEnv(b)
	for b.Loop() {
		if _, err := env.With(Variable{"each", celgo.IntType}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkEval(b *testing.B) {
	env, vars := testEnv(b), testVars(b)
	for name, src := range map[string]string{
		"field":    "schema.spec.num",
		"text":     "schema.metadata.name + '-' + schema.spec.word",
		"optional": "schema.spec.?gone.orValue('none')",
		"loop":     "schema.spec.names.map(n, n + '.svc').join(',')",
		"mapLoop":  "schema.spec.pairs.map(k, k + schema.spec.pairs[k]).join(',')",
		"object":   "schema.metadata",
	} {
		x, err := env.Compile(src, Template)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				v, err := x.Eval(context.Background(), vars)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := ToJSON(v); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
