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
}

// allScenarios are in the order that they run in: the floor before the controller starts, deletion when nothing needs the
// instances any more, many CRDs last because they stay and slow the server down.
var allScenarios = []scenario{
	{"floor", "N instances by the bare client", (*run).measureFloor},
	{"write", "one apply on an idle server", (*run).measureWrite},
	{"definition", "definitions from applied to Active: the first, and further ones", (*run).measureDefinition},
	{"create", "N instances from creation to ACTIVE", (*run).measureCreate},
	{"idle", "20 seconds without a change", (*run).measureIdle},
	{"drift", "a child edited by another is repaired", (*run).measureDrift},
	{"edit", "one instance edited among N", (*run).measureEdit},
	{"restart", "the controller starts with N instances", (*run).measureRestart},
	{"update", "a changed template reaches all N instances", (*run).measureUpdate},
	{"deep", "a ten-deep chain from creation to ACTIVE", (*run).measureDeep},
	{"collection", "a collection of 1,000 items is made, and one changes", (*run).measureCollection},
	{"delete100", "100 instances are deleted", (*run).measureDeleteHundred},
	{"delete", "N instances are deleted", (*run).measureDelete},
	{"crds", "memory with 200 large CRDs installed", (*run).measureCRDs},
}

// scenarios runs what was asked for. A scenario that fails is noted and the others go on, unless a program died.
func (r *run) scenarios(ctx context.Context) error {
	var failed []error
	for _, s := range allScenarios {
		if r.options.only != nil && !r.options.only.MatchString(s.name) {
			continue
		}
		fmt.Fprintf(os.Stderr, "bench: N=%d: %s: %s\n", r.n, s.name, s.about)
		within, cancel := context.WithTimeout(ctx, r.patience())
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

// patience is how long a scenario may take: far longer than it should.
func (r *run) patience() time.Duration {
	return 3*time.Minute + time.Duration(r.n)*200*time.Millisecond
}
