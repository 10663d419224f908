package plane

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// ServiceRange is where ClusterIPs come from.
const ServiceRange = "10.96.0.0/12"

// Component is one process of a plane.
type Component struct {
	Name string
	Path string
	Args []string

	ports    []port
	patience time.Duration // how long it may take to become ready
	ready    func(context.Context) error
}

// fingerprint tells two ways of running a component apart: by command line,
// binary, certificates and the server it talks to. The binary counts by its
// content, since go build renews the date of one that it leaves as it is.
func (p *Plane) fingerprint(c Component) (string, error) {
	h := sha256.New()
	binary, known := p.binaries[c.Path]
	if !known {
		file, err := os.Open(c.Path)
		if err != nil {
			return "", fmt.Errorf("the program of %s is missing: %w", c.Name, err)
		}
		defer file.Close()
		if _, err := io.Copy(h, file); err != nil {
			return "", fmt.Errorf("read the program of %s: %w", c.Name, err)
		}
		binary = hex.EncodeToString(h.Sum(nil))
		p.binaries[c.Path] = binary
		h.Reset()
	}
	fmt.Fprintf(h, "%q %q %s %s %s", c.Path, c.Args, binary, p.server(), p.authority.fingerprint())
	return hex.EncodeToString(h.Sum(nil)[:8]), nil
}

// components gives the processes in the order they start in. Ports must have
// been settled for those that are to start.
func (p *Plane) components() []Component {
	all := []Component{p.etcd(), p.apiServer()}
	if p.options.ControllerManager {
		all = append(all, p.controllerManager())
	}
	if p.options.Simulator {
		all = append(all, p.simulator())
	}
	return all
}

func (p *Plane) etcd() Component {
	a := p.authority
	client, peer := "https://"+p.ports.address(portEtcd), "https://"+p.ports.address(portEtcdPeer)
	return Component{
		Name: "etcd", Path: p.program("etcd"), ports: []port{portEtcd, portEtcdPeer}, patience: 30 * time.Second,
		Args: []string{
			"--data-dir=" + p.folder.path("etcd"),
			"--listen-client-urls=" + client, "--advertise-client-urls=" + client,
			"--listen-peer-urls=" + peer, "--initial-advertise-peer-urls=" + peer, "--initial-cluster=default=" + peer,
			"--client-cert-auth", "--trusted-ca-file=" + a.file("ca.crt"), "--cert-file=" + a.file("server.crt"), "--key-file=" + a.file("server.key"),
			"--peer-client-cert-auth", "--peer-trusted-ca-file=" + a.file("ca.crt"), "--peer-cert-file=" + a.file("server.crt"), "--peer-key-file=" + a.file("server.key"),
			// What is stored here may be lost when the machine crashes, and is an order of magnitude faster to write.
			"--unsafe-no-fsync",
			"--log-level=warn", "--auto-compaction-mode=periodic", "--auto-compaction-retention=1h",
		},
		ready: func(ctx context.Context) error { return p.get(ctx, client+"/health") },
	}
}

func (p *Plane) apiServer() Component {
	a := p.authority
	args := []string{
		"--bind-address=127.0.0.1", "--advertise-address=127.0.0.1", "--secure-port=" + strconv.Itoa(p.ports[portAPI]),
		"--etcd-servers=https://" + p.ports.address(portEtcd),
		"--etcd-cafile=" + a.file("ca.crt"), "--etcd-certfile=" + a.file("server.crt"), "--etcd-keyfile=" + a.file("server.key"),
		"--tls-cert-file=" + a.file("server.crt"), "--tls-private-key-file=" + a.file("server.key"), "--client-ca-file=" + a.file("ca.crt"),
		"--service-cluster-ip-range=" + ServiceRange,
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + a.file("service-accounts.key"), "--service-account-signing-key-file=" + a.file("service-accounts.key"),
		"--authorization-mode=RBAC", "--allow-privileged=true",
		// The kubernetes Service must not point at loopback: that is no valid endpoint address.
		"--endpoint-reconciler-type=none",
	}
	if !p.options.ControllerManager {
		// Without it no namespace gets its default ServiceAccount, and no Pod would be admitted.
		args = append(args, "--disable-admission-plugins=ServiceAccount")
	}
	return Component{
		Name: "kube-apiserver", Path: p.program("kube-apiserver"), Args: args, ports: []port{portAPI}, patience: time.Minute,
		ready: func(ctx context.Context) error { return p.get(ctx, p.server()+"/readyz") },
	}
}

func (p *Plane) controllerManager() Component {
	a := p.authority
	args := []string{"controller-manager", "--kubeconfig=" + p.folder.kubeconfigOf("kube-controller-manager"),
		"--", "--service-account-private-key-file=" + a.file("service-accounts.key"), "--root-ca-file=" + a.file("ca.crt")}
	return Component{Name: "kube-controller-manager", Path: p.program("localcluster"), Args: args, patience: 10 * time.Second}
}

func (p *Plane) simulator() Component {
	return Component{
		Name: "simulator", Path: p.program("localcluster"), patience: 10 * time.Second,
		Args: []string{"simulate", "--kubeconfig=" + p.folder.kubeconfigOf("simulator")},
	}
}

func (p *Plane) kro(binary string) Component {
	health := p.ports.address(portKroHealth)
	return Component{
		Name: "kro", Path: binary, ports: []port{portKroHealth, portKroMetric}, patience: time.Minute,
		Args: append([]string{"controller", "--kubeconfig=" + p.folder.kubeconfigOf("kro"),
			"--health-probe-bind-address=" + health, "--metrics-bind-address=" + p.ports.address(portKroMetric)}, p.options.KroFlags...),
		ready: func(ctx context.Context) error { return p.get(ctx, "http://"+health+"/readyz") },
	}
}

// ControllerManagerArgs is the command line of a kube-controller-manager that
// does without nodes and without ports.
func ControllerManagerArgs(kubeconfig string, more ...string) []string {
	return append([]string{
		"--kubeconfig=" + kubeconfig,
		"--leader-elect=false", "--secure-port=0",
		// There are no nodes for these to look after.
		"--controllers=*,-node-ipam-controller,-node-lifecycle-controller,-taint-eviction-controller,-device-taint-eviction-controller",
		// Enough for a thousand instances at once.
		"--kube-api-qps=400", "--kube-api-burst=800", "--concurrent-deployment-syncs=10", "--concurrent-gc-syncs=20",
	}, more...)
}

func (p *Plane) program(name string) string { return filepath.Join(p.options.Programs, name) }

func (p *Plane) server() string { return "https://" + p.ports.address(portAPI) }

// get asks a component how it is, as the administrator.
func (p *Plane) get(ctx context.Context, url string) error {
	roots := x509.NewCertPool()
	roots.AddCert(p.authority.cert)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{p.admin}}}
	defer transport.CloseIdleConnections()
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	response, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		body, _ := io.ReadAll(io.LimitReader(response.Body, 1000))
		return fmt.Errorf("GET %s: %s: %s", url, response.Status, strings.TrimSpace(string(body)))
	}
	return nil
}
