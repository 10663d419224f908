package graph

import (
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"

	"kro.run/kro/api/v1alpha1"
	"kro.run/kro/schema"
)

// Env is what Compile needs to know beside the document.
type Env struct {
	// Kinds resolves the kinds that the document names. Nil resolves none.
	Kinds schema.Resolver
	// MaxDimensions bounds the forEach entries of a node; 0 means 10.
	MaxDimensions int
	// NoStatusGraph leaves the property `graph` out of the status schema of the generated CRD.
	NoStatusGraph bool
	// CostLimit bounds what one evaluation of an expression may cost; 0 means Kubernetes' own limit for one CEL call.
	CostLimit uint64
	// NoOmit refuses omit(), for who wants the feature gate CELOmitFunction off.
	NoOmit bool
}

// Source is a document that declares a graph, in a form that knows nothing of the kind of document it came from. Raw
// parts are JSON, unparsed: whether they have the right form is decided by Compile.
type Source struct {
	// Door is the kind of document, which decides what is allowed in it and how faults are worded.
	Door Door
	// Name is the name of the document.
	Name string
	// Namespace is that of a Graph; empty for a definition.
	Namespace string
	// API is the API that instances have; nil for a Graph.
	API *APISource
	// Nodes in document order; a nil entry is a fault that Compile reports.
	Nodes []*NodeSource
}

// Door is the kind of document that a Source was read from.
type Door int

const (
	// DefinitionDoor is a ResourceGraphDefinition: its nodes are under spec.resources and see an instance as schema.
	DefinitionDoor Door = iota
	// GraphDoor is a Graph: its nodes are under spec.nodes; there is no instance.
	GraphDoor
)

// APISource declares the API that a definition creates.
type APISource struct {
	GVK   kschema.GroupVersionKind
	Scope apiextensionsv1.ResourceScope
	// Plural overrides the plural derived from the kind.
	Plural      string
	ShortNames  []string
	Categories  []string
	Labels      map[string]string
	Annotations map[string]string
	// Columns are the printer columns; none means the default ones.
	Columns []apiextensionsv1.CustomResourceColumnDefinition
	// Spec and Types are SimpleSchema.
	Spec, Types []byte
	// Status is the projection, with the author's conditions under the key `conditions`.
	Status []byte
}

// NodeSource declares one node.
type NodeSource struct {
	ID string
	// Template is the body of the objects to create; nil when there is none.
	Template []byte
	// Ref names the objects to read.
	Ref         *RefSource
	ForEach     []map[string]string
	IncludeWhen []string
	ReadyWhen   []string

	// Watch names objects to read by selector: another name for such a Ref.
	Watch *RefSource `json:",omitempty"`
	// Definition holds values to compute; nil when there are none.
	Definition []byte `json:",omitempty"`
	// Patch is the partial manifest of a contribution; nil when there is none.
	Patch []byte `json:",omitempty"`
	// Graph is an inline graph, an object with nodes in the form of a Graph's; nil when there is none.
	Graph          []byte                  `json:",omitempty"`
	DeletionPolicy v1alpha1.DeletionPolicy `json:",omitempty"`
	ExternalFields []string                `json:",omitempty"`
}

// RefSource names the objects that a node reads.
type RefSource struct {
	APIVersion, Kind, Name, Namespace string
	// Selector is a label selector or one CEL expression, as JSON; nil when the object is read by name.
	Selector []byte
}

// Kinds returns the kinds that compiling the source looks up, sorted and unique, whether or not they exist: when one
// of them changes, compiling again may give another result. It is of use for a source that was refused; a Program tells
// the same with fingerprints.
func (s Source) Kinds() []kschema.GroupVersionKind {
	seen := map[kschema.GroupVersionKind]bool{}
	addKinds(seen, s.Nodes, 0)
	kinds := make([]kschema.GroupVersionKind, 0, len(seen))
	for gvk := range seen {
		kinds = append(kinds, gvk)
	}
	slices.SortFunc(kinds, func(a, b kschema.GroupVersionKind) int { return strings.Compare(a.String(), b.String()) })
	return kinds
}

func addKinds(seen map[kschema.GroupVersionKind]bool, nodes []*NodeSource, depth int) {
	for _, n := range nodes {
		if n == nil {
			continue
		}
		if n.Graph != nil && depth < maxDepth {
			inline, _ := inlineNodes(n.Graph) // what cannot be read names no kind
			addKinds(seen, inline, depth+1)
		}
		if gvk, err := parseGVK(n.kind()); err == nil {
			seen[gvk] = true
		}
	}
}

// kind is what the node says of the kind of its objects.
func (n *NodeSource) kind() (apiVersion, kind string) {
	manifest := n.Template
	switch {
	case manifest != nil:
	case n.Ref != nil:
		return n.Ref.APIVersion, n.Ref.Kind
	case n.Watch != nil:
		return n.Watch.APIVersion, n.Watch.Kind
	case n.Patch != nil:
		manifest = n.Patch
	}
	body, _ := decodeObject(manifest) // what cannot be read names no kind
	apiVersion, _ = body["apiVersion"].(string)
	kind, _ = body["kind"].(string)
	return apiVersion, kind
}
