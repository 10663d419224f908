package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
)

// disturb lets editors change things and faults happen until the time is up. It returns when all faults are over and the
// controller runs.
func (s *soak) disturb(ctx context.Context) error {
	until := time.Now().Add(s.options.duration)
	s.memory.start(time.Now(), s.options.duration)
	happened := map[string]int{}
	group, ctx := errgroup.WithContext(ctx)
	all := make([]*editor, editors)
	for i := range all {
		all[i] = newEditor(s, i)
		pause := time.Duration(float64(time.Second) * editors / s.options.rate)
		group.Go(func() error { return all[i].work(ctx, until, pause) })
	}
	group.Go(func() error {
		p := newPlan(s.options.seed)
		for time.Now().Before(until) {
			f := p.next()
			s.tell("%s", f.name)
			if err := f.do(s, ctx, p.random); err != nil {
				return fmt.Errorf("%s: %w", f.name, err)
			}
			happened[f.name]++
			if err := wait(ctx, faultPause(s.options.duration)); err != nil {
				return err
			}
		}
		return nil
	})
	if err := group.Wait(); err != nil {
		return err
	}
	s.summary(all, happened)
	return nil
}

func (s *soak) summary(all []*editor, happened map[string]int) {
	var sum tally
	for _, e := range all {
		sum.plus(e.tally)
	}
	var faults []string
	for _, name := range slices.Sorted(maps.Keys(happened)) {
		faults = append(faults, fmt.Sprintf("%d × %s", happened[name], name))
	}
	s.tell("%d changes by others, %d more to objects that were not there, %d that failed; %s", sum.done, sum.absent, sum.failed, strings.Join(faults, ", "))
}

// tell prints a line with the time since the faults began and the controller's memory.
func (s *soak) tell(format string, args ...any) {
	fmt.Printf("soak: %8s  %9s  %s\n", s.memory.elapsed().Round(time.Second), mebibytes(s.memory.now()), fmt.Sprintf(format, args...))
}
