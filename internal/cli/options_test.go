package cli

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
)

// parse reads flags as `kro controller` does.
func parse(t *testing.T, args ...string) (Options, *pflag.FlagSet, error) {
	t.Helper()
	o := DefaultOptions()
	flags := pflag.NewFlagSet("controller", pflag.ContinueOnError)
	o.bind(flags)
	return o, flags, flags.Parse(args)
}

// TestFlags keeps names and defaults that manifests of other releases rely on.
func TestFlags(t *testing.T) {
	want := map[string]string{
		"metrics-bind-address": ":8078", "health-probe-bind-address": ":8079", "pprof-bind-address": ":6060",
		"leader-elect": "false", "leader-election-namespace": "", "leader-election-lease-duration": "15s",
		"leader-election-renew-deadline": "10s", "leader-election-retry-period": "2s", "enable-controller-warmup": "false",
		"allow-crd-deletion": "false", "graceful-shutdown-timeout": "1m0s", "resource-graph-definition-concurrent-reconciles": "1",
		"graph-revision-concurrent-reconciles": "1", "dynamic-controller-concurrent-reconciles": "1",
		"dynamic-controller-rate-limiter-min-delay": "200ms", "dynamic-controller-rate-limiter-max-delay": "16m40s",
		"dynamic-controller-rate-limiter-rate-limit": "10", "dynamic-controller-rate-limiter-burst-limit": "100",
		"dynamic-controller-default-resync-period": "36000", "dynamic-controller-default-queue-max-retries": "20",
		"instance-requeue-interval": "3s", "rgd-progress-requeue-delay": "3s", "rgd-max-collection-size": "1000",
		"rgd-max-collection-dimension-size": "10", "rgd-max-graph-revisions": "5", "client-qps": "100", "client-burst": "150",
		"feature-gates": "", "kubeconfig": "", "zap-devel": "true", "zap-encoder": "", "zap-log-level": "", "zap-stacktrace-level": "",
		"zap-time-encoding": "", "apply-concurrency": "20", "cel-cost-limit": "0", "graph-concurrent-reconciles": "1",
		"controller-namespace": "", "controller-service-account": "", "adoption": "unowned", "instance-status-graph": "true",
	}
	_, flags, err := parse(t)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	flags.VisitAll(func(f *pflag.Flag) {
		got[f.Name] = f.DefValue
		if strings.HasPrefix(f.Name, "zap-") && f.Name != "zap-devel" {
			got[f.Name] = "" // controller-runtime's own
		}
	})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("flags (-want +got):\n%s", diff)
	}
}

func TestDefaultsLeftToKro(t *testing.T) {
	cases := map[string]struct {
		args    []string
		workers int
		retry   time.Duration
		qps     float32
		burst   int
	}{
		"at the defaults kro decides":             {nil, 16, 5 * time.Minute, -1, 0},
		"the defaults written out change nothing": {[]string{"--dynamic-controller-concurrent-reconciles=1", "--client-qps=100"}, 16, 5 * time.Minute, -1, 0},
		"other values are honoured": {
			[]string{"--dynamic-controller-concurrent-reconciles=2", "--dynamic-controller-rate-limiter-max-delay=9s", "--client-qps=50"},
			2, 9 * time.Second, 50, 150,
		},
		"another burst alone is a limit too": {[]string{"--client-burst=7"}, 16, 5 * time.Minute, 100, 7},
	}
	for reason, c := range cases {
		o, _, err := parse(t, c.args...)
		if err != nil {
			t.Fatal(err)
		}
		qps, burst := o.qps()
		if o.instanceWorkers() != c.workers || o.retryMax() != c.retry || qps != c.qps || burst != c.burst {
			t.Errorf("%s: workers %d, retry %s, qps %v/%d", reason, o.instanceWorkers(), o.retryMax(), qps, burst)
		}
	}
}

func TestGates(t *testing.T) {
	cases := map[string]struct {
		gates  string
		omit   bool
		events bool
		idle   []string
	}{
		"on by default":                      {"", true, true, nil},
		"off when asked":                     {"CELOmitFunction=false", false, true, nil},
		"all alpha features off":             {"AllAlpha=false", false, false, nil},
		"known elsewhere, nothing here":      {"GraphKind=true,DeletionPolicy=true", true, true, []string{"DeletionPolicy"}},
		"AllBeta is known":                   {"AllBeta=true", true, true, nil},
		"all off but one, in whatever order": {"AllAlpha=false,InstanceConditionEvents=true", false, true, nil},
	}
	for reason, c := range cases {
		o, _, err := parse(t, "--feature-gates="+c.gates)
		if err != nil {
			t.Errorf("%s: %v", reason, err)
			continue
		}
		if o.Gates.Enabled(gateOmit) != c.omit || o.Gates.Enabled(gateEvents) != c.events || !slices.Equal(gatesWithoutEffect(o.Gates), c.idle) {
			t.Errorf("%s: omit %t, events %t, idle %v", reason, o.Gates.Enabled(gateOmit), o.Gates.Enabled(gateEvents), gatesWithoutEffect(o.Gates))
		}
	}
}

func TestIgnoredFlagsAreNamed(t *testing.T) {
	_, flags, err := parse(t, "--instance-requeue-interval=3s", "--rgd-progress-requeue-delay=1s", "--dynamic-controller-default-resync-period=7")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for name := range flagsWithoutEffect(flags) {
		got = append(got, name)
	}
	slices.Sort(got)
	if diff := cmp.Diff([]string{"dynamic-controller-default-resync-period", "rgd-progress-requeue-delay"}, got); diff != "" {
		t.Errorf("only what was set to something else (-want +got):\n%s", diff)
	}
}

func TestValidate(t *testing.T) {
	o, _, err := parse(t, "--adoption=always", "--apply-concurrency=0", "--dynamic-controller-rate-limiter-min-delay=-1s")
	if err != nil {
		t.Fatal(err)
	}
	err = o.validate()
	for _, want := range []string{`--adoption is "always", want unowned or never`, "--apply-concurrency is 0", "rate-limiter-min-delay is -1s"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("validate() = %v, want it to say %q", err, want)
		}
	}
}

func TestDoubleDashes(t *testing.T) {
	args := []string{"controller", "-metrics-bind-address=:0", "-leader-elect", "--client-qps", "-1", "-zap-devel=false", "-h", "-unknown", "--", "-leader-elect"}
	want := []string{"controller", "--metrics-bind-address=:0", "--leader-elect", "--client-qps", "-1", "--zap-devel=false", "-h", "-unknown", "--", "-leader-elect"}
	if diff := cmp.Diff(want, doubleDashes(newRoot(), args)); diff != "" {
		t.Errorf("arguments (-want +got):\n%s", diff)
	}
}

func TestMainTellsWhatIsWrong(t *testing.T) {
	cases := map[string]struct {
		args   []string
		code   int
		stdout string
		stderr string
	}{
		"the version":              {[]string{"version"}, 0, "devel\n", ""},
		"a gate nobody knows":      {[]string{"controller", "--feature-gates=Warp=true"}, 1, "", "unrecognized feature gate: Warp"},
		"a setting that cannot be": {[]string{"controller", "-adoption=never-ever"}, 1, "", "--adoption is"},
	}
	for reason, c := range cases {
		var stdout, stderr bytes.Buffer
		code := Main(context.Background(), c.args, &stdout, &stderr)
		if code != c.code || stdout.String() != c.stdout || !strings.Contains(stderr.String(), c.stderr) {
			t.Errorf("%s: code %d, stdout %q, stderr %q", reason, code, stdout.String(), stderr.String())
		}
	}
}

// Events about conditions are on, but four of them for each new instance only for who asks.
func TestEventsOfNewInstancesAreForWhoAsks(t *testing.T) {
	for gates, want := range map[string]bool{"": false, "InstanceConditionEvents=true": true, "InstanceConditionEvents=false": false} {
		o, _, err := parse(t, "--feature-gates="+gates)
		if err != nil {
			t.Fatal(err)
		}
		if got := asksForEvents(o.Gates); got != want {
			t.Errorf("gates %q: events of new instances %t, want %t", gates, got, want)
		}
	}
}
