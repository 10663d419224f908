package plane

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"os"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

const administrators = "system:masters"

// users are those a plane has a kubeconfig for. Each is an administrator of its
// own name, so that field managers and audit logs tell them apart.
var users = []string{"admin", "kube-controller-manager", "simulator", "kro"}

// writeKubeconfigs makes the kubeconfig of every user and keeps those that are
// good for the authority and the server already.
func (p *Plane) writeKubeconfigs(now time.Time) error {
	for _, user := range users {
		name := p.folder.kubeconfigOf(user)
		if user == "admin" {
			name = p.folder.Kubeconfig()
		}
		cert, key := p.kept(name, now)
		if cert == nil {
			var err error
			if cert, key, err = p.authority.client(user, []string{administrators}, now); err != nil {
				return fmt.Errorf("sign the certificate of user %s: %w", user, err)
			}
		}
		data, err := clientcmd.Write(*p.kubeconfig(user, cert, key))
		if err != nil {
			return fmt.Errorf("write the kubeconfig of user %s: %w", user, err)
		}
		if old, err := os.ReadFile(name); err != nil || !bytes.Equal(old, data) {
			if err := writeFile(name, data); err != nil {
				return fmt.Errorf("write the kubeconfig of user %s: %w", user, err)
			}
		}
		if user == "admin" {
			if p.admin, err = tls.X509KeyPair(cert, key); err != nil {
				return fmt.Errorf("use the certificate of user %s: %w", user, err)
			}
		}
	}
	return nil
}

// kept gives the certificate and key of a kubeconfig as far as they are still
// good, else nil.
func (p *Plane) kept(name string, now time.Time) (cert, key []byte) {
	config, err := clientcmd.LoadFromFile(name)
	if err != nil {
		return nil, nil
	}
	info := config.AuthInfos[contextName]
	if info == nil {
		return nil, nil
	}
	pair, err := tls.X509KeyPair(info.ClientCertificateData, info.ClientKeyData)
	if err != nil || pair.Leaf.CheckSignatureFrom(p.authority.cert) != nil || now.After(pair.Leaf.NotAfter.Add(-renewBefore)) {
		return nil, nil
	}
	return info.ClientCertificateData, info.ClientKeyData
}

const contextName = "localcluster"

func (p *Plane) kubeconfig(user string, cert, key []byte) *clientcmdapi.Config {
	config := clientcmdapi.NewConfig()
	config.Clusters[contextName] = &clientcmdapi.Cluster{Server: p.server(), CertificateAuthorityData: encodeCertificate(p.authority.cert.Raw)}
	config.AuthInfos[contextName] = &clientcmdapi.AuthInfo{ClientCertificateData: cert, ClientKeyData: key}
	config.Contexts[contextName] = &clientcmdapi.Context{Cluster: contextName, AuthInfo: contextName}
	config.CurrentContext = contextName
	return config
}
