package schema

import (
	"fmt"

	kschema "k8s.io/apimachinery/pkg/runtime/schema"
)

// Node is one position of an OpenAPI v3 schema, reduced to what decides the type of a value and how it is read. A published Node is immutable and
// shared: between kinds of one document, between programs and between goroutines. Recursive schemas are cyclic pointers, so whoever walks a Node
// remembers where it has been.
//
// The zero Node allows anything: Type "" and no further statement.
type Node struct {
	// Type is "object", "array", "string", "integer", "number", "boolean", or "" when the schema does not say or says several.
	Type string
	// Format refines Type as OpenAPI does: "int32", "int64", "double", "byte", "date-time", "duration", …
	Format string

	// Properties of an object, by name.
	Properties map[string]*Node
	// Required names the properties that must be there, sorted.
	Required []string
	// Items is the schema of an array's elements; nil when the schema does not say.
	Items *Node
	// AdditionalProperties is the schema of the values of an object used as a map.
	AdditionalProperties *Node
	// AnyAdditional says that an object takes further properties of any shape (additionalProperties: true).
	AnyAdditional bool

	// PreserveUnknown is x-kubernetes-preserve-unknown-fields: the server keeps fields that the schema does not name.
	PreserveUnknown bool
	// IntOrString is x-kubernetes-int-or-string, also set for quantities and the built-in IntOrString type: takes numbers and text.
	IntOrString bool
	// EmbeddedResource is x-kubernetes-embedded-resource: a whole Kubernetes object with apiVersion, kind and metadata.
	EmbeddedResource bool
	// Nullable says that null is a value of its own here.
	Nullable bool

	// Union holds the members of oneOf and anyOf that say something about the type, in document order.
	Union []*Node
}

// Kind is one served kind with all that a compiler needs to know of it.
type Kind struct {
	GVK kschema.GroupVersionKind
	// Resource is the plural in the URL, for example "deployments".
	Resource string
	// Namespaced is false for cluster-scoped kinds.
	Namespaced bool
	// Schema of the whole object; never nil. A kind that publishes no schema has an open object.
	Schema *Node
	// Fingerprint changes exactly when the schema, the plural or the scope does. Equal content has an equal fingerprint, wherever it came from.
	Fingerprint string
}

// Resolver finds kinds. Implementations are safe for concurrent use.
type Resolver interface {
	// Resolve gives the kind, or a *NotFoundError when no such kind is served. Any other error means that the question could not be answered
	// (a server that cannot be reached, a document that cannot be read) and that asking again may succeed.
	Resolve(gvk kschema.GroupVersionKind) (*Kind, error)
}

// NotFoundError says that a kind is not served by whoever was asked. GVK.Version is empty when only group and kind were asked for.
type NotFoundError struct {
	GVK kschema.GroupVersionKind
}

// Error names the kind as it is written in a manifest.
func (e *NotFoundError) Error() string {
	return fmt.Sprintf("schema not found for %s", Name(e.GVK))
}

// Name writes a kind as people read it: `apps/v1, Kind=Deployment`, for the core group `v1, Kind=Pod`.
func Name(gvk kschema.GroupVersionKind) string {
	if gvk.Version == "" {
		return gvk.GroupKind().String()
	}
	return gvk.GroupVersion().String() + ", Kind=" + gvk.Kind
}
