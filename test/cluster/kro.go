package cluster

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// kroBinary is bin/kro of this source, built once a test binary.
type kroBinary struct {
	once sync.Once
	path string
	err  error
}

func (c *Cluster) buildKro() (string, error) {
	c.kro.once.Do(func() {
		c.kro.path = filepath.Join(c.scratch, "kro")
		cmd := exec.Command("go", "build", "-o", c.kro.path, "./cmd/kro")
		cmd.Dir = c.root
		if out, err := cmd.CombinedOutput(); err != nil {
			c.kro.err = fmt.Errorf("build kro: %w\n%s", err, out)
		}
	})
	return c.kro.path, c.kro.err
}

// Controller is a process of `kro controller`.
type Controller struct {
	// Metrics is the address that serves /metrics.
	Metrics string

	t       testing.TB
	binary  string
	args    []string
	health  string
	log     string
	process *process
}

// Kro runs `kro controller` with these flags against the cluster, waits until
// it is ready and stops it at the end of the test. Two at a time would work
// against each other: a test that uses it does not run in parallel.
func (c *Cluster) Kro(t testing.TB, flags ...string) *Controller {
	t.Helper()
	binary, err := c.buildKro()
	if err != nil {
		t.Fatal(err)
	}
	health, metrics := freeAddress(t), freeAddress(t)
	k := &Controller{
		t: t, binary: binary, health: health, Metrics: metrics, log: filepath.Join(t.TempDir(), "kro.log"),
		args: append([]string{"controller", "--kubeconfig=" + c.Kubeconfig, "--health-probe-bind-address=" + health, "--metrics-bind-address=" + metrics}, flags...),
	}
	k.Start()
	t.Cleanup(func() {
		if k.process != nil {
			k.Stop()
		}
		if t.Failed() {
			t.Logf("the end of the log of kro:\n%s", (&process{log: k.log}).tail(80))
		}
	})
	return k
}

// Start runs the controller again after Kill or Stop, and waits until it is ready.
func (k *Controller) Start() {
	k.t.Helper()
	p, err := startProcess(k.log, k.binary, k.args...)
	if err != nil {
		k.t.Fatal(err)
	}
	k.process = p
	Eventually(k.t, "the kro controller is ready", func(ctx context.Context) error {
		if !p.running() {
			return Never(fmt.Errorf("it ended: %s", p.cmd.ProcessState))
		}
		return get(ctx, "http://"+k.health+"/readyz")
	})
}

// Stop ends the controller as Kubernetes would. It must end without an error.
func (k *Controller) Stop() {
	k.t.Helper()
	p := k.process
	k.process = nil
	if err := p.terminate(); err != nil {
		k.t.Error(err)
		return
	}
	if code := p.cmd.ProcessState.ExitCode(); code != 0 {
		k.t.Errorf("the controller ended with %s\n%s", p.cmd.ProcessState, p.tail(20))
	}
}

// Kill ends the controller in the middle of whatever it does (kill -9).
func (k *Controller) Kill() {
	k.t.Helper()
	p := k.process
	k.process = nil
	if err := p.kill(); err != nil {
		k.t.Error(err)
	}
}

// Log is what the controller has printed, up to so many lines.
func (k *Controller) Log(lines int) string { return (&process{log: k.log}).tail(lines) }

func freeAddress(t testing.TB) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

func get(ctx context.Context, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("GET %s: %s", url, response.Status)
	}
	return nil
}
