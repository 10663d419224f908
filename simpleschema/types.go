package simpleschema

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// namedType is a type that the author declared under types.
type namedType struct {
	declared any
	state    resolution
	built    built
	faults   []Fault
}

// resolution is how far a named type has got.
type resolution int

const (
	waiting resolution = iota
	resolving
	resolved
)

func newBuilder(types map[string]any) *builder {
	b := &builder{types: make(map[string]*namedType, len(types)), compiled: compilations{}}
	for name, declared := range types {
		b.types[name] = &namedType{declared: declared}
	}
	return b
}

// resolveAll builds all named types, also those that nobody uses: their faults are faults too.
func (b *builder) resolveAll() {
	for _, name := range slices.Sorted(maps.Keys(b.types)) {
		b.resolve(name, nil)
	}
}

// typeFaults gives the faults in named types, in the order of their names, however the types were reached.
func (b *builder) typeFaults() []Fault {
	var faults []Fault
	for _, name := range slices.Sorted(maps.Keys(b.types)) {
		faults = append(faults, b.types[name].faults...)
	}
	return faults
}

// resolve builds one named type. within are the types being built that led here, outermost first; they make cycles visible.
func (b *builder) resolve(name string, within []string) {
	t := b.types[name]
	if t.state != waiting {
		return
	}
	t.state = resolving
	inner := &builder{types: b.types, compiled: b.compiled}
	inner.within = append(slices.Clone(within), name)
	t.built = inner.value(join("types", name), t.declared)
	t.faults = inner.faults
	t.state = resolved
}

// named gives the schema of a declared type for use at path.
func (b *builder) named(path, name string) built {
	t, ok := b.types[name]
	if !ok {
		message := "unknown type: " + name
		if len(b.within) > 0 {
			message += fmt.Sprintf(": node %s does not exist", name)
		}
		b.fault(path, message, hintForType(name, b.types))
		return anything()
	}
	if t.state == resolving {
		b.fault(path, b.cycle(name), "")
		return anything()
	}
	b.resolve(name, b.within)
	return t.built
}

// cycle says how the types being built lead back to name.
func (b *builder) cycle(name string) string {
	way := b.within[slices.Index(b.within, name):]
	if len(way) == 1 {
		return fmt.Sprintf("type %s: self references are not allowed", name)
	}
	way = append(slices.Clone(way), name)
	return fmt.Sprintf("cyclic dependency in type %s: graph contains a cycle: %s", name, strings.Join(way, " -> "))
}

// cloneSlices makes the slices of s its own, so that adding to them leaves the other uses of a named type as they are.
func cloneSlices(s *apiextensionsv1.JSONSchemaProps) {
	s.XValidations = slices.Clone(s.XValidations)
	s.XListMapKeys = slices.Clone(s.XListMapKeys)
}
