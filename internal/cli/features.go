package cli

import (
	"slices"

	"k8s.io/component-base/featuregate"
)

// The feature gates, by the names that installations already use.
const (
	// gateOmit allows omit() in templates.
	gateOmit featuregate.Feature = "CELOmitFunction"
	// gateEvents emits an event for each change of an instance's conditions.
	gateEvents featuregate.Feature = "InstanceConditionEvents"
	// gateGraphs serves Graphs.
	gateGraphs featuregate.Feature = "GraphKind"
	// gateConditionMetrics shows the age of instances' conditions as a metric.
	gateConditionMetrics featuregate.Feature = "InstanceConditionMetrics"
)

// Gates that other releases have and that change nothing here, with the reason.
var settledGates = map[featuregate.Feature]string{
	"ConservativeCRDComparison": "every change of a generated CRD is found and judged, with or without it",
	"DeletionPolicy":            "deletionPolicy of a resource counts, with or without it",
}

// newGates returns the gates with their defaults. What is an alpha feature elsewhere is on here: it is off only for who asks.
func newGates() featuregate.MutableFeatureGate {
	specs := map[featuregate.Feature]featuregate.FeatureSpec{
		gateGraphs:           {Default: true, PreRelease: featuregate.Alpha},
		gateOmit:             {Default: true, PreRelease: featuregate.Alpha},
		gateEvents:           {Default: true, PreRelease: featuregate.Alpha},
		gateConditionMetrics: {Default: true, PreRelease: featuregate.Alpha},
	}
	for name := range settledGates {
		specs[name] = featuregate.FeatureSpec{PreRelease: featuregate.Alpha}
	}
	gates := featuregate.NewFeatureGate()
	// Add fails only when a gate is known already with another spec, and this one is new.
	_ = gates.Add(specs)
	return gates
}

// asksForEvents tells that somebody turned events on. They are on anyway, but then without those that only say that a new instance is well: four
// writes an instance that nobody asked for.
func asksForEvents(gates featuregate.FeatureGate) bool {
	explicit, ok := gates.(interface {
		ExplicitlySet(featuregate.Feature) bool
	})
	return ok && explicit.ExplicitlySet(gateEvents) && gates.Enabled(gateEvents)
}

// gatesWithoutEffect lists the gates that were turned on and change nothing, in order.
func gatesWithoutEffect(gates featuregate.FeatureGate) []string {
	var names []string
	for name := range settledGates {
		if gates.Enabled(name) {
			names = append(names, string(name))
		}
	}
	slices.Sort(names)
	return names
}

// whyWithoutEffect is the reason why a gate changes nothing.
func whyWithoutEffect(gate string) string { return settledGates[featuregate.Feature(gate)] }
