package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
)

// options are the command line.
type options struct {
	binary   string
	args     []string
	programs string
	n        int
	duration time.Duration
	settle   time.Duration
	rate     float64
	seed     uint64
	logs     string
}

func main() {
	klog.SetLogger(logr.Discard()) // broken connections are the daily bread here
	o, err := parseOptions(os.Args[1:], uint64(time.Now().UnixNano()))
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err == nil {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		defer stop()
		fmt.Printf("soak: %d instances for %s, seed %d\n", o.n, o.duration, o.seed)
		err = run(ctx, o)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "soak: FAILED (seed %d): %v\n", o.seed, err)
		os.Exit(1)
	}
}

func parseOptions(args []string, chance uint64) (options, error) {
	var o options
	flags := flag.NewFlagSet("soak", flag.ContinueOnError)
	flags.StringVar(&o.binary, "binary", "bin/kro", "the controller's program")
	line := flags.String("args", "controller", "its arguments, separated by spaces; kubeconfig and ports are added")
	flags.StringVar(&o.programs, "programs", "localcluster/bin", "the folder with the programs etcd and kube-apiserver")
	flags.IntVar(&o.n, "n", 1000, "how many instances")
	flags.DurationVar(&o.duration, "duration", 5*time.Minute, "how long things are broken")
	flags.DurationVar(&o.settle, "settle", 10*time.Minute, "how long it may take after that until all is in order")
	flags.Float64Var(&o.rate, "rate", 20, "how many changes by users and other clients a second")
	flags.Uint64Var(&o.seed, "seed", chance, "where everything random comes from")
	flags.StringVar(&o.logs, "logs", "", "keep the controller's log in this file")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	o.args = strings.Fields(*line)
	switch {
	case flags.NArg() > 0:
		return o, fmt.Errorf("unknown argument %q: everything is a flag", flags.Arg(0))
	case o.n < editors:
		return o, fmt.Errorf("-n %d: there must be at least %d instances", o.n, editors)
	case o.duration <= 0 || o.rate <= 0:
		return o, errors.New("-duration and -rate must be above 0")
	}
	return o, nil
}

// run is the story of a soak. What it starts has ended, and what it wrote is gone, when it returns.
func run(ctx context.Context, o options) error {
	dir, err := os.MkdirTemp("", "kro-soak-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	s := &soak{options: o}
	defer s.down()
	if err := s.up(ctx, dir); err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go s.watchOver(ctx, cancel)

	err = s.story(ctx)
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

func (s *soak) story(ctx context.Context) error {
	if err := s.populate(ctx); err != nil {
		return fmt.Errorf("before anything was broken: %w", err)
	}
	if err := s.disturb(ctx); err != nil {
		return fmt.Errorf("while things were being broken: %w", err)
	}
	if err := s.settle(ctx); err != nil {
		return fmt.Errorf("when nothing was broken any more: %w", err)
	}
	return s.idle(ctx)
}
