package cli

import (
	"time"

	"github.com/spf13/pflag"
)

// Flags of other releases that mean nothing here. They are taken, so that a manifest need not change, and named once in the log when they are set.
var ignoredFlags = []struct {
	name string
	// value is the default of the flag and its type.
	value any
	why   string
}{
	{"dynamic-controller-rate-limiter-rate-limit", 10, "retries are spaced per instance, not by one limit for all"},
	{"dynamic-controller-rate-limiter-burst-limit", 100, "retries are spaced per instance, not by one limit for all"},
	{"dynamic-controller-default-resync-period", 36000, "watches say what changed, nothing is gone through again on a timer"},
	{"dynamic-controller-default-queue-max-retries", 20, "failures are tried again until they are mended"},
	{"instance-requeue-interval", 3 * time.Second, "instances wait for events, not for a timer"},
	{"rgd-progress-requeue-delay", 3 * time.Second, "definitions wait for events, not for a timer"},
}

func bindIgnored(flags *pflag.FlagSet) {
	for _, f := range ignoredFlags {
		usage := "Accepted and without effect: " + f.why + "."
		switch value := f.value.(type) {
		case int:
			flags.Int(f.name, value, usage)
		case time.Duration:
			flags.Duration(f.name, value, usage)
		case string:
			flags.String(f.name, value, usage)
		}
	}
}

// flagsWithoutEffect maps the ignored flags that were set to another value than their default to the reason why they are ignored. The Helm charts of
// other releases set all flags, most of them to the default.
func flagsWithoutEffect(flags *pflag.FlagSet) map[string]string {
	out := map[string]string{}
	for _, f := range ignoredFlags {
		if flag := flags.Lookup(f.name); flag != nil && flag.Changed && flag.Value.String() != flag.DefValue {
			out[f.name] = f.why
		}
	}
	return out
}
