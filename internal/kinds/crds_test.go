package kinds

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestServedVersionsAreInTheServersOrder(t *testing.T) {
	info := CRDInfo{Established: true}
	for _, name := range []string{"v1beta1", "v1alpha3", "v2", "v10", "v1", "v11beta2", "v12alpha1", "foo10", "foo1"} {
		info.Versions = append(info.Versions, Version{Name: name, Served: true})
	}
	info.Versions = append(info.Versions, Version{Name: "v99"})
	want := []string{"v10", "v2", "v1", "v11beta2", "v1beta1", "v12alpha1", "v1alpha3", "foo1", "foo10"}
	if diff := cmp.Diff(want, info.Served()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if !info.Serves("v1") || info.Serves("v99") || info.Serves("v3") {
		t.Error("served are those versions that say so")
	}
	if info.Established = false; info.Serves("v1") {
		t.Error("a CRD that is not established serves nothing")
	}
}

func TestRivalsForAKind(t *testing.T) {
	var gone []schema.GroupKind
	x := newCRDIndex(func(schema.GroupKind) {}, func(gk schema.GroupKind) { gone = append(gone, gk) })
	loser := &CRDInfo{Name: "aa.g.example.com", Group: "g.example.com", Kind: "K", Plural: "aa"}
	winner := &CRDInfo{Name: "ks.g.example.com", Group: "g.example.com", Kind: "K", Plural: "ks", Established: true}
	gk := winner.groupKind()
	x.put(loser)
	x.put(winner)
	if got, _ := x.find(gk); got != winner {
		t.Errorf("of two CRDs for one kind: got %v, want the established one", got.Name)
	}
	x.remove(winner.Name)
	if got, _ := x.find(gk); got != loser || len(gone) != 0 {
		t.Errorf("after one went: got %v, gone %v; want the other one", got, gone)
	}
	x.remove(loser.Name)
	if got, _ := x.find(gk); got != nil || len(gone) != 1 {
		t.Errorf("after both went: got %v, gone %v", got, gone)
	}
}

func TestReplaceTellsWhatIsDifferent(t *testing.T) {
	x := newCRDIndex(func(schema.GroupKind) {}, func(schema.GroupKind) {})
	var told []Change
	x.subscribe(func(c Change) { told = append(told, c) })
	info := func(name string, generation int64) *CRDInfo {
		return &CRDInfo{Name: name, Group: "g.example.com", Kind: name, Plural: name, Generation: generation, Established: true}
	}
	x.replace([]*CRDInfo{info("a", 1), info("b", 1), info("c", 1)})
	if len(told) != 3 {
		t.Fatalf("the first list: told %v, want three", told)
	}
	told = nil
	x.replace([]*CRDInfo{info("b", 1), info("c", 2), info("d", 1)})
	want := []Change{
		{Name: "a", Group: "g.example.com", Kind: "a", Plural: "a", Deleted: true},
		{Name: "c", Group: "g.example.com", Kind: "c", Plural: "c", SpecChanged: true, Established: true},
		{Name: "d", Group: "g.example.com", Kind: "d", Plural: "d", SpecChanged: true, Established: true},
	}
	if diff := cmp.Diff(want, told); diff != "" {
		t.Errorf("after a gap in the watch (-want +got):\n%s", diff)
	}
}
