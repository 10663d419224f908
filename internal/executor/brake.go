package executor

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// A graph may rewrite its own input: a template that reads what its own object changes, or another controller that
// changes back what the template wants. Such an instance would go on for ever, at full speed. The guard lets an object
// be rewritten a number of times in a window; after that the instance is slowed down, and its condition names the object
// and the field. An edit of the instance, or of its definition, lifts the brake at once. Graphs have the same guard.
const (
	// RewriteBudget is how often one object may be rewritten in RewriteWindow.
	RewriteBudget = 12
	RewriteWindow = 30 * time.Second

	brakeMax = 5 * time.Minute
)

// Brake remembers how often an instance rewrote its objects of late.
type Brake struct {
	rewrites   map[Key]*rewrites
	generation int64
	revision   int64
	until      time.Time
	delay      time.Duration
	// Driver says what makes the instance go on and on; empty when nothing does.
	Driver string
}

type rewrites struct {
	times []time.Time
	last  *unstructured.Unstructured
}

// Held tells how long the instance has to wait still.
func (b *Brake) Held(now time.Time, generation, revision int64) time.Duration {
	if b.generation != generation || b.revision != revision {
		*b = Brake{generation: generation, revision: revision}
	}
	return b.until.Sub(now)
}

// Note counts what a pass sent. It puts the brake on when an object went over the budget.
func (b *Brake) Note(now time.Time, sent []Sent) {
	if b.rewrites == nil {
		b.rewrites = map[Key]*rewrites{}
	}
	braked := false
	for _, s := range sent {
		r := b.rewrites[s.Key]
		if r == nil {
			r = &rewrites{}
			b.rewrites[s.Key] = r
		}
		r.times = append(recent(r.times, now), now)
		if len(r.times) > RewriteBudget {
			b.Driver = fmt.Sprintf("%s was rewritten %d times in %s; %s", Describe(s.Desired), len(r.times), RewriteWindow, driver(s, r.last))
			braked = true
		}
		// What was sent is kept only once an object looks suspicious: nearly all are sent once.
		if r.last = nil; len(r.times) > RewriteBudget/2 {
			r.last = s.Desired
		}
	}
	for key, r := range b.rewrites {
		if r.times = recent(r.times, now); len(r.times) == 0 {
			delete(b.rewrites, key)
		}
	}
	switch {
	case braked:
		b.delay = min(max(2*b.delay, time.Second), brakeMax)
		b.until = now.Add(b.delay)
	case len(b.rewrites) == 0:
		b.delay, b.Driver = 0, ""
	}
}

func recent(times []time.Time, now time.Time) []time.Time {
	return slices.DeleteFunc(times, func(t time.Time) bool { return now.Sub(t) > RewriteWindow })
}

// driver says what made the object be sent again: a field that the template gave another value, or one that somebody
// else changed back.
func driver(s Sent, last *unstructured.Unstructured) string {
	if last != nil {
		if path := firstDifference("", last.Object, s.Desired.Object); path != "" {
			return "its field " + path + " comes out different each time: the graph rewrites its own input"
		}
	}
	if s.Observed != nil {
		if path := firstUnmet("", s.Desired.Object, s.Observed.Object); path != "" {
			return "its field " + path + " is changed back each time by somebody else"
		}
	}
	return "it does not stay as it was applied"
}

// firstDifference is the path of the first field in which two objects differ, in the order of names.
func firstDifference(path string, a, b any) string {
	x, isMap := a.(map[string]any)
	y, both := b.(map[string]any)
	if !isMap || !both {
		if equality.Semantic.DeepEqual(a, b) {
			return ""
		}
		return path
	}
	for _, name := range slices.Sorted(maps.Keys(namesOf(x, y))) {
		if found := firstDifference(join(path, name), x[name], y[name]); found != "" {
			return found
		}
	}
	return ""
}

// firstUnmet is the path of the first desired field that the observed object does not have.
func firstUnmet(path string, desired, observed any) string {
	x, isMap := desired.(map[string]any)
	y, both := observed.(map[string]any)
	if !isMap || !both {
		if equality.Semantic.DeepEqual(desired, observed) {
			return ""
		}
		return path
	}
	for _, name := range slices.Sorted(maps.Keys(x)) {
		if found := firstUnmet(join(path, name), x[name], y[name]); found != "" {
			return found
		}
	}
	return ""
}

func namesOf(a, b map[string]any) map[string]bool {
	out := make(map[string]bool, len(a)+len(b))
	for k := range a {
		out[k] = true
	}
	for k := range b {
		out[k] = true
	}
	return out
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}
