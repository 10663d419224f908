package conditions

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"kro.run/kro/api/v1alpha1"
)

var (
	born  = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	later = born.Add(time.Minute)
	types = Types{Root: "Ready", Dependents: []string{"Managed", "Resolved", "Resources"}, Retired: []string{"Old"}}
)

func subject(generation int64) Subject {
	return Subject{Generation: generation, Created: born}
}

// show writes a list in one line: Type=Status/Reason@generation+seconds since creation.
func show(list []v1alpha1.Condition) string {
	var out []string
	for _, c := range list {
		out = append(out, c.Type+"="+string(c.Status)+"/"+c.Reason+"@"+string(rune('0'+c.ObservedGeneration))+"+"+c.LastTransitionTime.Sub(born).String())
	}
	return strings.Join(out, " ")
}

func TestNewObjectAwaitsReconciliation(t *testing.T) {
	l := types.Open([]v1alpha1.Condition{{Type: "Old", Status: "True"}}, subject(1), later)
	want := "Managed=Unknown/AwaitingReconciliation@1+0s Resolved=Unknown/AwaitingReconciliation@1+0s " +
		"Resources=Unknown/AwaitingReconciliation@1+0s Ready=Unknown/AwaitingReconciliation@1+0s"
	if diff := cmp.Diff(want, show(l.List())); diff != "" {
		t.Errorf("conditions (-want +got):\n%s", diff)
	}
	if c, _ := l.Get("Managed"); c.Message != `condition "Managed" is awaiting reconciliation` {
		t.Errorf("message %q", c.Message)
	}
}

func TestHealthyInstance(t *testing.T) {
	l := types.Open(nil, subject(1), later)
	l.True("Resources", "AllResourcesReady", "")
	l.True("Managed", "Managed", "")
	l.True("Resolved", "Valid", "")
	want := "Managed=True/Managed@1+1m0s Resolved=True/Valid@1+1m0s Resources=True/AllResourcesReady@1+1m0s Ready=True/Ready@1+1m0s"
	if diff := cmp.Diff(want, show(l.List())); diff != "" {
		t.Errorf("conditions of one second stand in the declared order, the root last (-want +got):\n%s", diff)
	}
	if !l.Ready() {
		t.Error("Ready() = false")
	}
}

func TestRootSumsUp(t *testing.T) {
	cases := map[string]struct {
		set  func(*Ledger)
		want string
	}{
		"False outranks Unknown": {
			func(l *Ledger) { l.Unknown("Managed", "Deleting", "m"); l.False("Resources", "Failed", "r") },
			"False/Failed r",
		},
		"the first declared counts among those of one second": {
			func(l *Ledger) { l.False("Resources", "Failed", "r"); l.False("Managed", "Broken", "m") },
			"False/Broken m",
		},
		"an Unknown that nobody has looked at counts too": {
			func(l *Ledger) { l.True("Managed", "Managed", ""); l.True("Resolved", "Valid", "") },
			`Unknown/AwaitingReconciliation condition "Resources" is awaiting reconciliation`,
		},
	}
	for reason, c := range cases {
		l := types.Open(nil, subject(1), later)
		c.set(l)
		root, _ := l.Get("Ready")
		if got := string(root.Status) + "/" + root.Reason + " " + root.Message; got != c.want {
			t.Errorf("%s: root is %q, want %q", reason, got, c.want)
		}
	}
}

func TestNewestFailureCounts(t *testing.T) {
	l := types.Open(nil, subject(1), later)
	l.False("Managed", "Broken", "first")
	l = types.Open(l.List(), subject(1), later.Add(time.Minute))
	l.False("Resources", "Failed", "second")
	if root, _ := l.Get("Ready"); root.Message != "second" {
		t.Errorf("root says %q, want the failure that came last", root.Message)
	}
}

func TestNewGeneration(t *testing.T) {
	l := types.Open(nil, subject(1), later)
	for _, typ := range types.Dependents {
		l.True(typ, "Fine", "")
	}
	l = types.Open(l.List(), subject(2), later.Add(time.Minute))
	l.True("Managed", "Fine", "")
	if root, _ := l.Get("Ready"); root.ObservedGeneration != 1 || l.Ready() {
		t.Errorf("the root speaks about generation %d while dependents are stale, want 1", root.ObservedGeneration)
	}
	l.True("Resolved", "Fine", "")
	l.True("Resources", "Fine", "")
	want := "Managed=True/Fine@2+1m0s Resolved=True/Fine@2+1m0s Resources=True/Fine@2+1m0s Ready=True/Ready@2+1m0s"
	if diff := cmp.Diff(want, show(l.List())); diff != "" {
		t.Errorf("times move only with the status (-want +got):\n%s", diff)
	}
}

func TestDeletionTakesAllConditionsAlong(t *testing.T) {
	l := types.Open(nil, subject(1), later)
	for _, typ := range types.Dependents {
		l.True(typ, "Fine", "")
	}
	l = types.Open(l.List(), Subject{Generation: 2, Created: born, Deleting: true}, later.Add(time.Minute))
	l.Unknown("Resources", "UnderDeletion", "")
	want := "Managed=True/Fine@2+1m0s Resolved=True/Fine@2+1m0s Resources=Unknown/UnderDeletion@2+2m0s Ready=Unknown/UnderDeletion@2+2m0s"
	if diff := cmp.Diff(want, show(l.List())); diff != "" {
		t.Errorf("conditions (-want +got):\n%s", diff)
	}
}

func TestFurtherConditions(t *testing.T) {
	l := types.Open(nil, subject(1), later)
	l.False("Author", "No", "")
	for _, typ := range types.Dependents {
		l.True(typ, "Fine", "")
	}
	if !l.Ready() {
		t.Error("an undeclared condition does not count for the root")
	}
	l.Drop("Author")
	if _, ok := l.Get("Author"); ok {
		t.Error("the condition is still there after Drop")
	}
}

// TestRoundTrip: what was written and read again is the same list, whatever was set, and setting the same findings once more changes nothing.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sub := Subject{Generation: rapid.Int64Range(1, 5).Draw(t, "generation"), Created: born, Deleting: rapid.Bool().Draw(t, "deleting")}
		type finding struct {
			typ    string
			status metav1.ConditionStatus
		}
		var findings []finding
		for range rapid.IntRange(0, 6).Draw(t, "n") {
			findings = append(findings, finding{
				rapid.SampledFrom([]string{"Managed", "Resolved", "Resources", "Author"}).Draw(t, "type"),
				rapid.SampledFrom([]metav1.ConditionStatus{"True", "False", "Unknown"}).Draw(t, "status"),
			})
		}
		at := born.Add(time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "at")))
		l := types.Open(nil, sub, at)
		last := map[string]metav1.ConditionStatus{}
		for _, f := range findings {
			l.Set(f.typ, f.status, "R", "m")
			last[f.typ] = f.status
		}
		back := FromUnstructured(ToUnstructured(l.List()))
		if diff := cmp.Diff(l.List(), back); diff != "" {
			t.Fatalf("read back (-want +got):\n%s", diff)
		}
		again := types.Open(back, sub, at.Add(time.Hour))
		for typ, status := range last {
			again.Set(typ, status, "R", "m")
		}
		if diff := cmp.Diff(back, again.List()); diff != "" {
			t.Fatalf("the same findings changed the list (-want +got):\n%s", diff)
		}
		if n := len(back); back[n-1].Type != "Ready" {
			t.Fatalf("the root is not last: %s", show(back))
		}
	})
}

func TestSpoiledListIsMended(t *testing.T) {
	got := FromUnstructured([]any{"text", map[string]any{"status": "True"}, map[string]any{"type": "Managed", "status": 3}})
	if diff := cmp.Diff([]v1alpha1.Condition{{Type: "Managed"}}, got); diff != "" {
		t.Errorf("conditions (-want +got):\n%s", diff)
	}
}

func TestTransitions(t *testing.T) {
	before := []v1alpha1.Condition{{Type: "A", Status: "True"}, {Type: "B", Status: "False"}}
	after := []v1alpha1.Condition{{Type: "A", Status: "True", Message: "new"}, {Type: "B", Status: "True", Reason: "Fine"}, {Type: "C", Status: "Unknown"}}
	want := []Transition{{"B", "False", "True", "Fine"}, {"C", "", "Unknown", ""}}
	if diff := cmp.Diff(want, Transitions(before, after)); diff != "" {
		t.Errorf("transitions (-want +got):\n%s", diff)
	}
}
