package revision

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"

	internalv1alpha1 "kro.run/kro/api/internal.kro.run/v1alpha1"
	"kro.run/kro/api/v1alpha1"
)

func TestName(t *testing.T) {
	long := strings.Repeat("a", 253)
	cases := []struct {
		reason, definition string
		n                  int64
		want               string
	}{
		{"five digits", "shop", 7, "shop-r00007"},
		{"more digits", "shop", 1234567, "shop-r1234567"},
		{"the longest that fits", long[:246], 1, long[:246] + "-r00001"},
		{"too long", long, 1, long[:237] + "-r00001-df1f7590"},
		{"a cut behind a dot", strings.Repeat("a", 236) + "." + strings.Repeat("b", 16), 1, strings.Repeat("a", 236) + "-r00001-"},
		{"nothing but dots left", strings.Repeat(".", 250), 1, "gr-r00001-"},
	}
	for _, c := range cases {
		t.Run(c.reason, func(t *testing.T) {
			if got := Name(c.definition, c.n); !strings.HasPrefix(got, c.want) {
				t.Errorf("Name = %s, want %s", got, c.want)
			}
		})
	}
}

func TestNameFitsAlwaysAndDiffers(t *testing.T) {
	name := rapid.StringMatching(`[a-z0-9]([-a-z0-9]{0,100}[a-z0-9])?(\.[a-z0-9]([-a-z0-9]{0,140}[a-z0-9])?)?`)
	rapid.Check(t, func(t *rapid.T) {
		a := name.Draw(t, "definition")
		n := rapid.Int64Range(1, 1<<40).Draw(t, "number")
		got := Name(a, n)
		if errs := validation.IsDNS1123Subdomain(got); len(errs) > 0 {
			t.Fatalf("Name(%q, %d) = %q: %v", a, n, got, errs)
		}
		if got == Name(a, n+1) {
			t.Fatalf("Name(%q, %d) is that of the next", a, n)
		}
	})
}

func revisions(numbers ...int64) []*internalv1alpha1.GraphRevision {
	var out []*internalv1alpha1.GraphRevision
	for _, n := range numbers {
		out = append(out, &internalv1alpha1.GraphRevision{
			ObjectMeta: metav1.ObjectMeta{Name: Name("x", n)}, Spec: internalv1alpha1.GraphRevisionSpec{Revision: n},
		})
	}
	return out
}

func numbers(revisions []*internalv1alpha1.GraphRevision) []int64 {
	var out []int64
	for _, r := range revisions {
		out = append(out, r.Spec.Revision)
	}
	return out
}

func TestNext(t *testing.T) {
	cases := []struct {
		reason     string
		lastIssued int64
		existing   []int64
		want       int64
	}{
		{"the first", 0, nil, 1},
		{"after the newest", 2, []int64{1, 2}, 3},
		{"never a number whose revision was deleted", 7, []int64{5, 6}, 8},
		{"a definition made again has lost its count", 0, []int64{3, 9, 4}, 10},
	}
	for _, c := range cases {
		t.Run(c.reason, func(t *testing.T) {
			if got := Next(c.lastIssued, revisions(c.existing...)); got != c.want {
				t.Errorf("Next = %d, want %d", got, c.want)
			}
		})
	}
}

func TestRetire(t *testing.T) {
	cases := []struct {
		reason string
		live   []int64
		keep   int
		inUse  []int64
		want   []int64
	}{
		{"none too many", []int64{1, 2, 3}, 3, nil, nil},
		{"the oldest go, oldest first", []int64{9, 3, 7, 1, 5}, 2, nil, []int64{1, 3, 5}},
		{"what is in use stays", []int64{1, 2, 3, 4}, 1, []int64{2}, []int64{1, 3}},
		{"zero keeps all", []int64{1, 2, 3}, 0, nil, nil},
		{"below zero keeps all", []int64{1, 2, 3}, -1, nil, nil},
	}
	for _, c := range cases {
		t.Run(c.reason, func(t *testing.T) {
			var inUse func(int64) bool
			if c.inUse != nil {
				inUse = func(n int64) bool { return slices.Contains(c.inUse, n) }
			}
			if diff := cmp.Diff(c.want, numbers(Retire(revisions(c.live...), c.keep, inUse))); diff != "" {
				t.Errorf("Retire: -want +got:\n%s", diff)
			}
		})
	}
}

func TestSplitAndLatest(t *testing.T) {
	all := revisions(4, 1, 3)
	all[0].DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
	live, terminating := Split(all)
	if diff := cmp.Diff([][]int64{{1, 3}, {4}}, [][]int64{numbers(live), numbers(terminating)}); diff != "" {
		t.Errorf("Split: -want +got:\n%s", diff)
	}
	if got := Latest(live).Spec.Revision; got != 3 {
		t.Errorf("Latest = %d, want 3", got)
	}
	if Latest(nil) != nil {
		t.Error("Latest of none is not nil")
	}
}

func TestAdopt(t *testing.T) {
	me := Owner("shop", "new")
	other := metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "c", UID: "c"}
	before := Owner("shop", "old")
	plain := me
	plain.Controller = nil
	elsewhere := metav1.OwnerReference{APIVersion: "example.com/v1", Kind: me.Kind, Name: "shop", UID: "x"}
	cases := []struct {
		reason    string
		has, want []metav1.OwnerReference
		changed   bool
	}{
		{"nobody's", nil, []metav1.OwnerReference{me}, true},
		{"mine already", []metav1.OwnerReference{other, me}, []metav1.OwnerReference{other, me}, false},
		{"my predecessor's, replaced in its place", []metav1.OwnerReference{before, other}, []metav1.OwnerReference{me, other}, true},
		{"mine, but not as controller", []metav1.OwnerReference{plain}, []metav1.OwnerReference{me}, true},
		{"another kind's", []metav1.OwnerReference{other}, []metav1.OwnerReference{other, me}, true},
		{"a kind of the same name in another group", []metav1.OwnerReference{elsewhere}, []metav1.OwnerReference{elsewhere, me}, true},
	}
	for _, c := range cases {
		t.Run(c.reason, func(t *testing.T) {
			got, changed := Adopt(c.has, me)
			if diff := cmp.Diff(c.want, got); diff != "" || changed != c.changed {
				t.Errorf("Adopt: changed %t, want %t; -want +got:\n%s", changed, c.changed, diff)
			}
		})
	}
}

func TestNew(t *testing.T) {
	long := strings.Repeat("n", 70)
	definition := &v1alpha1.ResourceGraphDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: long, UID: "uid", Generation: 4},
		Spec:       *parse(t, `{schema: {apiVersion: v1alpha1, kind: DefHashPlain, spec: {a: string}}}`),
	}
	got, err := New(definition, 3, "v1")
	if err != nil {
		t.Fatalf("New: %v", err)
	}
	label := v1alpha1.LabelValue(long)
	want := &internalv1alpha1.GraphRevision{
		ObjectMeta: metav1.ObjectMeta{
			Name: long + "-r00003",
			Labels: map[string]string{
				"kro.run/owned": "true", "kro.run/kro-version": "v1", "kro.run/graph-revision-hash": "3d68fcac259953e2",
				"kro.run/resource-graph-definition-name": label, "internal.kro.run/resource-graph-definition-name": label,
			},
			Annotations: map[string]string{"internal.kro.run/resource-graph-definition-name": long},
			Finalizers:  []string{"kro.run/finalizer"},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "kro.run/v1alpha1", Kind: "ResourceGraphDefinition", Name: long, UID: "uid", Controller: ptr.To(true),
			}},
		},
		Spec: internalv1alpha1.GraphRevisionSpec{
			Revision: 3,
			Snapshot: internalv1alpha1.ResourceGraphDefinitionSnapshot{Name: long, Generation: 4, Spec: definition.Spec},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("New: -want +got:\n%s", diff)
	}
	if len(label) != 42 || !strings.HasPrefix(label, "h-") {
		t.Errorf("LabelValue of a long name is %q", label)
	}
}
