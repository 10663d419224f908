package main

import (
	"context"
	"fmt"
	"slices"
	"syscall"
	"time"

	"kro.run/kro/test/bench/audit"
	"kro.run/kro/test/bench/process"
)

const (
	quietFor  = 2 * time.Second  // a controller that has sent nothing for so long has finished
	quietMost = 20 * time.Second // one that polls is not waited for any longer
)

// measure takes note of what the controller asks for, and costs, while something happens. The action returns how long its
// effect took; of is the number of things that the requests are divided by.
func (r *run) measure(ctx context.Context, name string, of int, act func(context.Context) (time.Duration, error)) error {
	if err := r.quiet(ctx, quietFor, quietMost); err != nil {
		return err
	}
	before, err := r.subject.Usage()
	if err != nil {
		return err
	}
	counted := r.audit.Of(userController)
	took, err := act(ctx)
	if err != nil {
		return err
	}
	if err := r.quiet(ctx, quietFor, quietMost); err != nil {
		return err
	}
	after, err := r.subject.Usage()
	if err != nil {
		return err
	}
	r.note(name, of, took, r.audit.Of(userController).Since(counted), after, before.CPU)
	return nil
}

func (r *run) note(name string, of int, took time.Duration, requests audit.Counts, usage process.Usage, cpuBefore time.Duration) {
	r.report.Results = append(r.report.Results, Result{
		Scenario: name, Of: of, Seconds: took.Seconds(),
		Requests: requests.Total(), Refused: requests.Failed, Calls: requests.ByCall(),
		CPUSeconds: (usage.CPU - cpuBefore).Seconds(), ResidentMiB: mebibytes(usage.Resident), PeakMiB: mebibytes(usage.Peak),
	})
}

// repeat measures something short several times and notes the median of the durations.
func (r *run) repeat(ctx context.Context, name string, times int, act func(ctx context.Context, i int) (time.Duration, error)) error {
	return r.measure(ctx, name, times, func(ctx context.Context) (time.Duration, error) {
		var took []time.Duration
		for i := range times {
			one, err := act(ctx, i)
			if err != nil {
				return 0, fmt.Errorf("repetition %d of %d: %w", i+1, times, err)
			}
			took = append(took, one)
			// So that one does not pay for what the last has left to do.
			if err := r.quiet(ctx, 300*time.Millisecond, quietMost); err != nil {
				return 0, err
			}
		}
		return median(took), nil
	})
}

// quiet returns when the controller has sent nothing for a while, or when the most is over.
func (r *run) quiet(ctx context.Context, still, most time.Duration) error {
	deadline := time.Now().Add(most)
	since := time.Now()
	for {
		if err := r.plane.Barrier(ctx); err != nil {
			return err
		}
		if last, _ := r.audit.Last(userController); last.After(since) {
			since = last
		}
		now := time.Now()
		if now.Sub(since) >= still || now.After(deadline) {
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(min(still-now.Sub(since), 200*time.Millisecond)):
		}
	}
}

func median(durations []time.Duration) time.Duration {
	if len(durations) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(durations))
	return sorted[len(sorted)/2]
}

func mebibytes(bytes int64) float64 { return float64(bytes) / (1 << 20) }

// ownCPU is the CPU time of this program.
func ownCPU() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
