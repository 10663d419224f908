package subject

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"kro.run/kro/test/bench/plane"
	"kro.run/kro/test/bench/process"
)

// Options say what to run.
type Options struct {
	// Binary is the program.
	Binary string
	// Args come first on its command line: "controller" for kro's own binary, and the flags of this run.
	Args []string
	// Kubeconfig is how it reaches the control plane.
	Kubeconfig string
	// Dir is the folder for its log.
	Dir string
}

// Subject is a controller that can be started again and again.
type Subject struct {
	options Options
	health  string
	metrics string

	mu      sync.Mutex // a restart goes on while others look at it
	process *process.Process
}

// New prepares a controller, and settles the ports that it listens on.
func New(o Options) (*Subject, error) {
	free, err := plane.FreePorts(2)
	if err != nil {
		return nil, err
	}
	return &Subject{options: o, health: fmt.Sprintf("127.0.0.1:%d", free[0]), metrics: fmt.Sprintf("127.0.0.1:%d", free[1])}, nil
}

// Start starts it and returns at once.
func (s *Subject) Start() error {
	args := append(append([]string{}, s.options.Args...),
		"--kubeconfig="+s.options.Kubeconfig, "--health-probe-bind-address="+s.health, "--metrics-bind-address="+s.metrics)
	started, err := process.Start(process.Options{
		Name: "the controller " + s.options.Binary, Path: s.options.Binary, Args: args, Log: s.Log(),
	})
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.process = started
	return nil
}

// current is the process that was started last, nil before the first.
func (s *Subject) current() *process.Process {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.process
}

// Ready returns when it says that it is ready.
func (s *Subject) Ready(ctx context.Context, within time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	running := s.current()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		err := s.probe(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the controller is not ready after %s: %w; its last lines:\n%s", within, err, running.LastWords(15))
		case <-running.Done():
			return running.Unexpected()
		case <-tick.C:
		}
	}
}

func (s *Subject) probe(ctx context.Context) error {
	_, err := get(ctx, "http://"+s.health+"/readyz")
	return err
}

// Gauge reads one of its metrics that has no labels. It is for what Go programs tell about themselves.
func (s *Subject) Gauge(ctx context.Context, name string) (float64, error) {
	text, err := get(ctx, "http://"+s.metrics+"/metrics")
	if err != nil {
		return 0, fmt.Errorf("read metric %s of the controller: %w", name, err)
	}
	for line := range strings.Lines(text) {
		rest, found := strings.CutPrefix(line, name+" ")
		if !found {
			continue
		}
		var value float64
		if _, err := fmt.Sscan(rest, &value); err != nil {
			return 0, fmt.Errorf("read metric %s of the controller: %w", name, err)
		}
		return value, nil
	}
	return 0, fmt.Errorf("the controller has no metric %s", name)
}

func get(ctx context.Context, url string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return "", err
	}
	if response.StatusCode != http.StatusOK {
		return "", fmt.Errorf("GET %s: %s", url, response.Status)
	}
	return string(body), nil
}

// Stop asks it to end and waits for it. Nothing happens when it does not run.
func (s *Subject) Stop() error {
	if running := s.current(); running != nil {
		return running.Stop(30 * time.Second)
	}
	return nil
}

// Kill ends it without warning. Nothing happens when it does not run.
func (s *Subject) Kill() error {
	if running := s.current(); running != nil {
		return running.Kill()
	}
	return nil
}

// Usage is what it has cost since it was started.
func (s *Subject) Usage() (process.Usage, error) {
	if running := s.current(); running != nil {
		return running.Usage()
	}
	return process.Usage{}, errors.New("the controller has not been started")
}

// Unexpected tells how it died, or gives nil when it runs or was ended on purpose.
func (s *Subject) Unexpected() error {
	if running := s.current(); running != nil {
		return running.Unexpected()
	}
	return nil
}

// Log is the file that it writes to.
func (s *Subject) Log() string { return filepath.Join(s.options.Dir, "controller.log") }
