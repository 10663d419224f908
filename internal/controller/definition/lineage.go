package definition

import (
	"slices"

	"kro.run/kro/internal/revision"

	internalv1alpha1 "kro.run/kro/api/internal.kro.run/v1alpha1"
)

// lineage are the revisions of one definition, each list by ascending number.
type lineage struct {
	live, leaving []*internalv1alpha1.GraphRevision
}

func newLineage(revisions []*internalv1alpha1.GraphRevision) lineage {
	live, leaving := revision.Split(revisions)
	return lineage{live: live, leaving: leaving}
}

// latest is the newest live revision, nil when there is none.
func (l lineage) latest() *internalv1alpha1.GraphRevision {
	return last(l.live)
}

// all lists the revisions, those on their way out included.
func (l lineage) all() []*internalv1alpha1.GraphRevision {
	return slices.Concat(l.live, l.leaving)
}

// settling says that the newest revision is on its way out: what comes after it can be told only when it has gone. Older ones that leave, as retention
// makes them, are no reason to wait.
func (l lineage) settling() bool {
	leaving, live := last(l.leaving), last(l.live)
	return leaving != nil && (live == nil || live.Spec.Revision < leaving.Spec.Revision)
}

// newestFirst lists all revisions that may be served, by descending number.
func (l lineage) newestFirst() []*internalv1alpha1.GraphRevision {
	all := l.all()
	slices.SortStableFunc(all, func(a, b *internalv1alpha1.GraphRevision) int { return int(b.Spec.Revision - a.Spec.Revision) })
	return all
}

func last(list []*internalv1alpha1.GraphRevision) *internalv1alpha1.GraphRevision {
	if len(list) == 0 {
		return nil
	}
	return list[len(list)-1]
}
