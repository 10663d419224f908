package cli

import (
	"context"
	"fmt"
	"os"
	"runtime/debug"
	"slices"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/config"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"kro.run/kro/internal/metrics"
	"kro.run/kro/internal/version"
)

func newController() *cobra.Command {
	options := DefaultOptions()
	cmd := &cobra.Command{
		Use:   "controller",
		Short: "Run the controller that serves ResourceGraphDefinitions and their instances",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := options.validate(); err != nil {
				return err
			}
			log := zap.New(zap.UseFlagOptions(&options.Zap))
			ctrl.SetLogger(log)
			klog.SetLogger(log)
			tellWithoutEffect(log.WithName("setup"), cmd.Flags(), options)
			cfg, err := config.GetConfig()
			if err != nil {
				return fmt.Errorf("finding the API server: %w", err)
			}
			return RunController(cmd.Context(), cfg, options, log)
		},
	}
	options.bind(cmd.Flags())
	return cmd
}

// RunController runs the controller against the API server that cfg leads to until ctx ends. It returns nil when it ended for that reason only.
func RunController(ctx context.Context, cfg *rest.Config, options Options, log logr.Logger) error {
	metrics.RegisterClient()
	cfg = rest.CopyConfig(cfg)
	cfg.UserAgent = version.UserAgent()
	cfg.QPS, cfg.Burst = options.qps()
	cfg.Wrap(waitForStorage)

	collectOften()

	setup := log.WithName("setup")
	if err := requireCRDs(ctx, cfg, setup); err != nil {
		return err
	}
	house, err := build(ctx, cfg, options, log)
	if err != nil {
		return err
	}
	setup.Info("Starting", "version", version.Version())
	if err := house.Start(ctx); err != nil {
		return fmt.Errorf("running the controller: %w", err)
	}
	setup.Info("Stopped")
	return nil
}

// gcPercent is how much garbage may gather, in percent of what is in use. What the controller keeps is small beside what passes through it: half of Go's
// default saves a tenth of the resident memory, and the processor time is not measurably more (docs/design/performance.md).
const gcPercent = 50

// collectOften tunes the garbage collector, unless whoever runs the process has.
func collectOften() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
}

// tellWithoutEffect names once what was set and changes nothing.
func tellWithoutEffect(log logr.Logger, flags *pflag.FlagSet, options Options) {
	ignored := flagsWithoutEffect(flags)
	names := make([]string, 0, len(ignored))
	for name := range ignored {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		log.Info("Flag has no effect in this release", "flag", name, "why", ignored[name])
	}
	for _, name := range gatesWithoutEffect(options.Gates) {
		log.Info("Feature gate has no effect in this release", "gate", name, "why", whyWithoutEffect(name))
	}
}
