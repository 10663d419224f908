package apply

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	"kro.run/kro/api/v1alpha1"
)

// toolingPrefix starts the tooling annotation of every ApplySet that kro manages.
const toolingPrefix = "kro/"

// InventoryError says that the inventory on an instance cannot be relied on. Trying again does not help: somebody has to repair the metadata.
type InventoryError struct{ Reason string }

// Error gives the reason.
func (e *InventoryError) Error() string { return e.Reason }

// HasInventory tells whether obj carries any part of an inventory, sound or not.
func HasInventory(obj *unstructured.Unstructured) bool {
	if _, ok := obj.GetLabels()[v1alpha1.ApplySetIDLabel]; ok {
		return true
	}
	annotations := obj.GetAnnotations()
	for _, key := range []string{
		v1alpha1.ApplySetToolingAnnotation, v1alpha1.ApplySetGroupKindsAnnotation,
		v1alpha1.ApplySetNamespacesAnnotation, v1alpha1.InventoryHashAnnotation,
	} {
		if _, ok := annotations[key]; ok {
			return true
		}
	}
	return false
}

// ReadInventory gives the inventory that stands on an instance, or an *InventoryError that names the first thing wrong with it. Deletion goes by it
// alone, so one that was tampered with must stop the deletion: it would strand the children that it does not name.
func ReadInventory(instance *unstructured.Unstructured) (Inventory, error) {
	inventory := Inventory{ID: instanceSetID(instance)}
	if got := instance.GetLabels()[v1alpha1.ApplySetIDLabel]; got != inventory.ID {
		return Inventory{}, faulty("invalid %s label: got %q, want %q", v1alpha1.ApplySetIDLabel, got, inventory.ID)
	}
	annotations := instance.GetAnnotations()
	if got := annotations[v1alpha1.ApplySetToolingAnnotation]; !strings.HasPrefix(got, toolingPrefix) {
		return Inventory{}, faulty("invalid %s annotation: %q is not owned by kro", v1alpha1.ApplySetToolingAnnotation, got)
	}

	for _, key := range []string{v1alpha1.ApplySetGroupKindsAnnotation, v1alpha1.ApplySetNamespacesAnnotation} {
		if _, ok := annotations[key]; !ok {
			return Inventory{}, faulty("missing required %s annotation", key)
		}
	}
	var err error
	if inventory.GroupKinds, err = parseGroupKinds(annotations[v1alpha1.ApplySetGroupKindsAnnotation]); err != nil {
		return Inventory{}, err
	}
	if inventory.Namespaces, err = parseNamespaces(annotations[v1alpha1.ApplySetNamespacesAnnotation]); err != nil {
		return Inventory{}, err
	}

	// Releases before the hash left it out; what is there must fit.
	got, ok := annotations[v1alpha1.InventoryHashAnnotation]
	if want := inventory.Hash(); ok && got != want {
		return Inventory{}, faulty("invalid %s annotation: got %q, want %q", v1alpha1.InventoryHashAnnotation, got, want)
	}
	return inventory, nil
}

// parseGroupKinds reads the text that Inventory.groupKinds writes.
func parseGroupKinds(text string) ([]kschema.GroupKind, error) {
	if text == "" {
		return nil, nil
	}
	var gks []kschema.GroupKind
	for part := range strings.SplitSeq(text, ",") {
		if part == "" {
			return nil, unreadable(v1alpha1.ApplySetGroupKindsAnnotation, "contains an empty group-kind")
		}
		kind, group, grouped := strings.Cut(part, ".")
		if len(validation.IsDNS1035Label(strings.ToLower(kind))) > 0 {
			return nil, unreadable(v1alpha1.ApplySetGroupKindsAnnotation, "invalid kind %q", kind)
		}
		if problems := validation.IsDNS1123Subdomain(group); grouped && len(problems) > 0 {
			return nil, unreadable(v1alpha1.ApplySetGroupKindsAnnotation, "invalid group %q: %s", group, strings.Join(problems, "; "))
		}
		gks = append(gks, kschema.GroupKind{Group: group, Kind: kind})
	}
	return sortedGroupKinds(gks), nil
}

// parseNamespaces reads the text that Inventory.namespaces writes.
func parseNamespaces(text string) ([]string, error) {
	if text == "" {
		return nil, nil
	}
	namespaces := strings.Split(text, ",")
	for _, namespace := range namespaces {
		if problems := validation.IsDNS1123Label(namespace); len(problems) > 0 {
			return nil, unreadable(v1alpha1.ApplySetNamespacesAnnotation, "invalid namespace %q: %s", namespace, strings.Join(problems, "; "))
		}
	}
	return sortedStrings(namespaces), nil
}

// unreadable is the error for an annotation whose text makes no sense.
func unreadable(key, format string, args ...any) error {
	return faulty("invalid %s annotation: %s", key, fmt.Sprintf(format, args...))
}

func faulty(format string, args ...any) error {
	return &InventoryError{Reason: fmt.Sprintf(format, args...)}
}
