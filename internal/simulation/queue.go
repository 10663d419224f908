package simulation

import (
	"slices"
	"time"
)

// Queue is a queue whose delays are over whenever the simulation says so.
type Queue[K comparable] struct {
	due     []K
	delayed []K
}

// Add puts a key into the queue.
func (q *Queue[K]) Add(k K) {
	if !slices.Contains(q.due, k) {
		q.due = append(q.due, k)
	}
}

// AddAfter puts a key among those that are delayed.
func (q *Queue[K]) AddAfter(k K, _ time.Duration) {
	if !slices.Contains(q.delayed, k) {
		q.delayed = append(q.delayed, k)
	}
}

// Forget drops what is delayed: what happens must come from an event.
func (q *Queue[K]) Forget() { q.delayed = nil }

// Elapse lets all delays run out.
func (q *Queue[K]) Elapse() {
	for _, k := range q.delayed {
		q.Add(k)
	}
	q.delayed = nil
}

// Get takes the first key.
func (q *Queue[K]) Get() (K, bool) {
	if len(q.due) == 0 {
		var none K
		return none, true
	}
	k := q.due[0]
	q.due = q.due[1:]
	return k, false
}

// Done does nothing: there is one goroutine.
func (q *Queue[K]) Done(K) {}

// Len is the number of keys that are due.
func (q *Queue[K]) Len() int { return len(q.due) }

// ShutDown does nothing.
func (q *Queue[K]) ShutDown() {}

// ShutDownWithDrain does nothing.
func (q *Queue[K]) ShutDownWithDrain() {}

// ShuttingDown is false.
func (q *Queue[K]) ShuttingDown() bool { return false }
