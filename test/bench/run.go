package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"kro.run/kro/test/bench/audit"
	"kro.run/kro/test/bench/client"
	"kro.run/kro/test/bench/plane"
	"kro.run/kro/test/bench/subject"
)

// Users of the control plane, told apart in the audit log.
const (
	userDriver     = "bench-driver"     // creates and deletes instances, watches
	userFloor      = "bench-floor"      // sends the necessary writes
	userOther      = "bench-other"      // edits what belongs to the controller
	userController = "bench-controller" // is measured
)

// run is one measurement with one number of instances.
type run struct {
	options options
	n       int
	report  *Report

	audit   *audit.Log
	plane   *plane.Plane
	subject *subject.Subject
	driver  *client.Client
	floor   *client.Client
	other   *client.Client

	started bool // the controller has been started
	chain   bool // the definition of the chain is active
	fleet   bool // n instances of it are ACTIVE
}

// measureOne makes one run. What it starts has ended, and what it wrote is gone, when it returns. A report comes also
// with an error, as far as the run came.
func measureOne(ctx context.Context, o options, n int) (*Report, error) {
	dir, err := os.MkdirTemp("", "kro-bench-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	r := &run{options: o, n: n, audit: &audit.Log{}}
	began := time.Now()
	if err := r.up(ctx, dir); err != nil {
		return nil, err
	}
	defer r.down()

	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go r.watchOver(ctx, cancel)
	err = r.scenarios(ctx)
	r.report.TotalSeconds = time.Since(began).Seconds()
	return r.report, err
}

// up starts the control plane and installs kro's CRDs. The controller starts when a scenario needs it: the floor is
// measured without it.
func (r *run) up(ctx context.Context, dir string) error {
	var err error
	r.plane, err = plane.Start(ctx, plane.Options{
		Programs: r.options.programs, Dir: dir, Audit: r.audit,
		Users: []string{userDriver, userFloor, userOther, userController},
	})
	if err != nil {
		return err
	}
	if err := r.connect(ctx, dir); err != nil {
		r.plane.Stop()
		return err
	}
	return nil
}

func (r *run) connect(ctx context.Context, dir string) error {
	for user, into := range map[string]**client.Client{userDriver: &r.driver, userFloor: &r.floor, userOther: &r.other} {
		c, err := client.New(r.plane.Config(user))
		if err != nil {
			return err
		}
		*into = c
	}
	version, err := r.plane.Version(ctx)
	if err != nil {
		return err
	}
	r.report = &Report{
		N: r.n, Started: time.Now().UTC().Truncate(time.Second), Binary: r.options.binary, Args: r.options.args, Commit: commitOf(r.options.binary),
		Machine: Machine{System: runtime.GOOS + "/" + runtime.GOARCH, CPUs: runtime.NumCPU(), Kubernetes: version},
	}
	if err := installCRDs(ctx, r.driver, r.options.crds); err != nil {
		return err
	}
	r.subject, err = subject.New(subject.Options{
		Binary: r.options.binary, Args: r.options.args, Kubeconfig: r.plane.Kubeconfig(userController), Dir: dir,
	})
	return err
}

func (r *run) down() {
	if err := r.subject.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
	}
	r.plane.Stop()
	if r.options.logs == "" {
		return
	}
	if err := keepLog(r.subject.Log(), r.options.logs); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
	}
}

func keepLog(from, to string) error {
	data, err := os.ReadFile(from)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	return os.WriteFile(to, data, 0o644)
}

// watchOver ends the run when a program dies, with its last words as the cause.
func (r *run) watchOver(ctx context.Context, cancel context.CancelCauseFunc) {
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if err := errors.Join(r.plane.Unexpected(), r.subject.Unexpected()); err != nil {
			cancel(err)
			return
		}
	}
}

// controller makes sure that the controller runs.
func (r *run) controller(ctx context.Context) error {
	if r.started {
		return nil
	}
	if err := r.subject.Start(); err != nil {
		return err
	}
	r.started = true
	return r.subject.Ready(ctx, time.Minute)
}
