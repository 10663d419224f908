package apply

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"

	"kro.run/kro/api/v1alpha1"
)

// OwnershipError says that an object belongs to another ApplySet, so it must be neither applied nor deleted. It ends when the other lets go of it.
type OwnershipError struct {
	GVK       kschema.GroupVersionKind
	Namespace string
	Name      string
	// Owner is the id of the set it belongs to, Wanted of the one that asked for it.
	Owner, Wanted string
}

// Error names the object and both sets.
func (e *OwnershipError) Error() string {
	name := e.Name
	if e.Namespace != "" {
		name = e.Namespace + "/" + e.Name
	}
	return fmt.Sprintf("resource belongs to a different ApplySet: %s (%s) belongs to ApplySet %q, cannot reassign to %q",
		name, e.GVK, e.Owner, e.Wanted)
}

// Conflict gives an *OwnershipError when obj, as it stands in the cluster, belongs to a set other than setID. An object of no set is free to be taken.
func Conflict(obj *unstructured.Unstructured, setID string) error {
	owner := obj.GetLabels()[v1alpha1.PartOfLabel]
	if owner == "" || owner == setID {
		return nil
	}
	return &OwnershipError{
		GVK: obj.GroupVersionKind(), Namespace: obj.GetNamespace(), Name: obj.GetName(), Owner: owner, Wanted: setID,
	}
}
