package definition

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kro.run/kro/graph"
	"kro.run/kro/internal/programs"

	internalv1alpha1 "kro.run/kro/api/internal.kro.run/v1alpha1"
)

// numbered makes revisions; negative numbers are on their way out.
func numbered(numbers ...int64) []*internalv1alpha1.GraphRevision {
	var list []*internalv1alpha1.GraphRevision
	for _, n := range numbers {
		r := &internalv1alpha1.GraphRevision{}
		r.Spec.Revision = n
		if n < 0 {
			r.Spec.Revision = -n
			r.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
		}
		list = append(list, r)
	}
	return list
}

func TestSettling(t *testing.T) {
	cases := map[string]struct {
		numbers []int64
		want    bool
	}{
		"none":                               {nil, false},
		"nothing leaves":                     {[]int64{1, 2}, false},
		"the newest leaves":                  {[]int64{1, -2}, true},
		"the only one leaves":                {[]int64{-1}, true},
		"retention takes the oldest":         {[]int64{-1, 2, 3}, false},
		"one leaves that has been succeeded": {[]int64{1, -2, 3}, false},
	}
	for reason, c := range cases {
		if got := newLineage(numbered(c.numbers...)).settling(); got != c.want {
			t.Errorf("%s: settling() = %t, want %t", reason, got, c.want)
		}
	}
}

func TestPick(t *testing.T) {
	valid := func(hash string) programs.Result { return programs.Result{Program: &graph.Program{Hash: hash}} }
	faults := graph.Diagnostics{{Message: "does not fit"}}
	broken := programs.Result{Diagnostics: faults}
	stale := programs.Result{Program: &graph.Program{Hash: "before"}, Diagnostics: faults}
	unknown := programs.Result{Err: errUnreachable}
	served := &offer{revision: 2, program: &graph.Program{Hash: "running"}}
	type result struct {
		Revision int64
		Hash     string
		Newest   bool
		Without  string
	}
	cases := map[string]struct {
		served    *offer
		revisions []programs.Result // newest first, numbers 3, 2, 1
		want      result
	}{
		"the newest that compiles":                                    {nil, []programs.Result{valid("three"), valid("two")}, result{3, "three", true, ""}},
		"the newest that compiles, whatever runs":                     {served, []programs.Result{valid("three"), valid("two")}, result{3, "three", true, ""}},
		"what runs goes on when the newest does not compile":          {served, []programs.Result{broken, valid("two")}, result{2, "running", false, ""}},
		"after a restart the next older one":                          {nil, []programs.Result{broken, valid("two"), valid("one")}, result{2, "two", false, "does not fit"}},
		"or the one after that":                                       {nil, []programs.Result{broken, broken, valid("one")}, result{1, "one", false, "does not fit"}},
		"a program of earlier kinds is better than an older revision": {nil, []programs.Result{stale, valid("two")}, result{3, "before", true, ""}},
		"nothing works": {nil, []programs.Result{broken, broken}, result{Without: "does not fit"}},
		"a cluster that cannot be asked is no reason to fall back": {nil, []programs.Result{unknown, valid("two")}, result{Without: "unreachable"}},
		"what runs goes on when the cluster cannot be asked":       {served, []programs.Result{unknown, valid("two")}, result{2, "running", false, ""}},
		"what runs goes on when all revisions were deleted":        {served, nil, result{2, "running", false, "document does not compile"}},
	}
	for reason, c := range cases {
		p := &pass{memory: &memory{served: c.served}, document: programs.Result{Diagnostics: graph.Diagnostics{{Message: "document does not compile"}}}}
		p.pick(func(yield func(contender) bool) {
			for i, r := range c.revisions {
				if !yield(contender{offer{revision: int64(3 - i), program: r.Program}, r}) {
					return
				}
			}
		})
		got := result{Newest: p.newest, Without: p.without}
		if p.chosen != nil {
			got.Revision, got.Hash = p.chosen.revision, p.chosen.program.Hash
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", reason, diff)
		}
	}
}
