package cel

import (
	"fmt"
	"maps"
	"slices"
	"sync"

	celgo "github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/ext"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	k8slibrary "k8s.io/apiserver/pkg/cel/library"

	"kro.run/kro/cel/library"
)

// DefaultCostLimit is what one evaluation may cost: Kubernetes' own limit for one CEL call, roughly a tenth of a second.
const DefaultCostLimit = uint64(celconfig.PerCallLimit)

// baseEnv is the part of every environment that no document changes: libraries, functions and their types.
type baseEnv struct {
	env       *celgo.Env
	functions names
	types     types.Provider
}

// base builds the base environment at its first use; declaring all libraries takes milliseconds, extending the result takes microseconds.
var base = sync.OnceValues(func() (*baseEnv, error) {
	opts := []celgo.EnvOption{
		celgo.EagerlyValidateDeclarations(true),
		celgo.DefaultUTCTimeZone(true),
		celgo.OptionalTypes(),
		ext.TwoVarComprehensions(),
		ext.Lists(),
		ext.Strings(),
		ext.Bindings(),
		ext.Encoders(),
		k8slibrary.Lists(),
		k8slibrary.URLs(),
		k8slibrary.Regex(),
		k8slibrary.Quantity(),
		k8slibrary.IP(),
		k8slibrary.CIDR(),
		k8slibrary.SemverLib(k8slibrary.SemverVersion(1)), // without a version it is 0, which cannot normalise
	}
	opts = append(opts, library.Functions(library.Codec{Encode: ToJSON, Decode: plain})...)
	env, err := celgo.NewEnv(opts...)
	if err != nil {
		return nil, fmt.Errorf("build the CEL environment: %w", err)
	}
	b := &baseEnv{env: env, functions: names{}, types: conditionProvider{env.CELTypeProvider()}}
	for name := range env.Functions() {
		b.functions[name] = true
	}
	return b, nil
})

// isType says that a name is that of a type, which expressions may compare with type(x).
func (b *baseEnv) isType(name string) bool {
	if _, ok := b.types.FindStructType(name); ok {
		return true
	}
	_, ok := b.types.FindIdent(name)
	return ok
}

// Variable is a name that expressions may use, with its type.
type Variable struct {
	Name string
	Type *celgo.Type
}

// Env is what expressions at one place of a document may use. It is safe for concurrent use and remembers what it compiled, so the same text is one
// Expression.
type Env struct {
	types     *Types
	base      *baseEnv
	env       *celgo.Env
	variables map[string]*celgo.Type
	costLimit uint64

	mu       sync.Mutex
	compiled map[compileKey]*Expression
}

type compileKey struct {
	source string
	use    Use
}

// NewEnv gives an environment with the variables and all libraries.
func NewEnv(t *Types, vars ...Variable) (*Env, error) {
	b, err := base()
	if err != nil {
		return nil, err
	}
	env, err := b.env.Extend(
		celgo.CustomTypeProvider(provider{types: t, base: b.types}),
		celgo.CustomTypeAdapter(adapter{}),
	)
	if err != nil {
		return nil, fmt.Errorf("extend the CEL environment with types: %w", err)
	}
	e := &Env{types: t, base: b, env: env, costLimit: DefaultCostLimit}
	return e.With(vars...)
}

// With gives an environment with more variables, of other names than those that are there.
func (e *Env) With(vars ...Variable) (*Env, error) {
	opts := make([]celgo.EnvOption, len(vars))
	variables := maps.Clone(e.variables)
	if variables == nil {
		variables = map[string]*celgo.Type{}
	}
	for i, v := range vars {
		opts[i] = celgo.Variable(v.Name, v.Type)
		variables[v.Name] = v.Type
	}
	env, err := e.env.Extend(opts...)
	if err != nil {
		return nil, fmt.Errorf("declare CEL variables: %w", err)
	}
	return &Env{types: e.types, base: e.base, env: env, variables: variables, costLimit: e.costLimit, compiled: map[compileKey]*Expression{}}, nil
}

// WithCostLimit gives an environment whose expressions may cost up to the limit in one evaluation; 0 takes the limit away.
func (e *Env) WithCostLimit(limit uint64) *Env {
	return &Env{types: e.types, base: e.base, env: e.env, variables: e.variables, costLimit: limit, compiled: map[compileKey]*Expression{}}
}

// Types gives the types that the environment's variables are made of.
func (e *Env) Types() *Types { return e.types }

// Names lists the declared variables, sorted.
func (e *Env) Names() []string { return slices.Sorted(maps.Keys(e.variables)) }

// KnownFunction says whether a function of that name exists, with whatever arguments. Macros are no functions.
func KnownFunction(name string) bool {
	b, err := base()
	return err == nil && b.functions[name]
}

// conditionProvider adds the condition type to the types an expression can build and read.
type conditionProvider struct {
	types.Provider
}

func (p conditionProvider) FindStructType(name string) (*types.Type, bool) {
	if name == library.ConditionTypeName {
		return types.NewTypeTypeWithParam(library.ConditionType), true
	}
	return p.Provider.FindStructType(name)
}

func (p conditionProvider) FindStructFieldNames(name string) ([]string, bool) {
	if name == library.ConditionTypeName {
		return library.ConditionFields, true
	}
	return p.Provider.FindStructFieldNames(name)
}

func (p conditionProvider) FindStructFieldType(name, field string) (*types.FieldType, bool) {
	if name == library.ConditionTypeName {
		return &types.FieldType{Type: celgo.StringType}, slices.Contains(library.ConditionFields, field)
	}
	return p.Provider.FindStructFieldType(name, field)
}

func (p conditionProvider) NewValue(name string, fields map[string]ref.Val) ref.Val {
	if name == library.ConditionTypeName {
		return library.NewCondition(fields)
	}
	return p.Provider.NewValue(name, fields)
}
