package definition

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"kro.run/kro/api/v1alpha1"
	"kro.run/kro/graph"

	internalv1alpha1 "kro.run/kro/api/internal.kro.run/v1alpha1"
)

// memory is what is remembered of one definition between reconciles. All of it can be lost: it saves requests, bridges the time until the caches show
// what was just written, and holds the last program that worked. One reconcile at a time uses it; what events touch as well is under notes.
type memory struct {
	// object is the definition as the last write of its status returned it.
	object *v1alpha1.ResourceGraphDefinition
	// served is what the instances run.
	served *offer
	// published is the CRD as it was last ensured.
	published *published
	// told is when the number of remaining instances was last written.
	told told
}

// offer is a program with the revision that it comes from.
type offer struct {
	revision int64
	hash     string
	program  *graph.Program
	uid      types.UID
}

// notes is what events need to know about definitions. It is safe for concurrent use.
type notes struct {
	mu sync.Mutex
	// issued holds, by definition, the revision that was created last, until the cache shows it.
	issued map[string]*internalv1alpha1.GraphRevision
	// claims maps CRDs to the definitions that want to make them.
	claims map[string]map[string]bool
	// wants maps definitions to their CRD.
	wants map[string]string
	// leaving are definitions that are being deleted.
	leaving map[string]bool
}

func newNotes() *notes {
	return &notes{
		issued:  map[string]*internalv1alpha1.GraphRevision{},
		claims:  map[string]map[string]bool{},
		wants:   map[string]string{},
		leaving: map[string]bool{},
	}
}

// claim notes that a definition wants to make a CRD.
func (n *notes) claim(definition, crd string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.drop(definition)
	n.wants[definition] = crd
	if n.claims[crd] == nil {
		n.claims[crd] = map[string]bool{}
	}
	n.claims[crd][definition] = true
}

// claimants lists the definitions that want to make a CRD.
func (n *notes) claimants(crd string) []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	var names []string
	for name := range n.claims[crd] {
		names = append(names, name)
	}
	return names
}

// forget drops everything about a definition and returns the CRD that it wanted.
func (n *notes) forget(definition string) (crd string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.issued, definition)
	delete(n.leaving, definition)
	return n.drop(definition)
}

// leave notes that a definition is being deleted and waits for its instances.
func (n *notes) leave(definition string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.leaving[definition] = true
}

func (n *notes) isLeaving(definition string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.leaving[definition]
}

func (n *notes) drop(definition string) (crd string) {
	crd = n.wants[definition]
	delete(n.wants, definition)
	delete(n.claims[crd], definition)
	if len(n.claims[crd]) == 0 {
		delete(n.claims, crd)
	}
	return crd
}

// issue notes a revision that was just created.
func (n *notes) issue(revision *internalv1alpha1.GraphRevision) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.issued[revision.Spec.Snapshot.Name] = revision
}

// withIssued adds the revision that was created last to a list from the cache, unless the cache shows it by now.
func (n *notes) withIssued(definition string, cached []*internalv1alpha1.GraphRevision) []*internalv1alpha1.GraphRevision {
	n.mu.Lock()
	defer n.mu.Unlock()
	issued := n.issued[definition]
	if issued == nil {
		return cached
	}
	for _, r := range cached {
		if r.UID == issued.UID {
			delete(n.issued, definition)
			return cached
		}
	}
	return append(cached, issued)
}

// isIssued says whether a revision is the one that was created last.
func (n *notes) isIssued(revision *internalv1alpha1.GraphRevision) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	issued := n.issued[revision.Spec.Snapshot.Name]
	return issued != nil && issued.UID == revision.UID
}

// gone notes that a revision has been deleted.
func (n *notes) gone(revision *internalv1alpha1.GraphRevision) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if issued := n.issued[revision.Spec.Snapshot.Name]; issued != nil && issued.UID == revision.UID {
		delete(n.issued, revision.Spec.Snapshot.Name)
	}
}

// newer says whether resource version a is later than b. Versions that cannot be compared are not.
func newer(a, b string) bool {
	order, err := resourceversion.CompareResourceVersion(a, b)
	return err == nil && order > 0
}
