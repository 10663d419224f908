package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// reportOf is a run with a floor of 10 seconds and a write of 5 milliseconds.
func reportOf(n int, results ...Result) *Report {
	return &Report{N: n, Results: append([]Result{
		{Scenario: "floor", Of: n, Seconds: 10, Requests: 5 * n, CPUSeconds: 4},
		{Scenario: "write", Of: 50, Seconds: 0.005, Requests: 50},
	}, results...)}
}

func TestMeasures(t *testing.T) {
	report := reportOf(1000)
	result := Result{Scenario: "create", Of: 1000, Seconds: 12, Requests: 5500, Refused: 10, CPUSeconds: 5, ResidentMiB: 70, PeakMiB: 90}
	want := map[string]float64{
		"requests": 5500, "requests/one": 5.5, "refused/one": 0.01, "seconds/floor": 1.2, "seconds/write": 2400, "cpu/floor": 1.25,
		"residentMiB": 70, "peakMiB": 90,
	}
	got := map[string]float64{}
	for _, m := range measures {
		value, err := m.value(report, result)
		if err != nil {
			t.Errorf("%s: %v", m.name, err)
		}
		got[m.name] = value
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestARatioNeedsWhatItComparesWith(t *testing.T) {
	for _, name := range []string{"seconds/floor", "seconds/write", "cpu/floor"} {
		m, found := measureNamed(name)
		if !found {
			t.Fatalf("there is no measure %s", name)
		}
		if value, err := m.value(&Report{}, Result{Seconds: 1, CPUSeconds: 1}); err == nil {
			t.Errorf("%s without a floor = %v, want an error", name, value)
		}
	}
}

func TestBounds(t *testing.T) {
	create := Result{Scenario: "create", Of: 1000, Seconds: 12, Requests: 5500}
	cases := map[string]struct {
		reason string
		bound  Bound
		report *Report
		broken bool
		fault  string
	}{
		"Kept": {
			reason: "a value below the most is good", report: reportOf(1000, create),
			bound: Bound{Scenario: "create", Measure: "requests/one", Most: 6},
		},
		"Reached": {
			reason: "the most itself is allowed", report: reportOf(1000, create),
			bound: Bound{Scenario: "create", Measure: "requests/one", Most: 5.5},
		},
		"Passed": {
			reason: "a value above the most breaks the bound", report: reportOf(1000, create), broken: true,
			bound: Bound{Scenario: "create", Measure: "seconds/floor", Most: 1.1},
		},
		"NotMeasured": {
			reason: "what was not measured has not been kept", report: reportOf(1000), broken: true, fault: "not measured",
			bound: Bound{Scenario: "create", Measure: "requests/one", Most: 6},
		},
		"NoFloor": {
			reason: "a ratio to something missing is no ratio", report: &Report{N: 1000, Results: []Result{create}}, broken: true,
			fault: "the run has no scenario floor to compare with",
			bound: Bound{Scenario: "create", Measure: "seconds/floor", Most: 6},
		},
		"TooSmall": {
			reason: "a bound for large runs says nothing about small ones", report: reportOf(100),
			bound: Bound{Scenario: "create", Measure: "requests/one", Most: 0.1, From: 1000},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			verdicts := (&Bounds{Bounds: []Bound{c.bound}}).Check(c.report)
			if len(verdicts) != 1 || verdicts[0].Broken() != c.broken || verdicts[0].Fault != c.fault {
				t.Errorf("%s: got %+v", c.reason, verdicts)
			}
			if table := verdictTable(c.report.N, verdicts); strings.Contains(table, "BROKEN") != c.broken {
				t.Errorf("%s: the table does not say so:\n%s", c.reason, table)
			}
		})
	}
}

func TestTheBoundsOfTheRepositoryCanBeRead(t *testing.T) {
	bounds, err := readBounds()
	if err != nil {
		t.Fatal(err)
	}
	if bounds.Run == "" || len(bounds.Bounds) == 0 {
		t.Fatal("bounds.json holds no bounds, or does not say which run they come from")
	}
	for _, b := range bounds.Bounds {
		if b.Measured > b.Most {
			t.Errorf("%s %s: the run that the bound comes from had %v, more than the most of %v", b.Scenario, b.Measure, b.Measured, b.Most)
		}
	}
}
