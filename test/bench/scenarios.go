package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"
)

// scenario is one thing that is measured. It adds its results to the report.
type scenario struct {
	name  string
	about string
	do    func(*run, context.Context) error
	// extra ones run only when -only names them: they take minutes.
	extra bool
}

// allScenarios are in the order that they run in: the floor before the controller starts, deletion when nothing needs the
// instances any more, many CRDs last because they stay and slow the server down.
var allScenarios = []scenario{
	{name: "floor", about: "N instances by the bare client", do: (*run).measureFloor},
	{name: "write", about: "one apply on an idle server", do: (*run).measureWrite},
	{name: "definition", about: "definitions from applied to Active: the first, and further ones", do: (*run).measureDefinition},
	{name: "create", about: "N instances from creation to ACTIVE", do: (*run).measureCreate},
	{name: "idle", about: "20 seconds without a change", do: (*run).measureIdle},
	{name: "drift", about: "a child edited by another is repaired", do: (*run).measureDrift},
	{name: "edit", about: "one instance edited among N", do: (*run).measureEdit},
	{name: "restart", about: "the controller starts with N instances", do: (*run).measureRestart},
	{name: "update", about: "a changed template reaches all N instances", do: (*run).measureUpdate},
	{name: "deep", about: "a ten-deep chain from creation to ACTIVE", do: (*run).measureDeep},
	{name: "collection", about: "a collection of 1,000 items is made, and one changes", do: (*run).measureCollection},
	{name: "delete100", about: "100 instances are deleted", do: (*run).measureDeleteHundred},
	{name: "delete", about: "N instances are deleted", do: (*run).measureDelete},
	{name: "crds", about: "memory with 200 large CRDs installed", do: (*run).measureCRDs, extra: true},
}

// scenarios runs what was asked for. A scenario that fails is noted and the others go on, unless a program died.
func (r *run) scenarios(ctx context.Context) error {
	var failed []error
	for _, s := range allScenarios {
		if !r.options.wants(s) {
			continue
		}
		fmt.Fprintf(os.Stderr, "bench: N=%d: %s: %s\n", r.n, s.name, s.about)
		within, cancel := context.WithTimeout(ctx, r.patience(s))
		err := s.do(r, within)
		cancel()
		if err == nil {
			continue
		}
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		err = fmt.Errorf("scenario %s: %w", s.name, err)
		r.report.Failures = append(r.report.Failures, err.Error())
		failed = append(failed, err)
		if ctx.Err() != nil {
			break
		}
	}
	return errors.Join(failed...)
}

// wants tells whether a scenario is to run.
func (o options) wants(s scenario) bool {
	if o.only == nil {
		return !s.extra
	}
	return o.only.MatchString(s.name)
}

// patience is how long a scenario may take: far longer than it should.
func (r *run) patience(s scenario) time.Duration {
	patience := 3*time.Minute + time.Duration(r.n)*200*time.Millisecond
	if s.extra {
		patience += 10 * time.Minute
	}
	return patience
}
