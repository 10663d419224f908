package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"strconv"
	"strings"
	"syscall"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
)

// options are the command line.
type options struct {
	binary   string
	args     []string
	programs string
	crds     string
	sizes    []int
	only     *regexp.Regexp
	json     string
	check    bool
	workers  int
	logs     string
}

func main() {
	klog.SetLogger(logr.Discard()) // client-go would print what is told as an error anyway
	o, err := parseOptions(os.Args[1:])
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err == nil {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		defer stop()
		err = measureAll(ctx, o)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func parseOptions(args []string) (options, error) {
	var o options
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.StringVar(&o.binary, "binary", "bin/kro", "the controller's program")
	line := flags.String("args", "controller", "its arguments, separated by spaces; kubeconfig and ports are added")
	flags.StringVar(&o.programs, "programs", "localcluster/bin", "the folder with the programs etcd and kube-apiserver")
	flags.StringVar(&o.crds, "crds", "", "a folder with the CRDs to install instead of those of this repository")
	sizes := flags.String("n", "1000", "how many instances, or several numbers separated by commas: a run for each")
	only := flags.String("only", "", "run only the scenarios whose names match this regular expression, as a whole: "+names())
	flags.StringVar(&o.json, "json", "", "also write the reports to this file, as JSON")
	flags.BoolVar(&o.check, "check", false, "compare with the bounds of bounds.json and fail when one is passed")
	flags.IntVar(&o.workers, "floor-workers", 32, "how many instances the floor works on at once")
	flags.StringVar(&o.logs, "logs", "", "keep the controller's log in this file")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if flags.NArg() > 0 {
		return o, fmt.Errorf("unknown argument %q: everything is a flag", flags.Arg(0))
	}
	o.args = strings.Fields(*line)
	for _, text := range strings.Split(*sizes, ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return o, fmt.Errorf("-n %s: %q is no number of instances", *sizes, text)
		}
		o.sizes = append(o.sizes, n)
	}
	var err error
	if o.only, err = regexp.Compile("^(?:" + *only + ")$"); err != nil {
		return o, fmt.Errorf("-only: %w", err)
	}
	if *only == "" {
		o.only = nil
	}
	return o, nil
}

// names lists the scenarios for the help text.
func names() string {
	var all []string
	for _, s := range allScenarios {
		name := s.name
		if s.extra {
			name += " (only when named)"
		}
		all = append(all, name)
	}
	return strings.Join(all, ", ")
}

// measureAll makes a run for each size, prints each as soon as it is there, and compares at the end.
func measureAll(ctx context.Context, o options) error {
	var reports []*Report
	var failed []error
	for _, n := range o.sizes {
		report, err := measureOne(ctx, o, n)
		if report != nil {
			reports = append(reports, report)
			fmt.Print(report.Table())
		}
		if err != nil {
			failed = append(failed, fmt.Errorf("run with %d instances: %w", n, err))
		}
		if ctx.Err() != nil {
			break
		}
	}
	if o.json != "" {
		if err := writeJSON(o.json, reports); err != nil {
			failed = append(failed, err)
		}
	}
	if o.check && len(failed) == 0 {
		failed = append(failed, checkBounds(reports))
	}
	return errors.Join(failed...)
}

func checkBounds(reports []*Report) error {
	bounds, err := readBounds()
	if err != nil {
		return err
	}
	var failed []error
	for _, report := range reports {
		verdicts := bounds.Check(report)
		fmt.Print(verdictTable(report.N, verdicts))
		if n := broken(verdicts); n > 0 {
			failed = append(failed, fmt.Errorf("%d of %d bounds are passed at N=%d; they come from the run of %s", n, len(verdicts), report.N, bounds.Run))
		}
	}
	return errors.Join(failed...)
}
