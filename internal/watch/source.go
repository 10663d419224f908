package watch

import (
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"
)

// Source says which objects to watch. It is comparable: equal Sources share one watch.
type Source struct {
	// GVR is the resource, in the version in which the objects are to be read.
	GVR kschema.GroupVersionResource
	// Namespace narrows the source to one namespace; "" takes all, and is right for cluster-scoped kinds.
	Namespace string
	// Name narrows the source to one object (field selector metadata.name).
	Name string
	// Selector narrows the source to the objects that match a label selector, in its text form.
	Selector string
	// Anew reads everything again whenever a watch has ended, instead of going on where it ended. It is right for kinds whose CRD changes: the API
	// server goes on for a moment with the old schema, which hides new fields, then ends the watches; what a watch brought until then lacks these
	// fields, and no event would ever bring them.
	Anew bool
}

// String names the source for people, as kubectl would: deployments.v1.apps in namespace "web", selected by "kro.run/owned=true".
func (s Source) String() string {
	var b strings.Builder
	b.WriteString(resourceName(s.GVR))
	if s.Name != "" {
		b.WriteString(" \"" + s.Name + "\"")
	}
	if s.Namespace != "" {
		b.WriteString(" in namespace \"" + s.Namespace + "\"")
	}
	if s.Selector != "" {
		b.WriteString(", selected by \"" + s.Selector + "\"")
	}
	return b.String()
}

// resourceName is the full name of a resource as kubectl takes it: plural.version.group.
func resourceName(gvr kschema.GroupVersionResource) string {
	if gvr.Group == "" {
		return gvr.Resource + "." + gvr.Version
	}
	return gvr.Resource + "." + gvr.Version + "." + gvr.Group
}

// Event is one change of one object of a Source. New is nil when the object is gone, Old when it is new. Both are shared and read-only.
type Event struct {
	Source Source
	Old    *unstructured.Unstructured
	New    *unstructured.Unstructured
}

// Object is the object that the event is about, in its newest known state.
func (e Event) Object() *unstructured.Unstructured {
	if e.New != nil {
		return e.New
	}
	return e.Old
}

// Interest narrows the events of a Source for one owner to the objects that stand under Value in Index, before or after the change. Finding the
// owners that an event concerns costs the same for ten as for 10,000. The zero Interest takes all events.
type Interest struct {
	// Index is one of the Index constants, or "".
	Index string
	// Value is looked up in Index.
	Value string
}

// The indexes of a Store.
const (
	// IndexPartOf finds the members of an ApplySet by its id (label applyset.kubernetes.io/part-of).
	IndexPartOf = "part-of"
	// IndexInstanceID finds the children of an instance by its UID (label kro.run/instance-id).
	IndexInstanceID = "instance-id"
	// IndexName finds an object by "namespace/name", or "name" when it is cluster-scoped. For an Interest only; Store.Get does it for stores.
	IndexName = "name"
)
