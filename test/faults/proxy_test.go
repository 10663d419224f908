package faults

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"k8s.io/client-go/rest"
)

// fault says what happens to a request.
type fault int

const (
	none fault = iota
	refuse
	lose
	killBefore
	killAfter
)

func (f fault) String() string {
	return [...]string{"none", "refused", "answer lost", "controller killed before", "controller killed after"}[f]
}

// proxy stands between the controller and the API server, counts the requests that owners and their objects take (watches, and what concerns no one life, left
// out), and makes one of them go wrong.
type proxy struct {
	url     string
	kill    func()
	backend http.Handler

	mu       sync.Mutex
	requests int
	at       int
	fault    fault
	killed   bool
}

func newProxy(t *testing.T, cfg *rest.Config) *proxy {
	t.Helper()
	target, err := url.Parse(cfg.Host)
	if err != nil {
		t.Fatal(err)
	}
	transport, err := rest.TransportFor(cfg)
	if err != nil {
		t.Fatal(err)
	}
	backend := httputil.NewSingleHostReverseProxy(target)
	backend.Transport, backend.FlushInterval = transport, -1
	backend.ErrorHandler = func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) }
	p := &proxy{backend: backend}
	server := httptest.NewServer(p)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	p.url = server.URL
	return p
}

// kubeconfig writes a file that leads to the proxy.
func (p *proxy) kubeconfig(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "kubeconfig")
	text := `{apiVersion: v1, kind: Config, current-context: p, contexts: [{name: p, context: {cluster: p, user: p}}], users: [{name: p, user: {}}], clusters: [{name: p, cluster: {server: "` + p.url + `"}}]}`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// arm makes the n-th request from now on go wrong; 0 makes none.
func (p *proxy) arm(n int, f fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.requests, p.at, p.fault = 0, n, f
}

func (p *proxy) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.requests
}

// wasKilled tells, once, that the controller has been killed.
func (p *proxy) wasKilled() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	was := p.killed
	p.killed = false
	return was
}

// counted are the resources that the requests of a life are about.
var counted = []string{"configmaps", "secrets", "services", "clusterroles", "lives", "wides", "graphs", "graphrevisions", "selfsubjectaccessreviews"}

func (p *proxy) due(r *http.Request) fault {
	counts := func(resource string) bool { return strings.Contains(r.URL.Path, "/"+resource) }
	if r.URL.Query().Get("watch") != "" || !slices.ContainsFunc(counted, counts) {
		return none
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.requests++
	if p.requests != p.at {
		return none
	}
	return p.fault
}

// ServeHTTP implements http.Handler.
func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch p.due(r) {
	case refuse:
		http.Error(w, "injected: refused", http.StatusServiceUnavailable)
	case lose:
		p.backend.ServeHTTP(httptest.NewRecorder(), r)
		http.Error(w, "injected: the answer was lost", http.StatusGatewayTimeout)
	case killBefore:
		p.murder()
		http.Error(w, "injected: too late", http.StatusServiceUnavailable)
	case killAfter:
		p.backend.ServeHTTP(httptest.NewRecorder(), r)
		p.murder()
		http.Error(w, "injected: too late", http.StatusServiceUnavailable)
	default:
		p.backend.ServeHTTP(w, r)
	}
}

func (p *proxy) murder() {
	p.kill()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.killed = true
}
