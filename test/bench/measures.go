package main

import "fmt"

// measureOf is one number about a scenario that can be bounded. Those that are ratios mean the same on every machine.
type measureOf struct {
	name  string
	about string
	value func(*Report, Result) (float64, error)
}

var measures = []measureOf{
	{"requests", "requests", func(_ *Report, r Result) (float64, error) { return float64(r.Requests), nil }},
	{"requests/one", "requests for each thing that took part", func(_ *Report, r Result) (float64, error) { return r.PerOne(), nil }},
	{"refused/one", "requests that failed, for each thing", func(_ *Report, r Result) (float64, error) {
		return float64(r.Refused) / float64(max(r.Of, 1)), nil
	}},
	{"seconds/floor", "duration in durations of the floor", func(report *Report, r Result) (float64, error) {
		return against(report, "floor", r.Seconds, func(f Result) float64 { return f.Seconds })
	}},
	{"seconds/write", "duration in durations of one write on an idle server", func(report *Report, r Result) (float64, error) {
		return against(report, "write", r.Seconds, func(f Result) float64 { return f.Seconds })
	}},
	{"cpu/floor", "CPU time of the controller in CPU times of the bare client", func(report *Report, r Result) (float64, error) {
		return against(report, "floor", r.CPUSeconds, func(f Result) float64 { return f.CPUSeconds })
	}},
	{"residentMiB", "resident memory", func(_ *Report, r Result) (float64, error) { return r.ResidentMiB, nil }},
	{"peakMiB", "the most resident memory", func(_ *Report, r Result) (float64, error) { return r.PeakMiB, nil }},
}

// against divides by what another scenario of the same run has measured.
func against(report *Report, scenario string, value float64, of func(Result) float64) (float64, error) {
	unit, found := report.Result(scenario)
	if !found || of(unit) <= 0 {
		return 0, fmt.Errorf("the run has no scenario %s to compare with", scenario)
	}
	return value / of(unit), nil
}

func measureNamed(name string) (measureOf, bool) {
	for _, m := range measures {
		if m.name == name {
			return m, true
		}
	}
	return measureOf{}, false
}
