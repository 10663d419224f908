package main

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"
	"text/tabwriter"
)

//go:embed bounds.json
var boundsJSON []byte

// Bounds are what a run must keep to, and where they come from.
type Bounds struct {
	// Run is the run that the bounds were taken from: date, commit, machine.
	Run    string  `json:"run"`
	Bounds []Bound `json:"bounds"`
}

// Bound is the most that a measure of a scenario may be.
type Bound struct {
	Scenario string  `json:"scenario"`
	Measure  string  `json:"measure"`
	Most     float64 `json:"most"`
	// Measured is what the run that the bound comes from had, so that a reader sees the room between.
	Measured float64 `json:"measured"`
	// From is the number of instances from which on the bound holds: what does not depend on it weighs more in small runs.
	From int `json:"from,omitempty"`
}

// Verdict is what a run has to say about a bound.
type Verdict struct {
	Bound
	Value   float64
	Skipped bool   // the run is too small for it
	Fault   string // why there is no value
}

// Broken tells whether the bound is passed, or cannot be told to be kept.
func (v Verdict) Broken() bool { return !v.Skipped && (v.Fault != "" || v.Value > v.Most) }

func readBounds() (*Bounds, error) {
	decoder := json.NewDecoder(bytes.NewReader(boundsJSON))
	decoder.DisallowUnknownFields()
	var b Bounds
	if err := decoder.Decode(&b); err != nil {
		return nil, fmt.Errorf("read bounds.json: %w", err)
	}
	for _, bound := range b.Bounds {
		if _, found := measureNamed(bound.Measure); !found {
			return nil, fmt.Errorf("read bounds.json: scenario %s: there is no measure %q", bound.Scenario, bound.Measure)
		}
	}
	return &b, nil
}

// Check compares a run with every bound. A scenario that is missing from the run breaks its bounds: what was not measured
// has not been kept.
func (b *Bounds) Check(report *Report) []Verdict {
	verdicts := make([]Verdict, 0, len(b.Bounds))
	for _, bound := range b.Bounds {
		v := Verdict{Bound: bound, Skipped: report.N < bound.From}
		result, found := report.Result(bound.Scenario)
		measure, known := measureNamed(bound.Measure)
		switch {
		case v.Skipped:
		case !found:
			v.Fault = "not measured"
		case !known:
			v.Fault = "no such measure"
		default:
			value, err := measure.value(report, result)
			v.Value = value
			if err != nil {
				v.Fault = err.Error()
			}
		}
		verdicts = append(verdicts, v)
	}
	return verdicts
}

func broken(verdicts []Verdict) int {
	n := 0
	for _, v := range verdicts {
		if v.Broken() {
			n++
		}
	}
	return n
}

func verdictTable(n int, verdicts []Verdict) string {
	var text strings.Builder
	fmt.Fprintf(&text, "\nbounds at N=%d\n\n", n)
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "scenario\tmeasure\tmost\tthen\tnow\t")
	for _, v := range verdicts {
		now, word := fmt.Sprintf("%.3g", v.Value), "ok"
		if v.Fault != "" {
			now = v.Fault
		}
		switch {
		case v.Skipped:
			now, word = "-", fmt.Sprintf("skipped: holds from N=%d on", v.From)
		case v.Broken():
			word = "BROKEN"
		}
		fmt.Fprintf(w, "%s\t%s\t%.3g\t%.3g\t%s\t%s\n", v.Scenario, v.Measure, v.Most, v.Measured, now, word)
	}
	w.Flush()
	return text.String()
}
