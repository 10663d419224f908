package audit

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"sync"
	"time"
)

// Log takes the lines of an audit log and counts them. The zero value is ready.
type Log struct {
	mu       sync.Mutex
	rest     []byte // the beginning of a line that has not ended yet
	users    map[string]*tally
	barriers map[string]chan struct{}
	foreign  int
}

type tally struct {
	counts    Counts
	lastCall  time.Time // when the last request was answered
	lastWrite time.Time
}

// Write takes a piece of the log. Lines that are no events are skipped: the server prints other things to standard output
// when it is in trouble.
func (l *Log) Write(piece []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	data := piece
	for {
		end := bytes.IndexByte(data, '\n')
		if end < 0 {
			l.rest = append(l.rest, data...)
			return len(piece), nil
		}
		line := data[:end]
		if len(l.rest) > 0 {
			line = append(l.rest, line...)
			l.rest = l.rest[:0]
		}
		l.take(line)
		data = data[end+1:]
	}
}

func (l *Log) take(line []byte) {
	e, err := parse(line)
	if err != nil {
		l.foreign++
		return
	}
	if passed, found := l.barriers[e.RequestURI]; found {
		close(passed)
		delete(l.barriers, e.RequestURI)
	}
	if !e.counted() {
		return
	}
	if l.users == nil {
		l.users = map[string]*tally{}
	}
	t := l.users[e.User.Username]
	if t == nil {
		t = &tally{counts: Counts{Calls: map[Call]int{}}}
		l.users[e.User.Username] = t
	}
	call := e.call()
	t.counts.Calls[call]++
	t.lastCall = e.StageTimestamp
	if call.Writes() {
		t.lastWrite = e.StageTimestamp
	}
	if e.ResponseStatus.Code >= 400 {
		t.counts.Failed++
	}
}

// Of gives what a user has sent so far.
func (l *Log) Of(user string) Counts {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := l.users[user]
	if t == nil {
		return Counts{}
	}
	return Counts{Calls: maps.Clone(t.counts.Calls), Failed: t.counts.Failed}
}

// Last tells when the last request of a user was answered, and the last that was meant to change something; zero when
// there was none.
func (l *Log) Last(user string) (request, write time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if t := l.users[user]; t != nil {
		return t.lastCall, t.lastWrite
	}
	return time.Time{}, time.Time{}
}

// Foreign is the number of lines that were no events.
func (l *Log) Foreign() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.foreign
}

// Barrier sends a request by way of the given function and waits until the log has reached it. The function must request
// exactly the URI. What was answered well before the call has then been counted.
func (l *Log) Barrier(ctx context.Context, uri string, request func(context.Context) error) error {
	passed := make(chan struct{})
	l.mu.Lock()
	if l.barriers == nil {
		l.barriers = map[string]chan struct{}{}
	}
	l.barriers[uri] = passed
	l.mu.Unlock()
	if err := request(ctx); err != nil {
		return fmt.Errorf("send a request to find it in the audit log: %w", err)
	}
	select {
	case <-passed:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for a request to show in the audit log: %w", context.Cause(ctx))
	}
}
