package instance

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kro.run/kro/api/v1alpha1"
	"kro.run/kro/internal/executor"
	"kro.run/kro/internal/simulation"
)

// A controller of another version takes over: with the memory that the status keeps, and without it, as from a release that keeps none. Children that are
// in order are not changed.
func TestAnotherVersionOfKroChangesNothing(t *testing.T) {
	for reason, forget := range map[string]bool{"an upgrade": false, "a takeover": true} {
		t.Run(reason, func(t *testing.T) {
			s := newSim(t, simProgram(t, simThings(thingA, itemB)))
			s.World.Create(simulation.Input{V: "1"})
			s.Settle()
			old := func(live *unstructured.Unstructured) {
				labels := live.GetLabels()
				labels[v1alpha1.VersionLabel] = "v0.9.3"
				live.SetLabels(labels)
			}
			child := executor.Key{GVR: simulation.Things, Namespace: "ns", Name: "one-a"}
			s.Server.Edit(child, "somebody", old)
			s.Server.Edit(simOwner, "somebody", func(live *unstructured.Unstructured) {
				old(live)
				if forget {
					unstructured.RemoveNestedField(live.Object, "status", "graph")
				}
			})
			before := s.Server.Live(child).GetResourceVersion()
			s.World.Restart()
			s.Settle()
			live := s.Server.Live(child)
			if live.GetResourceVersion() != before {
				t.Errorf("the child was written: %v", live.GetLabels())
			}
			s.World.Update(simulation.Input{V: "2"})
			s.Settle()
			if got := live.GetLabels()[v1alpha1.VersionLabel]; got == "v0.9.3" {
				t.Errorf("a child that is written for another reason keeps the label of the old version")
			}
			s.ExpectQuiet("after the upgrade")
		})
	}
}
