package kinds

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"kro.run/kro/schema"
)

// requestLog notes the requests that a client sends.
type requestLog struct {
	mu   sync.Mutex
	sent []string
}

func (l *requestLog) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		l.note(r)
		return next.RoundTrip(r)
	})
}

func (l *requestLog) note(r *http.Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	verb := r.Method
	if r.URL.Query().Get("watch") != "" {
		verb = "WATCH"
	}
	l.sent = append(l.sent, verb+" "+r.URL.Path)
}

func (l *requestLog) lines() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.sent)
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// describe writes a schema as text, each node once.
func describe(n *schema.Node) string {
	var out strings.Builder
	seen := map[*schema.Node]bool{}
	var write func(indent string, n *schema.Node)
	write = func(indent string, n *schema.Node) {
		if n == nil {
			return
		}
		fmt.Fprintf(&out, "%s%s %s required=%v open=%v\n", indent, n.Type, n.Format, n.Required, n.PreserveUnknown)
		if seen[n] {
			return
		}
		seen[n] = true
		for _, name := range slices.Sorted(maps.Keys(n.Properties)) {
			fmt.Fprintf(&out, "%s%s:\n", indent, name)
			write(indent+"  ", n.Properties[name])
		}
		write(indent+"  []", n.Items)
		write(indent+"  {}", n.AdditionalProperties)
	}
	write("", n)
	return out.String()
}

// count tells how often a request was sent.
func (l *requestLog) count(request string) int {
	n := 0
	for _, line := range l.lines() {
		if line == request {
			n++
		}
	}
	return n
}
