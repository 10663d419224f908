package plane

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// auditPolicy leaves out what is never counted, so that writing it down costs the measured server nothing.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: None
  resources: [{group: coordination.k8s.io, resources: [leases]}]
- level: None
  users: ["system:apiserver"]
- level: None
  verbs: [watch]
- level: Metadata
`

// administrators is the group that may do everything.
const administrators = "system:masters"

func (p *Plane) path(name string) string { return filepath.Join(p.options.Dir, name) }

func (p *Plane) address() string { return fmt.Sprintf("https://127.0.0.1:%d", p.ports.api) }

// certificate is the file of the certificate that the API server makes for itself, and of the authority that signed it.
func (p *Plane) certificate() string { return p.path("pki/apiserver.crt") }

// token is the secret of a user. The server listens on loopback, holds nothing and is gone in minutes.
func token(user string) string { return "token-of-" + user }

// prepare writes the files that the programs read.
func (p *Plane) prepare() error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return fmt.Errorf("make a key for ServiceAccounts: %w", err)
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return fmt.Errorf("make a key for ServiceAccounts: %w", err)
	}
	var tokens strings.Builder
	for _, user := range p.options.Users {
		fmt.Fprintf(&tokens, "%s,%s,%s,%s\n", token(user), user, user, administrators)
	}
	files := map[string][]byte{
		"service-accounts.key": pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}),
		"audit-policy.yaml":    []byte(auditPolicy),
		"tokens.csv":           []byte(tokens.String()),
	}
	for name, data := range files {
		if err := os.WriteFile(p.path(name), data, 0o600); err != nil {
			return fmt.Errorf("prepare a control plane: %w", err)
		}
	}
	return nil
}

func (p *Plane) etcdArgs() []string {
	client, peer := fmt.Sprintf("http://127.0.0.1:%d", p.ports.etcd), fmt.Sprintf("http://127.0.0.1:%d", p.ports.peer)
	return []string{
		"--data-dir=" + p.path("etcd"),
		"--listen-client-urls=" + client, "--advertise-client-urls=" + client,
		"--listen-peer-urls=" + peer, "--initial-advertise-peer-urls=" + peer, "--initial-cluster=default=" + peer,
		"--unsafe-no-fsync", "--log-level=warn",
	}
}

func (p *Plane) apiServerArgs() []string {
	return []string{
		"--bind-address=127.0.0.1", "--advertise-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", p.ports.api),
		fmt.Sprintf("--etcd-servers=http://127.0.0.1:%d", p.ports.etcd),
		"--cert-dir=" + p.path("pki"), "--token-auth-file=" + p.path("tokens.csv"),
		"--service-cluster-ip-range=10.96.0.0/12",
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + p.path("service-accounts.key"), "--service-account-signing-key-file=" + p.path("service-accounts.key"),
		"--authorization-mode=RBAC", "--allow-privileged=true",
		// The kubernetes Service must not point at loopback: that is no valid endpoint address.
		"--endpoint-reconciler-type=none",
		// Nobody makes the default ServiceAccount of a namespace.
		"--disable-admission-plugins=ServiceAccount",
		"--audit-policy-file=" + p.path("audit-policy.yaml"), "--audit-log-path=-",
	}
}
