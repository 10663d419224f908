package apply

import (
	"crypto/sha256"
	"encoding/base64"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"

	"kro.run/kro/api/v1alpha1"
)

// SetID is the id of the ApplySet whose parent is the instance with that name, namespace ("" when cluster-scoped), kind and group (KEP-3659,
// version 1 of the format). The parent carries it in ApplySetIDLabel, its children in PartOfLabel.
func SetID(name, namespace, kind, group string) string {
	sum := sha256.Sum256([]byte(name + "." + namespace + "." + kind + "." + group))
	return "applyset-" + base64.RawURLEncoding.EncodeToString(sum[:]) + "-v1"
}

// instanceSetID is SetID of an instance at hand.
func instanceSetID(instance *unstructured.Unstructured) string {
	gk := instance.GroupVersionKind().GroupKind()
	return SetID(instance.GetName(), instance.GetNamespace(), gk.Kind, gk.Group)
}

// Inventory says where the children of an instance may be. Neither list has to be sorted or free of duplicates; what is written is.
type Inventory struct {
	// ID is the ApplySet's id, see SetID.
	ID string
	// GroupKinds are the kinds that children may have.
	GroupKinds []kschema.GroupKind
	// Namespaces are those that children may be in besides the instance's own; all of them for a cluster-scoped instance.
	Namespaces []string
}

// Annotations are the four that hold the inventory on the instance. tooling is "kro/" and the version.
func (i Inventory) Annotations(tooling string) map[string]string {
	return map[string]string{
		v1alpha1.ApplySetToolingAnnotation:    tooling,
		v1alpha1.ApplySetGroupKindsAnnotation: i.groupKinds(),
		v1alpha1.ApplySetNamespacesAnnotation: i.namespaces(),
		v1alpha1.InventoryHashAnnotation:      i.Hash(),
	}
}

// Hash protects the inventory against edits by hand: "sha256:" and the base64url SHA-256 of id, group-kinds and namespaces, NUL between them.
func (i Inventory) Hash() string {
	sum := sha256.Sum256([]byte(i.ID + "\x00" + i.groupKinds() + "\x00" + i.namespaces()))
	return "sha256:" + base64.RawURLEncoding.EncodeToString(sum[:])
}

// Union is an inventory that covers both, under i's id. Applies write it first, so that objects of before and after can be found at any moment.
func (i Inventory) Union(other Inventory) Inventory {
	return Inventory{
		ID:         i.ID,
		GroupKinds: sortedGroupKinds(slices.Concat(i.GroupKinds, other.GroupKinds)),
		Namespaces: sortedStrings(slices.Concat(i.Namespaces, other.Namespaces)),
	}
}

// Equal tells whether both would be written alike.
func (i Inventory) Equal(other Inventory) bool {
	return i.ID == other.ID && i.groupKinds() == other.groupKinds() && i.namespaces() == other.namespaces()
}

// groupKinds is the text of the annotation: sorted, comma separated Kind.group, plain Kind for the core group.
func (i Inventory) groupKinds() string {
	texts := make([]string, len(i.GroupKinds))
	for n, gk := range i.GroupKinds {
		texts[n] = gk.String()
	}
	return strings.Join(sortedStrings(texts), ",")
}

// namespaces is the text of the annotation: sorted and comma separated.
func (i Inventory) namespaces() string {
	return strings.Join(sortedStrings(slices.Clone(i.Namespaces)), ",")
}

// sortedGroupKinds sorts in place by text, and drops duplicates.
func sortedGroupKinds(gks []kschema.GroupKind) []kschema.GroupKind {
	slices.SortFunc(gks, func(a, b kschema.GroupKind) int { return strings.Compare(a.String(), b.String()) })
	return slices.Compact(gks)
}

// sortedStrings sorts in place and drops duplicates.
func sortedStrings(texts []string) []string {
	slices.Sort(texts)
	return slices.Compact(texts)
}
