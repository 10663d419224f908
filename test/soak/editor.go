package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// editors is how many of them work at once.
const editors = 4

// editor is somebody who changes things: instances as their owner, and their objects as one who should not. Each has
// instances of its own, by slots, so that it knows what it has left undone. What it asks for may fail, or have been done
// though the answer was lost: it does not matter, as the end is judged by what the server has then.
type editor struct {
	soak    *soak
	random  *rand.Rand
	slots   []int
	absent  map[int]bool // deleted, as far as the editor knows
	pending map[int]bool // there is something to be undone: leave the instance alone
	undo    []undo
	tally   tally
}

// tally counts what came of an editor's requests.
type tally struct {
	done   int
	absent int // there was no such object
	failed int // refused, or lost with the server
}

func (t *tally) add(err error) {
	switch {
	case err == nil:
		t.done++
	case apierrors.IsNotFound(err):
		t.absent++
	default:
		t.failed++
	}
}

func (t *tally) plus(more tally) {
	t.done, t.absent, t.failed = t.done+more.done, t.absent+more.absent, t.failed+more.failed
}

// undo is something that must be done later, and be done for sure.
type undo struct {
	at   time.Time
	slot int
	do   func(context.Context) error
}

func newEditor(s *soak, number int) *editor {
	e := &editor{soak: s, random: rand.New(rand.NewPCG(s.options.seed, uint64(number))), absent: map[int]bool{}, pending: map[int]bool{}}
	for slot := number; slot < s.options.n; slot += editors {
		e.slots = append(e.slots, slot)
	}
	return e
}

// work changes things at a rate until the time is up, and undoes what has to be undone.
func (e *editor) work(ctx context.Context, until time.Time, pause time.Duration) error {
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for now := range tick.C {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if now.After(until) {
			break
		}
		e.undoDue(ctx, now)
		e.change(ctx)
	}
	for len(e.undo) > 0 {
		e.undoDue(ctx, e.undo[len(e.undo)-1].at.Add(time.Hour))
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
		}
	}
	return nil
}

// undoDue does what is due. What fails stays, unless the object is gone.
func (e *editor) undoDue(ctx context.Context, now time.Time) {
	var left []undo
	for _, u := range e.undo {
		if now.Before(u.at) {
			left = append(left, u)
			continue
		}
		err := u.do(ctx)
		e.tally.add(err)
		if err != nil && !apierrors.IsNotFound(err) {
			left = append(left, u)
			continue
		}
		delete(e.pending, u.slot)
	}
	e.undo = left
}

func (e *editor) later(slot int, do func(context.Context) error) {
	e.pending[slot] = true
	e.undo = append(e.undo, undo{at: time.Now().Add(time.Duration(1+e.random.IntN(8)) * time.Second), slot: slot, do: do})
}

// changes are what an editor does, and how often it does it compared with the others.
var changes = []struct {
	weight int
	do     func(*editor, context.Context, int) error
}{
	{25, (*editor).editSpec},
	{20, (*editor).editChild},
	{20, (*editor).deleteChild},
	{10, (*editor).deleteInstance},
	{4, (*editor).takeLabels},
	{4, (*editor).holdChild},
	{4, (*editor).suspend},
}

// change does one thing to one instance. What is absent comes back.
func (e *editor) change(ctx context.Context) {
	slot := e.slots[e.random.IntN(len(e.slots))]
	do := e.pick()
	if e.pending[slot] {
		return
	}
	if e.absent[slot] {
		do = (*editor).createInstance
	}
	e.tally.add(do(e, ctx, slot))
}

func (e *editor) pick() func(*editor, context.Context, int) error {
	total := 0
	for _, c := range changes {
		total += c.weight
	}
	at := e.random.IntN(total)
	for _, c := range changes {
		if at -= c.weight; at < 0 {
			return c.do
		}
	}
	return changes[0].do
}

func (e *editor) spec() appSpec {
	spec := appSpec{Value: fmt.Sprintf("value-%d", e.random.IntN(1000)), Replicas: int64(e.random.IntN(5)), Extra: e.random.IntN(2) == 0, Entries: []string{}}
	for _, entry := range []string{"a", "b", "c"} {
		if e.random.IntN(2) == 0 {
			spec.Entries = append(spec.Entries, entry)
		}
	}
	return spec
}

// firstSpec is the spec that an instance begins with.
func firstSpec(slot int) appSpec {
	return appSpec{Value: "first", Replicas: 1, Extra: slot%2 == 0, Entries: []string{"a", "b"}[:slot%3]}
}

func (e *editor) createInstance(ctx context.Context, slot int) error {
	err := e.soak.createInstance(ctx, slot, e.random.IntN(1000), e.spec())
	if err == nil {
		delete(e.absent, slot)
	}
	return err // it may still be on its way out; then it comes back another time
}

func (e *editor) deleteInstance(ctx context.Context, slot int) error {
	e.absent[slot] = true // if it is still there in the end, that is as good
	return e.soak.driver.Delete(ctx, instancePath(slot))
}

func (e *editor) editSpec(ctx context.Context, slot int) error {
	return e.soak.editInstance(ctx, slot, e.random.IntN(1000), e.spec())
}

func (e *editor) suspend(ctx context.Context, slot int) error {
	mark := func(value any) map[string]any {
		return map[string]any{"metadata": map[string]any{"annotations": map[string]any{"kro.run/reconcile": value}}}
	}
	e.later(slot, func(ctx context.Context) error { return e.soak.driver.Merge(ctx, instancePath(slot), mark(nil)) })
	return e.soak.driver.Merge(ctx, instancePath(slot), mark("suspended"))
}
