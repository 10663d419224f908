package plane

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

const (
	certificateLife = 365 * 24 * time.Hour
	renewBefore     = 7 * 24 * time.Hour
)

// authority is the certificate authority of a plane. It signs the one serving
// certificate that all components share and a client certificate per user.
type authority struct {
	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func (a *authority) file(name string) string { return filepath.Join(a.dir, name) }

// fingerprint changes when the authority does.
func (a *authority) fingerprint() string {
	sum := sha256.Sum256(a.cert.Raw)
	return hex.EncodeToString(sum[:8])
}

// authorityIn gives the authority kept in dir. Where it is missing, damaged or
// close to its end, a new one takes its place and why says what was wrong with
// the old one ("" when there was none).
func authorityIn(dir string, now time.Time) (a *authority, why string, err error) {
	a, err = loadAuthority(dir, now)
	if err == nil {
		return a, "", nil
	}
	if !errors.Is(err, os.ErrNotExist) || exists(dir) {
		why = err.Error()
	}
	if err := makeAuthority(dir, now); err != nil {
		return nil, "", fmt.Errorf("make certificates: %w", err)
	}
	a, err = loadAuthority(dir, now)
	return a, why, err
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

func loadAuthority(dir string, now time.Time) (*authority, error) {
	a := &authority{dir: dir}
	for _, name := range []string{"ca.crt", "server.crt"} {
		cert, err := readCertificate(a.file(name))
		if err != nil {
			return nil, err
		}
		if now.After(cert.NotAfter.Add(-renewBefore)) {
			return nil, fmt.Errorf("the certificate in %s ends on %s", name, cert.NotAfter.Format(time.DateOnly))
		}
		if name == "ca.crt" {
			a.cert = cert
			continue
		}
		if err := cert.CheckSignatureFrom(a.cert); err != nil {
			return nil, fmt.Errorf("the certificate in %s is not signed by ca.crt: %w", name, err)
		}
	}
	for _, name := range []string{"ca.key", "server.key", "service-accounts.key"} {
		key, err := readKey(a.file(name))
		if err != nil {
			return nil, err
		}
		if name == "ca.key" {
			a.key = key
		}
	}
	if !a.key.PublicKey.Equal(a.cert.PublicKey) {
		return nil, errors.New("ca.key is not the key of ca.crt")
	}
	return a, nil
}

// makeAuthority writes the files in a folder beside dir and moves it into place.
func makeAuthority(dir string, now time.Time) error {
	next := dir + ".new"
	if err := os.RemoveAll(next); err != nil {
		return err
	}
	if err := os.MkdirAll(next, 0o700); err != nil {
		return err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	template := certificate(pkix.Name{CommonName: "localcluster"}, now)
	template.IsCA, template.BasicConstraintsValid = true, true
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return err
	}
	a := &authority{dir: next, key: key}
	if a.cert, err = x509.ParseCertificate(der); err != nil {
		return err
	}
	keyPEM, err := encodeKey(key)
	if err != nil {
		return err
	}
	serverCert, serverKey, err := a.serving(now)
	if err != nil {
		return err
	}
	accounts, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	accountsPEM, err := encodeKey(accounts)
	if err != nil {
		return err
	}
	for name, data := range map[string][]byte{
		"ca.crt": encodeCertificate(der), "ca.key": keyPEM,
		"server.crt": serverCert, "server.key": serverKey,
		"service-accounts.key": accountsPEM,
	} {
		if err := os.WriteFile(a.file(name), data, 0o600); err != nil {
			return err
		}
	}
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	return os.Rename(next, dir)
}

// serving signs the certificate of the servers. etcd also presents it as a
// client to itself.
func (a *authority) serving(now time.Time) (certPEM, keyPEM []byte, err error) {
	template := certificate(pkix.Name{CommonName: "localcluster-server"}, now)
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	template.DNSNames = []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"}
	template.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1), net.IPv4(10, 96, 0, 1)}
	return a.sign(template)
}

// client signs a certificate with which a user authenticates.
func (a *authority) client(user string, groups []string, now time.Time) (certPEM, keyPEM []byte, err error) {
	template := certificate(pkix.Name{CommonName: user, Organization: groups}, now)
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	return a.sign(template)
}

func (a *authority) sign(template *x509.Certificate) (certPEM, keyPEM []byte, err error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	template.KeyUsage = x509.KeyUsageDigitalSignature
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key)
	if err != nil {
		return nil, nil, err
	}
	keyPEM, err = encodeKey(key)
	return encodeCertificate(der), keyPEM, err
}

func certificate(subject pkix.Name, now time.Time) *x509.Certificate {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil { // crypto/rand never fails; a fixed serial is still a valid one
		serial = big.NewInt(now.UnixNano())
	}
	return &x509.Certificate{
		SerialNumber: serial,
		Subject:      subject,
		NotBefore:    now.Add(-time.Hour), // clocks of virtual machines jump back
		NotAfter:     now.Add(certificateLife),
	}
}

func encodeCertificate(der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

func encodeKey(key *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), nil
}

func readPEM(name string) ([]byte, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(data)
	if block == nil {
		return nil, fmt.Errorf("%s holds no PEM block", filepath.Base(name))
	}
	return block.Bytes, nil
}

func readCertificate(name string) (*x509.Certificate, error) {
	der, err := readPEM(name)
	if err != nil {
		return nil, err
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Base(name), err)
	}
	return cert, nil
}

func readKey(name string) (*ecdsa.PrivateKey, error) {
	der, err := readPEM(name)
	if err != nil {
		return nil, err
	}
	key, err := x509.ParseECPrivateKey(der)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Base(name), err)
	}
	return key, nil
}
