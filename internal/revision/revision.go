package revision

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	internalv1alpha1 "kro.run/kro/api/internal.kro.run/v1alpha1"
	"kro.run/kro/api/v1alpha1"
)

// maxName is the length that Kubernetes allows for the name of an object.
const maxName = 253

// Name gives the name of revision n of a definition: shop-r00007. A name that would be too long is cut and gets a hash of the full name of the definition.
func Name(definition string, n int64) string {
	return numbered(definition, fmt.Sprintf("-r%05d", n))
}

// numbered appends a number to a name, which is cut and gets a hash of itself where both would be too long.
func numbered(name, number string) string {
	if len(name)+len(number) <= maxName {
		return name + number
	}
	h := fnv.New32a()
	h.Write([]byte(name))
	suffix := fmt.Sprintf("%s-%08x", number, h.Sum32())
	prefix := strings.TrimRight(name[:max(0, maxName-len(suffix))], ".-")
	if prefix == "" {
		prefix = "gr"
	}
	return prefix + suffix
}

// Next gives the number of the next revision: above every number issued before, whether its revision still exists or not.
func Next(lastIssued int64, existing []*internalv1alpha1.GraphRevision) int64 {
	return HighWater(lastIssued, existing) + 1
}

// HighWater gives the highest number that is known to have been issued.
func HighWater(lastIssued int64, existing []*internalv1alpha1.GraphRevision) int64 {
	for _, r := range existing {
		lastIssued = max(lastIssued, r.Spec.Revision)
	}
	return lastIssued
}

// Split tells the revisions that are there from those being deleted, each by number, lowest first.
func Split(existing []*internalv1alpha1.GraphRevision) (live, terminating []*internalv1alpha1.GraphRevision) {
	for _, r := range byNumber(existing) {
		if r.DeletionTimestamp.IsZero() {
			live = append(live, r)
			continue
		}
		terminating = append(terminating, r)
	}
	return live, terminating
}

// Latest gives the revision with the highest number, or nil without any.
func Latest(revisions []*internalv1alpha1.GraphRevision) *internalv1alpha1.GraphRevision {
	if len(revisions) == 0 {
		return nil
	}
	sorted := byNumber(revisions)
	return sorted[len(sorted)-1]
}

func byNumber(revisions []*internalv1alpha1.GraphRevision) []*internalv1alpha1.GraphRevision {
	return slices.SortedStableFunc(slices.Values(revisions), func(a, b *internalv1alpha1.GraphRevision) int {
		return cmp.Or(cmp.Compare(a.Spec.Revision, b.Spec.Revision), strings.Compare(a.Name, b.Name))
	})
}

// Retire gives the live revisions to delete so that the newest keep remain, oldest first. Revisions that inUse reports stay, however old; keep ≤ 0 keeps all.
func Retire(live []*internalv1alpha1.GraphRevision, keep int, inUse func(revision int64) bool) []*internalv1alpha1.GraphRevision {
	if keep <= 0 || len(live) <= keep {
		return nil
	}
	sorted := byNumber(live)
	oldestKept := sorted[len(sorted)-keep].Spec.Revision
	return slices.DeleteFunc(sorted, func(r *internalv1alpha1.GraphRevision) bool {
		return r.Spec.Revision >= oldestKept || (inUse != nil && inUse(r.Spec.Revision))
	})
}

// Labels are the labels of a revision. version is the version of the controller, fit for a label.
func Labels(definition, hash, version string) map[string]string {
	name := v1alpha1.LabelValue(definition)
	return map[string]string{
		v1alpha1.OwnedLabel:                  "true",
		v1alpha1.VersionLabel:                version,
		v1alpha1.DefinitionNameLabel:         name,
		v1alpha1.InternalDefinitionNameLabel: name,
		v1alpha1.RevisionHashLabel:           hash,
	}
}

// New gives the revision with number n of a definition as it stands, to be created. It carries the finalizer from the start, so that no revision is ever seen
// without.
func New(definition *v1alpha1.ResourceGraphDefinition, n int64, version string) (*internalv1alpha1.GraphRevision, error) {
	hash, err := Hash(&definition.Spec)
	if err != nil {
		return nil, err
	}
	r := &internalv1alpha1.GraphRevision{
		ObjectMeta: metav1.ObjectMeta{
			Name:            Name(definition.Name, n),
			Labels:          Labels(definition.Name, hash, version),
			Finalizers:      []string{v1alpha1.Finalizer},
			OwnerReferences: []metav1.OwnerReference{Owner(definition.Name, definition.UID)},
		},
		Spec: internalv1alpha1.GraphRevisionSpec{
			Revision: n,
			Snapshot: internalv1alpha1.ResourceGraphDefinitionSnapshot{
				Name: definition.Name, Generation: definition.Generation, Spec: *definition.Spec.DeepCopy(),
			},
		},
	}
	if v1alpha1.LabelValue(definition.Name) != definition.Name {
		r.Annotations = map[string]string{v1alpha1.DefinitionNameAnnotation: definition.Name}
	}
	return r, nil
}

// Owner is the owner reference by which a definition controls its revisions.
func Owner(definition string, uid types.UID) metav1.OwnerReference {
	return metav1.OwnerReference{
		APIVersion: v1alpha1.GroupVersion.String(),
		Kind:       v1alpha1.ResourceGraphDefinitionKind,
		Name:       definition,
		UID:        uid,
		Controller: ptr.To(true),
	}
}

// Adopt gives the owner references of a revision that lies under a definition, and whether they differ from those it has. A revision whose definition was deleted
// with --cascade=orphan and made again comes under the new one; references to other kinds stay.
func Adopt(references []metav1.OwnerReference, owner metav1.OwnerReference) ([]metav1.OwnerReference, bool) {
	for i, reference := range references {
		if reference.Kind != owner.Kind || !sameGroup(reference.APIVersion, owner.APIVersion) {
			continue
		}
		if reference.UID == owner.UID && ptr.Deref(reference.Controller, false) {
			return references, false
		}
		adopted := slices.Clone(references)
		adopted[i] = owner
		return adopted, true
	}
	return append(slices.Clone(references), owner), true
}

func sameGroup(a, b string) bool {
	groupA, _, _ := strings.Cut(a, "/")
	groupB, _, _ := strings.Cut(b, "/")
	return groupA == groupB
}
