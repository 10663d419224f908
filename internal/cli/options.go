package cli

import (
	"errors"
	"flag"
	"fmt"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/component-base/featuregate"
	"sigs.k8s.io/controller-runtime/pkg/client/config"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	graphcontroller "kro.run/kro/internal/controller/graph"
)

// Defaults at which an option means "as kro sees fit", because other releases ship them as fixed values that are no longer useful.
const (
	defaultQPS       = 100
	defaultBurst     = 150
	defaultWorkers   = 1
	defaultRetryMax  = 1000 * time.Second
	automaticWorkers = 16
	automaticRetry   = 5 * time.Minute
	// automaticDefinitions is more than one so that a definition whose kind cannot be watched does not hold up the others.
	automaticDefinitions = 4
	// automaticGraphs likewise: a Graph of many objects must not hold up the others.
	automaticGraphs = 4
)

// The values of --adoption.
const (
	adoptUnowned = "unowned"
	adoptNever   = "never"
)

// Options are all settings of `kro controller`. DefaultOptions gives the defaults of the flags.
type Options struct {
	// MetricsAddress and ProbeAddress are where metrics and probes are served; "0" turns metrics off. PprofAddress counts in builds with the tag
	// pprof only.
	MetricsAddress, ProbeAddress, PprofAddress string

	LeaderElection          bool
	LeaderElectionNamespace string
	// LeaseDuration, RenewDeadline and RetryPeriod are those of the leader's lease.
	LeaseDuration, RenewDeadline, RetryPeriod time.Duration

	// Warmup starts the sources of the controllers before the lease is won.
	Warmup bool
	// GracefulShutdown is how long a shutdown may take.
	GracefulShutdown time.Duration

	// AllowCRDDeletion deletes a generated CRD with its definition.
	AllowCRDDeletion bool

	// DefinitionWorkers, RevisionWorkers and InstanceWorkers are how many objects are reconciled at the same time.
	DefinitionWorkers, RevisionWorkers, InstanceWorkers, GraphWorkers int
	// ControllerNamespace and ControllerServiceAccount say which account the controller itself is, so that no Graph acts as it.
	ControllerNamespace, ControllerServiceAccount string
	// ApplyConcurrency bounds the writes of instances that are under way.
	ApplyConcurrency int
	// RetryMin and RetryMax bound the delay after a failure of an instance.
	RetryMin, RetryMax time.Duration

	// MaxCollectionSize bounds the items of one forEach, MaxDimensions its entries.
	MaxCollectionSize, MaxDimensions int
	// MaxRevisions is how many revisions of a definition are kept; 0 or less keeps all.
	MaxRevisions int
	// CELCostLimit bounds the cost of one evaluation; 0 is the limit of Kubernetes.
	CELCostLimit uint64

	// ClientQPS and ClientBurst limit the requests to the API server; at their defaults there is no limit, the server's own flow control decides.
	ClientQPS   float32
	ClientBurst int

	// Adoption is "unowned" or "never".
	Adoption string
	// StatusGraph gives instances the status field graph.
	StatusGraph bool

	// Gates are the feature gates.
	Gates featuregate.MutableFeatureGate
	// Zap is the logger.
	Zap zap.Options
}

// DefaultOptions returns what the controller runs with when no flag is given.
func DefaultOptions() Options {
	return Options{
		MetricsAddress:    ":8078",
		ProbeAddress:      ":8079",
		PprofAddress:      ":6060",
		LeaseDuration:     15 * time.Second,
		RenewDeadline:     10 * time.Second,
		RetryPeriod:       2 * time.Second,
		GracefulShutdown:  60 * time.Second,
		DefinitionWorkers: defaultWorkers,
		RevisionWorkers:   1,
		InstanceWorkers:   defaultWorkers,
		GraphWorkers:      defaultWorkers,
		ApplyConcurrency:  20,
		RetryMin:          200 * time.Millisecond,
		RetryMax:          defaultRetryMax,
		MaxCollectionSize: 1000,
		MaxDimensions:     10,
		MaxRevisions:      5,
		ClientQPS:         defaultQPS,
		ClientBurst:       defaultBurst,
		Adoption:          adoptUnowned,
		StatusGraph:       true,
		Gates:             newGates(),
		Zap:               zap.Options{Development: true},
	}
}

// bind declares all flags; their defaults are the present values.
func (o *Options) bind(flags *pflag.FlagSet) {
	o.bindProcess(flags)
	o.bindWork(flags)
	bindIgnored(flags)
	gates := pflag.NewFlagSet("", pflag.ContinueOnError)
	o.Gates.AddFlag(gates)
	flags.AddFlagSet(gates)
	native := flag.NewFlagSet("", flag.ContinueOnError)
	o.Zap.BindFlags(native)
	config.RegisterFlags(native)
	flags.AddGoFlagSet(native)
}

func (o *Options) bindProcess(flags *pflag.FlagSet) {
	flags.StringVar(&o.MetricsAddress, "metrics-bind-address", o.MetricsAddress, "Address that serves metrics; 0 serves none.")
	flags.StringVar(&o.ProbeAddress, "health-probe-bind-address", o.ProbeAddress, "Address that serves /healthz and /readyz.")
	flags.StringVar(&o.PprofAddress, "pprof-bind-address", o.PprofAddress, "Address that serves profiles, in builds with the tag pprof.")
	flags.BoolVar(&o.LeaderElection, "leader-elect", o.LeaderElection, "Run one of several replicas at a time.")
	flags.StringVar(&o.LeaderElectionNamespace, "leader-election-namespace", o.LeaderElectionNamespace,
		"Namespace of the leader's lease; empty is the controller's own.")
	flags.DurationVar(&o.LeaseDuration, "leader-election-lease-duration", o.LeaseDuration, "How long others wait before they take a lease that is not renewed.")
	flags.DurationVar(&o.RenewDeadline, "leader-election-renew-deadline", o.RenewDeadline, "How long the leader tries to renew its lease before it gives up.")
	flags.DurationVar(&o.RetryPeriod, "leader-election-retry-period", o.RetryPeriod, "How often the lease is tried for.")
	flags.BoolVar(&o.Warmup, "enable-controller-warmup", o.Warmup, "Start the sources of the controllers before the lease is won.")
	flags.DurationVar(&o.GracefulShutdown, "graceful-shutdown-timeout", o.GracefulShutdown, "How long a shutdown may take.")
	flags.Float32Var(&o.ClientQPS, "client-qps", o.ClientQPS,
		"Requests a second to the API server. At the defaults of this flag and --client-burst there is no limit of kro's own.")
	flags.IntVar(&o.ClientBurst, "client-burst", o.ClientBurst, "Requests to the API server that may exceed --client-qps for a moment.")
}

func (o *Options) bindWork(flags *pflag.FlagSet) {
	flags.BoolVar(&o.AllowCRDDeletion, "allow-crd-deletion", o.AllowCRDDeletion,
		"Delete a generated CRD with its ResourceGraphDefinition, once no instances are left.")
	flags.IntVar(&o.DefinitionWorkers, "resource-graph-definition-concurrent-reconciles", o.DefinitionWorkers,
		fmt.Sprintf("ResourceGraphDefinitions reconciled at the same time; 1, the default, leaves the number to kro (%d).", automaticDefinitions))
	flags.IntVar(&o.RevisionWorkers, "graph-revision-concurrent-reconciles", o.RevisionWorkers, "GraphRevisions reconciled at the same time.")
	flags.IntVar(&o.InstanceWorkers, "dynamic-controller-concurrent-reconciles", o.InstanceWorkers,
		fmt.Sprintf("Instances reconciled at the same time; 1, the default, leaves the number to kro (%d).", automaticWorkers))
	flags.IntVar(&o.GraphWorkers, "graph-concurrent-reconciles", o.GraphWorkers,
		fmt.Sprintf("Graphs reconciled at the same time; 1, the default, leaves the number to kro (%d).", automaticGraphs))
	flags.StringVar(&o.ControllerNamespace, "controller-namespace", o.ControllerNamespace, "Namespace of the controller's own ServiceAccount; no Graph may act as it.")
	flags.StringVar(&o.ControllerServiceAccount, "controller-service-account", o.ControllerServiceAccount, "Name of the controller's own ServiceAccount.")
	flags.IntVar(&o.ApplyConcurrency, "apply-concurrency", o.ApplyConcurrency, "Writes of instances that may be under way at the same time.")
	flags.DurationVar(&o.RetryMin, "dynamic-controller-rate-limiter-min-delay", o.RetryMin, "Delay after the first failure of an instance.")
	flags.DurationVar(&o.RetryMax, "dynamic-controller-rate-limiter-max-delay", o.RetryMax,
		fmt.Sprintf("Longest delay after failures of an instance; the default leaves it to kro (%s).", automaticRetry))
	flags.IntVar(&o.MaxCollectionSize, "rgd-max-collection-size", o.MaxCollectionSize, "Items that one forEach may expand to.")
	flags.IntVar(&o.MaxDimensions, "rgd-max-collection-dimension-size", o.MaxDimensions, "Entries that one forEach may have.")
	flags.IntVar(&o.MaxRevisions, "rgd-max-graph-revisions", o.MaxRevisions, "GraphRevisions kept of each definition; 0 or less keeps all.")
	flags.Uint64Var(&o.CELCostLimit, "cel-cost-limit", o.CELCostLimit, "Cost that one evaluation of an expression may have; 0 is the limit of Kubernetes itself.")
	flags.StringVar(&o.Adoption, "adoption", o.Adoption,
		"Which existing objects a template may take over: unowned (those that belong to no instance) or never (none).")
	flags.BoolVar(&o.StatusGraph, "instance-status-graph", o.StatusGraph,
		"Show the state of each resource in status.graph of instances. Turn it off before going back to a release that does not know the field.")
}

// validate tells all settings that cannot be.
func (o *Options) validate() error {
	var errs []error
	if o.Adoption != adoptUnowned && o.Adoption != adoptNever {
		errs = append(errs, fmt.Errorf("--adoption is %q, want %s or %s", o.Adoption, adoptUnowned, adoptNever))
	}
	for _, flag := range []struct {
		name string
		n    int
	}{
		{"resource-graph-definition-concurrent-reconciles", o.DefinitionWorkers},
		{"graph-revision-concurrent-reconciles", o.RevisionWorkers},
		{"dynamic-controller-concurrent-reconciles", o.InstanceWorkers},
		{"graph-concurrent-reconciles", o.GraphWorkers},
		{"apply-concurrency", o.ApplyConcurrency},
		{"rgd-max-collection-size", o.MaxCollectionSize},
		{"rgd-max-collection-dimension-size", o.MaxDimensions},
	} {
		if flag.n < 1 {
			errs = append(errs, fmt.Errorf("--%s is %d, want 1 or more", flag.name, flag.n))
		}
	}
	if o.RetryMin <= 0 || o.RetryMax < o.RetryMin {
		errs = append(errs, fmt.Errorf("--dynamic-controller-rate-limiter-min-delay is %s and -max-delay %s, want 0 < min ≤ max", o.RetryMin, o.RetryMax))
	}
	return errors.Join(errs...)
}

// instanceWorkers is the number of workers for instances, after the rule for the default.
func (o *Options) instanceWorkers() int {
	if o.InstanceWorkers == defaultWorkers {
		return automaticWorkers
	}
	return o.InstanceWorkers
}

// definitionWorkers is the number of workers for definitions, after the rule for the default.
func (o *Options) definitionWorkers() int {
	if o.DefinitionWorkers == defaultWorkers {
		return automaticDefinitions
	}
	return o.DefinitionWorkers
}

// graphWorkers is the number of workers for Graphs, after the rule for the default.
func (o *Options) graphWorkers() int {
	if o.GraphWorkers == defaultWorkers {
		return automaticGraphs
	}
	return o.GraphWorkers
}

// self is the user that the controller is; empty when it has not been told.
func (o *Options) self() string {
	if o.ControllerNamespace == "" || o.ControllerServiceAccount == "" {
		return ""
	}
	return graphcontroller.User(o.ControllerNamespace, o.ControllerServiceAccount)
}

// retryMax is the longest delay between retries, after the rule for the default.
func (o *Options) retryMax() time.Duration {
	if o.RetryMax == defaultRetryMax {
		return automaticRetry
	}
	return o.RetryMax
}

// qps is the limit of the clients, after the rule for the defaults; -1 is none.
func (o *Options) qps() (qps float32, burst int) {
	if o.ClientQPS == defaultQPS && o.ClientBurst == defaultBurst {
		return -1, 0
	}
	return o.ClientQPS, o.ClientBurst
}
