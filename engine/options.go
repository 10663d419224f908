package engine

import (
	kschema "k8s.io/apimachinery/pkg/runtime/schema"

	"kro.run/kro/graph"
)

// Gate says what a node waits for in the nodes it refers to.
type Gate int

const (
	// GateReadiness makes dependents wait until a node is ready (its readyWhen holds): instances of an RGD.
	GateReadiness Gate = iota
	// GateScope makes dependents wait only until a node has been observed: Graphs (KREP-024).
	GateScope
)

// DefaultMaxCollectionSize bounds the items of one collection unless Options say otherwise.
const DefaultMaxCollectionSize = 1000

// Options tune a pass. The zero value is what an instance of an RGD gets.
type Options struct {
	// Gate says what dependents wait for. The default is GateReadiness.
	Gate Gate
	// MaxCollectionSize bounds the items of one forEach. Zero means DefaultMaxCollectionSize.
	MaxCollectionSize int
	// Namespace is where objects go whose template names none. The default is the namespace of the instance.
	Namespace string
	// Resolve finds the resource of a kind that is known only now, because an expression gives it. A kind that is not
	// served makes the node wait. Needed for programs with dynamic nodes.
	Resolve func(kschema.GroupVersionKind) (resource kschema.GroupVersionResource, namespaced bool, err error)
	// Previous gives the objects of a node as they stood before the pass, for fields that are deferred. It may be nil.
	Previous func(*graph.Node) []map[string]any
	// Meter is told what is evaluated.
	Meter Meter
}

func (o Options) maxCollectionSize() int {
	if o.MaxCollectionSize > 0 {
		return o.MaxCollectionSize
	}
	return DefaultMaxCollectionSize
}
