package plane

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"kro.run/kro/test/bench/audit"
	"kro.run/kro/test/bench/process"
)

// Options say how to run a plane.
type Options struct {
	// Programs is the folder with the programs etcd and kube-apiserver.
	Programs string
	// Dir is an empty folder for everything that the plane writes. It stays behind; the caller removes it.
	Dir string
	// Users are the names that the plane has client configurations for.
	Users []string
	// Audit takes the audit log.
	Audit *audit.Log
}

// Plane is a running control plane.
type Plane struct {
	options  Options
	ports    ports
	etcd     *process.Process
	barriers atomic.Int64

	mu        sync.Mutex // the API server may be restarted while others look at it
	apiServer *process.Process
}

const (
	attempts = 3                // how often other ports are tried when somebody took one of ours
	patience = 10 * time.Second // for an API server to end in good order
)

// Start brings a plane up and returns when it serves. What it started is stopped again when it fails.
func Start(ctx context.Context, o Options) (*Plane, error) {
	p := &Plane{options: o}
	if err := p.prepare(); err != nil {
		return nil, err
	}
	var err error
	for range attempts {
		if err = p.up(ctx); err == nil {
			return p, nil
		}
		p.Stop()
		if ctx.Err() != nil {
			break
		}
	}
	return nil, fmt.Errorf("start a control plane from %s: %w", o.Programs, err)
}

func (p *Plane) up(ctx context.Context) error {
	var err error
	if p.ports, err = freePorts(); err != nil {
		return err
	}
	if err := os.RemoveAll(p.path("etcd")); err != nil {
		return err
	}
	if p.etcd, err = p.start("etcd", p.etcdArgs(), nil); err != nil {
		return err
	}
	if err := p.StartAPIServer(ctx); err != nil {
		return err
	}
	for _, user := range p.options.Users {
		if err := p.writeKubeconfig(user); err != nil {
			return err
		}
	}
	return nil
}

// StartAPIServer starts the API server and returns when it is ready.
func (p *Plane) StartAPIServer(ctx context.Context) error {
	started, err := p.start("kube-apiserver", p.apiServerArgs(), p.options.Audit)
	if err != nil {
		return err
	}
	p.mu.Lock()
	p.apiServer = started
	p.mu.Unlock()
	return p.ready(ctx, 2*time.Minute)
}

func (p *Plane) server() *process.Process {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.apiServer
}

// StopAPIServer ends the API server, at once or in order. Connections break; etcd keeps what has been written.
func (p *Plane) StopAPIServer(atOnce bool) error {
	if atOnce {
		return p.server().Kill()
	}
	// It waits for its watches to end, which they do not; a node would lose its patience as well.
	if err := p.server().Stop(patience); !errors.Is(err, process.ErrKilled) {
		return err
	}
	return nil
}

func (p *Plane) start(name string, args []string, audit *audit.Log) (*process.Process, error) {
	o := process.Options{Name: name, Path: filepath.Join(p.options.Programs, name), Args: args, Log: p.path(name + ".log")}
	if audit != nil {
		o.Stdout = io.Writer(audit)
	}
	return process.Start(o)
}

// Unexpected tells how a part of the plane died, or gives nil when all is well.
func (p *Plane) Unexpected() error {
	return errors.Join(p.etcd.Unexpected(), p.server().Unexpected())
}

// Stop ends the plane. It may be called on one that is half up, and twice.
func (p *Plane) Stop() {
	if server := p.server(); server != nil {
		// Nothing is lost by ending it the hard way, and it would take its time.
		_ = server.Kill()
	}
	if p.etcd != nil {
		_ = p.etcd.Kill()
	}
}

// Config is the client configuration of a user, without a limit of requests.
func (p *Plane) Config(user string) *rest.Config {
	return &rest.Config{
		Host: p.address(), BearerToken: token(user), UserAgent: user, QPS: -1,
		TLSClientConfig: rest.TLSClientConfig{CAFile: p.certificate()},
	}
}

// Kubeconfig is the file that holds the client configuration of a user.
func (p *Plane) Kubeconfig(user string) string { return p.path(user + ".kubeconfig") }

func (p *Plane) writeKubeconfig(user string) error {
	const name = "bench"
	config := clientcmdapi.NewConfig()
	config.Clusters[name] = &clientcmdapi.Cluster{Server: p.address(), CertificateAuthority: p.certificate()}
	config.AuthInfos[name] = &clientcmdapi.AuthInfo{Token: token(user)}
	config.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
	config.CurrentContext = name
	if err := clientcmd.WriteToFile(*config, p.Kubeconfig(user)); err != nil {
		return fmt.Errorf("write the kubeconfig of user %s: %w", user, err)
	}
	return nil
}

// Version is what the API server calls itself.
func (p *Plane) Version(ctx context.Context) (string, error) {
	var version struct {
		GitVersion string `json:"gitVersion"`
	}
	if err := p.get(ctx, "/version", &version); err != nil {
		return "", err
	}
	return version.GitVersion, nil
}

// Barrier returns when all that has been answered before shows in the audit log.
func (p *Plane) Barrier(ctx context.Context) error {
	uri := fmt.Sprintf("/version?barrier=%d", p.barriers.Add(1))
	return p.options.Audit.Barrier(ctx, uri, func(ctx context.Context) error { return p.get(ctx, uri, nil) })
}
