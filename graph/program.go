package graph

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"

	"kro.run/kro/cel"
	"kro.run/kro/schema"
)

// Program is a compiled definition or Graph. It is immutable: many instances, goroutines and revisions share one.
type Program struct {
	// Name is the name of the definition.
	Name string
	// Hash changes with the content of the source and with the schemas it was checked against, and with nothing else.
	Hash string
	// Namespace is where the Graph is, and so where its objects are unless they say otherwise; empty for a definition.
	Namespace string
	// Instance is the API that the definition creates; nil for a Graph.
	Instance *Instance
	// Nodes are the nodes of the graph in document order; Nodes[i].Index == i.
	Nodes []*Node
	// Order lists node indexes in topological order: dependencies first, otherwise as in the document.
	Order []int
	// Frames are the levels of names, the root first.
	Frames []Frame
	// Layers is the number of deletion waves; ApplyOrder of every node lies in 1…Layers.
	Layers int
	// Status projects the nodes into the status of an instance. It is never nil; it may have no leaves.
	Status *Projection
	// Conditions are the author's conditions in declared order. They may use `runtime`.
	Conditions []*cel.Expression
	// HasConditions tells that the author declared a conditions list, even an empty one: then only the author's
	// conditions appear in the status of an instance.
	HasConditions bool
	// GroupKinds are the group-kinds of the objects that nodes create, sorted and unique: the inventory's kinds.
	GroupKinds []kschema.GroupKind
	// Kinds maps every kind that the program was checked against to the fingerprint of its schema.
	Kinds map[kschema.GroupVersionKind]string
	// Types holds the CEL types of all schemas; observed objects become CEL values through it.
	Types *cel.Types
}

// Node returns the node with a qualified id (see Node.Path), or nil.
func (p *Program) Node(path string) *Node {
	for _, n := range p.Nodes {
		if n.Path == path {
			return n
		}
	}
	return nil
}

// Instance is the API that a definition creates.
type Instance struct {
	GVK        kschema.GroupVersionKind
	Resource   kschema.GroupVersionResource
	Namespaced bool
	// CRD carries the labels and annotations of the author, not kro's own. It must not be changed: copy it first.
	CRD *apiextensionsv1.CustomResourceDefinition
	// Schema is the schema of the variable `schema`: apiVersion, kind, metadata and spec.
	Schema *schema.Node
	// Defaults fills in what the author gave defaults for.
	Defaults Defaulter
}

// Frame is one level of names: the root, or an inline graph.
type Frame struct {
	// Parent is the frame around this one; -1 for the root.
	Parent int
	// Node is the Subgraph that opened the frame; -1 for the root.
	Node int
	// Names are the nodes of the frame by id. Patches are among them, though nothing can refer to one.
	Names map[string]int
}

// NodeKind tells what a node does.
type NodeKind int

const (
	// Template creates objects from a body.
	Template NodeKind = iota + 1
	// Reference reads one object by name.
	Reference
	// Selection reads the objects that a label selector matches.
	Selection
	// Definition computes named values and has no object (def).
	Definition
	// Patch contributes fields to an object of somebody else.
	Patch
	// Subgraph is an inline graph: its value is an object of its children.
	Subgraph
)

// String returns the name of the kind, for messages.
func (k NodeKind) String() string {
	switch k {
	case Template:
		return "template"
	case Reference:
		return "reference"
	case Selection:
		return "selection"
	case Definition:
		return "definition"
	case Patch:
		return "patch"
	case Subgraph:
		return "graph"
	}
	return "unknown"
}

// Node is one node of the graph.
type Node struct {
	ID string
	// Index is the position in the document and in Program.Nodes. An inline graph comes before its nodes.
	Index int
	Kind  NodeKind

	GVK        kschema.GroupVersionKind
	Resource   kschema.GroupVersionResource
	Namespaced bool
	// Schema types the objects of the node (of one item, when the node is a collection): what kind they are, what a
	// Definition computes, what the children of a Subgraph are. It is nil for a node whose objects are not typed.
	Schema *schema.Node

	// Body is the compiled template, the partial manifest of a Patch, or the values of a Definition; nil for other kinds.
	Body *Value
	// Ref says which objects to read; nil unless Kind is Reference or Selection.
	Ref *Ref

	// ForEach are the dimensions of a collection, in declared order; the last varies fastest.
	ForEach []Iterator
	// IncludeWhen are boolean conditions (or optional booleans); all must hold for the node to take part.
	IncludeWhen []*cel.Expression
	// ReadyWhen are boolean conditions (or optional booleans) over the node's own id, or over `each` when Collection.
	ReadyWhen []*cel.Expression

	// Dependencies are the nodes that the node refers to anywhere but in ReadyWhen: ascending indexes.
	Dependencies []int
	// IncludeDependencies are those of Dependencies that IncludeWhen refers to: ascending indexes.
	IncludeDependencies []int
	// Dependents are the nodes that have this node among their Dependencies: ascending indexes.
	Dependents []int
	// ApplyOrder is the deletion wave, 1…Layers; nodes that nobody depends on have the highest.
	ApplyOrder int
	// Collection tells that the variable of the node is a list: it has ForEach or is a Selection.
	Collection bool

	// Path is the id qualified by the inline graphs around the node, "outer/inner"; it is ID at the root.
	Path string
	// Frame is the index in Program.Frames of the frame that the node stands in.
	Frame int
	// Dynamic tells that expressions give apiVersion or kind: GVK, Resource and Schema are empty, and Body (or Ref) has them.
	Dynamic bool
	// Conditional are those of Dependencies that are referred to only on branches of ternaries: the node waits for one only
	// when evaluation takes its branch (KREP-018).
	Conditional []int
	// Deferred are nodes that only deferred fields refer to. They are not among Dependencies (KREP-019).
	Deferred []int
	// Subresource is "status" for a Patch of the status, else empty.
	Subresource string
	// Orphan keeps the object when it is no longer wanted: it is released instead of deleted (deletionPolicy: Orphaned).
	Orphan bool
	// ExternalFields are paths of fields that are left to others once they write them.
	ExternalFields [][]string
}

// Ref says which objects a Reference or a Selection reads.
type Ref struct {
	// APIVersion and Kind evaluate to strings when the node is Dynamic, else they are nil.
	APIVersion, Kind *Value
	// Name evaluates to a string; nil for a Selection.
	Name *Value
	// Namespace evaluates to a string; nil when the document gives none.
	Namespace *Value
	// Selector evaluates to a label selector as a JSON object; nil for a Reference. An empty one selects everything.
	Selector *Value
}

// Iterator is one dimension of a collection.
type Iterator struct {
	// Name is the variable that an item's template sees.
	Name string
	// List evaluates to a list.
	List *cel.Expression
}
