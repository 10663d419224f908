package graph

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"

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
	// NoOmit refuses omit(), for who wants the feature gate CELOmitFunction off.
	NoOmit bool
}

// Source is a document that declares a graph, in a form that knows nothing of the kind of document it came from. Raw
// parts are JSON, unparsed: whether they have the right form is decided by Compile.
type Source struct {
	// Name is the name of the document.
	Name string
	// API is the API that instances have.
	API *APISource
	// Nodes in document order; a nil entry is a fault that Compile reports.
	Nodes []*NodeSource
}

// APISource declares the API that a definition creates.
type APISource struct {
	GVK        kschema.GroupVersionKind
	Namespaced bool
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
	// Template is the body of the objects to create.
	Template []byte
	// Ref names the objects to read.
	Ref         *RefSource
	ForEach     []map[string]string
	IncludeWhen []string
	ReadyWhen   []string
}

// RefSource names the objects that a node reads.
type RefSource struct {
	APIVersion, Kind, Name, Namespace string
	// Selector is a label selector or one CEL expression, as JSON; nil when the object is read by name.
	Selector []byte
}

// Kinds returns the kinds that compiling the source looks up, sorted and unique, whether or not they exist: when one
// of them changes, compiling again may give another result. It is of use for a source that was refused; a Program
// tells the same with fingerprints.
func (s Source) Kinds() []kschema.GroupVersionKind { return nil }
