package main

import (
	"encoding/json"
	"fmt"
	"os"
	"runtime/debug"
	"time"

	"debug/buildinfo"
)

// Report is what one run has measured.
type Report struct {
	N            int       `json:"n"`
	Started      time.Time `json:"started"`
	TotalSeconds float64   `json:"totalSeconds"`
	Binary       string    `json:"binary"`
	Args         []string  `json:"args"`
	Commit       string    `json:"commit,omitempty"` // that the binary was built from, as far as it knows
	Machine      Machine   `json:"machine"`
	Results      []Result  `json:"results"`
	Failures     []string  `json:"failures,omitempty"`
}

// Machine is what the run took place on.
type Machine struct {
	System     string `json:"system"`
	CPUs       int    `json:"cpus"`
	Kubernetes string `json:"kubernetes"`
}

// Result is what one scenario, or a part of one, has measured.
type Result struct {
	Scenario    string         `json:"scenario"`
	Of          int            `json:"of"`      // how many things took part, or how often it was done
	Seconds     float64        `json:"seconds"` // until the effect was there; the median where it was done several times
	Requests    int            `json:"requests"`
	Refused     int            `json:"refused,omitempty"` // how many of the requests failed
	Calls       map[string]int `json:"calls,omitempty"`   // the requests by verb and resource
	CPUSeconds  float64        `json:"cpuSeconds"`        // of the controller; of this program for the floor
	ResidentMiB float64        `json:"residentMiB,omitempty"`
	PeakMiB     float64        `json:"peakMiB,omitempty"`
}

// PerOne is the number of requests for each thing that took part.
func (r Result) PerOne() float64 {
	if r.Of == 0 {
		return 0
	}
	return float64(r.Requests) / float64(r.Of)
}

// Result finds the result of a scenario.
func (r *Report) Result(scenario string) (Result, bool) {
	for _, result := range r.Results {
		if result.Scenario == scenario {
			return result, true
		}
	}
	return Result{}, false
}

func writeJSON(name string, reports []*Report) error {
	data, err := json.MarshalIndent(reports, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(name, append(data, '\n'), 0o644); err != nil {
		return fmt.Errorf("write the reports: %w", err)
	}
	return nil
}

// commitOf reads from a Go program which commit it was built from; "" when it does not say.
func commitOf(binary string) string {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return ""
	}
	return revision(info.Settings)
}

func revision(settings []debug.BuildSetting) string {
	commit, modified := "", ""
	for _, s := range settings {
		switch {
		case s.Key == "vcs.revision" && len(s.Value) >= 12:
			commit = s.Value[:12]
		case s.Key == "vcs.modified" && s.Value == "true":
			modified = "+changes"
		}
	}
	if commit == "" {
		return ""
	}
	return commit + modified
}
