package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
)

// Table shows a report to people.
func (r *Report) Table() string {
	var text strings.Builder
	from := r.Binary
	if r.Commit != "" {
		from += " (" + r.Commit + ")"
	}
	fmt.Fprintf(&text, "\nN=%d  %s %s  Kubernetes %s, %d CPUs, %s  %.0f s in all\n\n",
		r.N, from, strings.Join(r.Args, " "), r.Machine.Kubernetes, r.Machine.CPUs, r.Started.Format("2006-01-02 15:04"), r.TotalSeconds)
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "scenario\tof\tseconds\t× floor\t× write\trequests\teach\tCPU s\tMiB\tpeak\t")
	for _, result := range r.Results {
		fmt.Fprintf(w, "%s\t%d\t%s\t%s\t%s\t%d\t%.2f\t%.2f\t%s\t%s\t\n", result.Scenario, result.Of, seconds(result.Seconds),
			r.ratio("seconds/floor", result), r.ratio("seconds/write", result), result.Requests, result.PerOne(), result.CPUSeconds,
			orNothing(result.ResidentMiB), orNothing(result.PeakMiB))
	}
	w.Flush()
	text.WriteString("\n")
	for _, result := range r.Results {
		if len(result.Calls) > 0 {
			fmt.Fprintf(&text, "%s: %s\n", result.Scenario, callsOf(result))
		}
	}
	for _, failure := range r.Failures {
		fmt.Fprintf(&text, "FAILED: %s\n", failure)
	}
	return text.String()
}

// ratio shows a ratio where it says something: long durations against the floor, short ones against one write.
func (r *Report) ratio(measure string, result Result) string {
	floor, found := r.Result("floor")
	long := found && result.Of > 1 && result.Of == floor.Of
	if (measure == "seconds/floor") != long || result.Scenario == "idle" {
		return ""
	}
	m, _ := measureNamed(measure)
	value, err := m.value(r, result)
	if err != nil {
		return ""
	}
	return fmt.Sprintf("%.2f", value)
}

func seconds(s float64) string {
	if s < 1 {
		return fmt.Sprintf("%.4f", s)
	}
	return fmt.Sprintf("%.2f", s)
}

func orNothing(value float64) string {
	if value == 0 {
		return ""
	}
	return fmt.Sprintf("%.0f", value)
}

// callsOf lists the requests by kind, most frequent first.
func callsOf(result Result) string {
	const most = 12
	names := slices.SortedFunc(maps.Keys(result.Calls), func(a, b string) int {
		return cmp.Or(result.Calls[b]-result.Calls[a], strings.Compare(a, b))
	})
	var parts []string
	rest := 0
	for i, name := range names {
		if i >= most {
			rest += result.Calls[name]
			continue
		}
		parts = append(parts, fmt.Sprintf("%d %s", result.Calls[name], name))
	}
	if rest > 0 {
		parts = append(parts, fmt.Sprintf("%d others", rest))
	}
	if result.Refused > 0 {
		parts = append(parts, fmt.Sprintf("%d of all refused", result.Refused))
	}
	return strings.Join(parts, ", ")
}
