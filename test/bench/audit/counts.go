package audit

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Counts are the requests of one user.
type Counts struct {
	Calls  map[Call]int
	Failed int // how many of them were answered with 400 or above
}

// Total is the number of requests.
func (c Counts) Total() int {
	total := 0
	for _, n := range c.Calls {
		total += n
	}
	return total
}

// Writes is the number of requests that are meant to change something.
func (c Counts) Writes() int {
	total := 0
	for call, n := range c.Calls {
		if call.Writes() {
			total += n
		}
	}
	return total
}

// Since gives what has been added to an earlier count.
func (c Counts) Since(before Counts) Counts {
	added := Counts{Calls: map[Call]int{}, Failed: c.Failed - before.Failed}
	for call, n := range c.Calls {
		if n -= before.Calls[call]; n != 0 {
			added.Calls[call] = n
		}
	}
	return added
}

// Plus gives both together.
func (c Counts) Plus(more Counts) Counts {
	sum := Counts{Calls: map[Call]int{}, Failed: c.Failed + more.Failed}
	maps.Copy(sum.Calls, c.Calls)
	for call, n := range more.Calls {
		sum.Calls[call] += n
	}
	return sum
}

// ByCall gives the counts under the names of their calls.
func (c Counts) ByCall() map[string]int {
	named := make(map[string]int, len(c.Calls))
	for call, n := range c.Calls {
		named[call.String()] = n
	}
	return named
}

// String lists the calls, most frequent first.
func (c Counts) String() string {
	calls := slices.SortedFunc(maps.Keys(c.Calls), func(a, b Call) int {
		return cmp.Or(c.Calls[b]-c.Calls[a], strings.Compare(a.String(), b.String()))
	})
	parts := make([]string, len(calls), len(calls)+1)
	for i, call := range calls {
		parts[i] = fmt.Sprintf("%d %s", c.Calls[call], call)
	}
	if c.Failed > 0 {
		parts = append(parts, fmt.Sprintf("(%d refused)", c.Failed))
	}
	return strings.Join(parts, ", ")
}
