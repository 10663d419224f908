package main

import (
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestOptions(t *testing.T) {
	o, err := parseOptions([]string{"-n", "100,1000", "-only", "create|idle", "-args", "controller --x=1"})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]int{100, 1000}, o.sizes); diff != "" {
		t.Errorf("sizes (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"controller", "--x=1"}, o.args); diff != "" {
		t.Errorf("args (-want +got):\n%s", diff)
	}
	if !o.only.MatchString("create") || o.only.MatchString("recreate") {
		t.Error("-only must match names as a whole")
	}
	for _, wrong := range [][]string{{"-n", "0"}, {"-n", "many"}, {"-only", "("}, {"extra"}} {
		if _, err := parseOptions(wrong); err == nil {
			t.Errorf("%q was accepted", wrong)
		}
	}
}

func TestMedian(t *testing.T) {
	if got := median([]time.Duration{5, 1, 100}); got != 5 {
		t.Errorf("median = %d, want 5", got)
	}
	if got := median(nil); got != 0 {
		t.Errorf("median of nothing = %d, want 0", got)
	}
}

func TestTheTableComparesLikeWithLike(t *testing.T) {
	report := reportOf(1000,
		Result{Scenario: "create", Of: 1000, Seconds: 12, Requests: 5500, Calls: map[string]int{"patch configmaps": 1000, "get /apis": 1}},
		Result{Scenario: "drift", Of: 10, Seconds: 0.01, Requests: 10})
	report.Failures = []string{"scenario delete: 3 are left"}
	table := report.Table()
	for _, want := range []string{"create", "1.20", "5.50", "1000 patch configmaps, 1 get /apis", "FAILED: scenario delete: 3 are left"} {
		if !strings.Contains(table, want) {
			t.Errorf("the table lacks %q:\n%s", want, table)
		}
	}
	for line := range strings.Lines(table) {
		if strings.HasPrefix(strings.TrimSpace(line), "drift") && !strings.Contains(line, "2.00") {
			t.Errorf("ten milliseconds are two writes: %s", line)
		}
	}
}

func TestTheCommitOfABinary(t *testing.T) {
	clean := debug.BuildSetting{Key: "vcs.revision", Value: "0123456789abcdef"}
	changed := debug.BuildSetting{Key: "vcs.modified", Value: "true"}
	for want, settings := range map[string][]debug.BuildSetting{
		"":                     nil,
		"0123456789ab":         {clean, {Key: "vcs.modified", Value: "false"}},
		"0123456789ab+changes": {changed, clean},
	} {
		if got := revision(settings); got != want {
			t.Errorf("revision(%v) = %q, want %q", settings, got, want)
		}
	}
}
