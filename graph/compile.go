package graph

import (
	"fmt"
	"runtime"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"

	"kro.run/kro/cel"
)

// Compile turns a source into a program, or says everything that is wrong with it. Exactly one of the results is set.
// It is deterministic and never panics: a fault of the compiler is a diagnostic with CodeInternal.
//
// Phases follow each other, and each takes what the one before has left in order: names; the API and its schema; the
// form of every node, its kind and its literals; the names in expressions, and with them the graph; the types of
// expressions, and with them those of computed values; status and conditions. A node that fails a phase is left out of the next ones, and to others it is of
// unknown type, so one mistake is told once.
func Compile(src Source, env Env) (program *Program, diagnostics Diagnostics) {
	c := &compiler{
		src: src, env: env, types: cel.NewTypes(),
		kinds:  map[kschema.GroupVersionKind]lookup{},
		parsed: map[string]parseResult{},
		scopes: scopes{narrow: map[string]*cel.Env{}},
	}
	defer func() {
		if cause := recover(); cause != nil {
			program, diagnostics = nil, Diagnostics{internalFault(c.step, cause)}
		}
	}()
	c.run()
	if len(c.faults) > 0 {
		return nil, c.diagnostics()
	}
	return c.program(), nil
}

// compiler is the state of one compilation.
type compiler struct {
	src Source
	env Env
	// step is what is being done, for the message about a panic.
	step string

	faults []fault
	types  *cel.Types

	api    *apiDraft
	drafts []*draft
	frames []*frame
	kinds  map[kschema.GroupVersionKind]lookup

	edges  [][]int
	order  []int
	status *statusDraft

	parsed map[string]parseResult
	scopes scopes
}

func (c *compiler) run() {
	c.step = "reading the document"
	c.start()
	c.step = "checking names"
	c.checkNames()
	c.step = "building the API"
	c.readAPI()
	for _, d := range c.drafts {
		c.step = fmt.Sprintf("reading %s %q", d.noun, d.name)
		c.readNode(d)
	}
	c.step = "reading the status"
	c.readStatus()
	for _, d := range c.drafts {
		c.step = fmt.Sprintf("resolving the names in %s %q", d.noun, d.name)
		c.resolveNames(d)
	}
	c.step = "building the dependency graph"
	c.connect()
	c.checkTypes()
	c.step = "inferring the status schema"
	c.checkStatus()
	c.step = "checking the conditions"
	c.checkConditions()
}

// start makes a draft of every node.
func (c *compiler) start() {
	switch {
	case c.src.Door == GraphDoor && len(c.src.Nodes) == 0:
		c.reportAPI(fieldNames, c.src.root(), Diagnostic{Code: CodeShape, Message: "a graph must have at least one node"})
	case c.src.Door == DefinitionDoor && c.src.API == nil:
		c.reportAPI(fieldNames, "spec.schema", Diagnostic{Code: CodeShape,
			Message: "failed to validate resourcegraphdefinition: there is no schema",
			Hint:    "declare at least kind and apiVersion under spec.schema"})
	}
	c.frames = []*frame{{parent: -1, names: map[string]*draft{}}}
	c.expand(0, c.src.Nodes, c.src.root())
}

func (c *compiler) clusterScoped() bool {
	return c.src.API != nil && c.src.API.Scope == apiextensionsv1.ClusterScoped
}

// program assembles what the phases have made. There are no faults.
func (c *compiler) program() *Program {
	c.step = "assembling the program"
	p := &Program{
		Name:          c.src.Name,
		Namespace:     c.src.Namespace,
		Order:         c.order,
		Status:        c.status.projection,
		HasConditions: c.status.hasConditions,
		Kinds:         map[kschema.GroupVersionKind]string{},
		Types:         c.types,
		Frames:        c.programFrames(),
	}
	if c.src.API != nil {
		p.Instance = c.instance()
	}
	for _, s := range c.status.conditions {
		p.Conditions = append(p.Conditions, s.expr)
	}
	numbers, layers := waves(c.edges, c.order)
	p.Layers = layers
	dependents := reverse(c.edges)
	for i, d := range c.drafts {
		n := d.node
		n.Dependencies, n.Dependents, n.ApplyOrder = c.edges[i], dependents[i], numbers[i]
		n.IncludeDependencies = sortedIndexes(d.include)
		n.Conditional, n.Deferred = without(d.dependencies, d.firm), without(d.deferred, d.dependencies)
		n.Collection = n.Collection || len(d.src.ForEach) > 0
		d.place()
		p.Nodes = append(p.Nodes, n)
		if d.kind == nil {
			continue
		}
		p.Kinds[n.GVK] = d.kind.Fingerprint
		if gk := n.GVK.GroupKind(); n.Kind == Template && !slices.Contains(p.GroupKinds, gk) {
			p.GroupKinds = append(p.GroupKinds, gk)
		}
	}
	slices.SortFunc(p.GroupKinds, func(a, b kschema.GroupKind) int { return strings.Compare(a.String(), b.String()) })
	p.Hash = hash(c.src, c.env, p.Kinds)
	return p
}

// place puts the compiled expressions of a node where they belong.
func (d *draft) place() {
	for _, s := range d.sites {
		switch s.role {
		case roleForEach:
			d.node.ForEach = append(d.node.ForEach, Iterator{Name: s.iterator, List: s.expr})
		case roleIncludeWhen:
			d.node.IncludeWhen = append(d.node.IncludeWhen, s.expr)
		case roleReadyWhen:
			d.node.ReadyWhen = append(d.node.ReadyWhen, s.expr)
		}
	}
}

// internalFault names the line that panicked: whoever reads it can report it, and nobody else is harmed.
func internalFault(step string, cause any) Diagnostic {
	where := "unknown place"
	pcs := make([]uintptr, 32)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs)])
	for panicked := false; ; {
		frame, more := frames.Next()
		if panicked && !strings.HasPrefix(frame.Function, "runtime.") {
			where = fmt.Sprintf("%s:%d", frame.Function, frame.Line)
			break
		}
		panicked = panicked || frame.Function == "runtime.gopanic"
		if !more {
			break
		}
	}
	return Diagnostic{Code: CodeInternal,
		Message: fmt.Sprintf("failed to compile: a fault of the compiler while %s: %v (in %s)", step, cause, where),
		Hint:    "this is a bug of kro, not of the definition; please report it"}
}
