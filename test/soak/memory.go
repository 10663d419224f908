package main

import (
	"fmt"
	"sync"
	"time"
)

// quarters are the most resident memory, in bytes, that the controller had in each quarter of the run.
type quarters [4]int64

// flat tells whether memory has stayed as it was: the last quarter may need a quarter more than the greater of the first
// two, and 16 MiB for chance. (The first one holds the creation of all instances; what leaks goes on growing.)
func (q quarters) flat() error {
	first, last := max(q[0], q[1]), q[3]
	if most := first + first/4 + 16<<20; last > most {
		return fmt.Errorf("the controller had up to %s in the last quarter, but only %s in the first half: it may have up to %s",
			mebibytes(last), mebibytes(first), mebibytes(most))
	}
	return nil
}

func (q quarters) String() string {
	return fmt.Sprintf("%s, %s, %s, %s", mebibytes(q[0]), mebibytes(q[1]), mebibytes(q[2]), mebibytes(q[3]))
}

func mebibytes(bytes int64) string { return fmt.Sprintf("%d MiB", bytes>>20) }

// memory collects samples.
type memory struct {
	mu       sync.Mutex
	began    time.Time
	duration time.Duration
	most     quarters
	last     int64
}

// start begins with the first quarter.
func (m *memory) start(at time.Time, duration time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.began, m.duration, m.most = at, duration, quarters{}
}

// add takes a sample of a moment. What comes after the end belongs to the last quarter; what comes before the start, to
// none.
func (m *memory) add(at time.Time, resident int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.last = resident
	if m.duration == 0 {
		return
	}
	quarter := min(max(int(4*at.Sub(m.began)/m.duration), 0), 3)
	m.most[quarter] = max(m.most[quarter], resident)
}

func (m *memory) quarters() quarters {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.most
}

// now is the last sample.
func (m *memory) now() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.last
}

// elapsed is the time since the start, 0 before it.
func (m *memory) elapsed() time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.began.IsZero() {
		return 0
	}
	return time.Since(m.began)
}
