package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"time"
)

// validity is longer than any directory is kept for tests.
const validity = 10 * 365 * 24 * time.Hour

// Each authority signs for one purpose, so that no certificate grants more access than it should:
// the first signs users and servers of the cluster, the second the API server as a proxy in front
// of aggregated ones, the third etcd. Tests sign their own users with ca.key.
const (
	clusterCA    = "ca"
	frontProxyCA = "front-proxy-ca"
	etcdCA       = "etcd-ca"
)

const (
	adminUser        = "admin"
	serverName       = "server"
	frontProxyClient = "front-proxy-client"
	etcdServer       = "etcd-server"
	etcdClient       = "etcd-client"
)

// A certificate describes a certificate to issue, and the authority that signs it.
type certificate struct {
	authority string
	name      string   // base name of its files, name.crt and name.key
	user      string   // the common name: the client's user name at the API server
	groups    []string // the organizations: the groups of that user
	hosts     []string // the host names of a server; none for a client
}

// serverHosts are the host names of the API server, the last of them its service address.
var serverHosts = []string{
	loopback, "localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc",
	"kubernetes.default.svc.cluster.local", serviceIP,
}

var certificates = []certificate{
	{clusterCA, serverName, "kube-apiserver", nil, serverHosts},
	{clusterCA, adminUser, "kubernetes-admin", []string{"system:masters"}, nil},
	{clusterCA, controllerManagerName, "system:kube-controller-manager", nil, nil},
	{clusterCA, schedulerName, "system:kube-scheduler", nil, nil},
	{clusterCA, nodesName, "devcluster-nodes", []string{"system:masters"}, nil},
	{frontProxyCA, frontProxyClient, frontProxyClient, nil, nil},
	{etcdCA, etcdServer, "etcd", nil, []string{loopback, "localhost"}},
	{etcdCA, etcdClient, "kube-apiserver", nil, nil},
}

// makeCertificates creates every missing authority, certificate and key. Existing ones stay,
// because clients of an earlier run use them.
func makeCertificates(dir layout) error {
	authorities := map[string]*authority{}
	for _, name := range []string{clusterCA, frontProxyCA, etcdCA} {
		loaded, err := loadOrMakeAuthority(dir, name)
		if err != nil {
			return fmt.Errorf("authority %s: %w", name, err)
		}
		authorities[name] = loaded
	}
	for _, spec := range certificates {
		if err := authorities[spec.authority].issueMissing(dir, spec); err != nil {
			return fmt.Errorf("certificate %s: %w", spec.name, err)
		}
	}
	return makeServiceAccountKeys(dir)
}

// authority is a certificate that signs others.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

func loadOrMakeAuthority(dir layout, name string) (*authority, error) {
	present, err := exists(dir.pki(name + ".crt"))
	if err != nil {
		return nil, err
	}
	if !present {
		if err := makeAuthority(dir, name); err != nil {
			return nil, err
		}
	}
	return loadAuthority(dir, name)
}

func makeAuthority(dir layout, name string) error {
	template := newTemplate(pkix.Name{CommonName: "devcluster-" + name})
	template.IsCA = true
	template.BasicConstraintsValid = true
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature
	return sign(dir, name, template, nil)
}

func loadAuthority(dir layout, name string) (*authority, error) {
	block, err := readPEM(dir.pki(name + ".crt"))
	if err != nil {
		return nil, err
	}
	parsed, err := x509.ParseCertificate(block)
	if err != nil {
		return nil, err
	}
	key, err := readKey(dir.pki(name + ".key"))
	return &authority{certificate: parsed, key: key}, err
}

func (a *authority) issueMissing(dir layout, spec certificate) error {
	present, err := exists(dir.pki(spec.name + ".crt"))
	if err != nil || present {
		return err
	}
	template := newTemplate(pkix.Name{CommonName: spec.user, Organization: spec.groups})
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = spec.usage()
	template.DNSNames, template.IPAddresses = splitHosts(spec.hosts)
	return sign(dir, spec.name, template, a)
}

func (c certificate) usage() []x509.ExtKeyUsage {
	if len(c.hosts) > 0 {
		return []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	}
	return []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
}

func splitHosts(hosts []string) (names []string, ips []net.IP) {
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			ips = append(ips, ip)
		} else {
			names = append(names, host)
		}
	}
	return names, ips
}

// newTemplate returns a template that is valid from an hour ago, to allow for clock differences. It
// has no serial number: crypto/x509 generates one.
func newTemplate(subject pkix.Name) *x509.Certificate {
	now := time.Now()
	return &x509.Certificate{
		Subject:   subject,
		NotBefore: now.Add(-time.Hour),
		NotAfter:  now.Add(validity),
	}
}

// sign creates a key and its certificate, signed by the authority, or self-signed if the authority
// is nil. The certificate is written last: if it exists, so does the key.
func sign(dir layout, name string, template *x509.Certificate, parent *authority) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	if parent == nil {
		parent = &authority{certificate: template, key: key}
	}
	signed, err := x509.CreateCertificate(rand.Reader, template, parent.certificate, key.Public(), parent.key)
	if err != nil {
		return err
	}
	if err := writeKey(dir.pki(name+".key"), key); err != nil {
		return err
	}
	return writePEM(dir.pki(name+".crt"), "CERTIFICATE", signed)
}

// makeServiceAccountKeys creates the key pair that signs and verifies service account tokens. The
// public key is written last.
func makeServiceAccountKeys(dir layout) error {
	there, err := exists(dir.pki("sa.pub"))
	if err != nil || there {
		return err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	public, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return err
	}
	if err := writeKey(dir.pki("sa.key"), key); err != nil {
		return err
	}
	return writePEM(dir.pki("sa.pub"), "PUBLIC KEY", public)
}

func writeKey(path string, key *ecdsa.PrivateKey) error {
	encoded, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return err
	}
	return writePEM(path, "EC PRIVATE KEY", encoded)
}

func readKey(path string) (*ecdsa.PrivateKey, error) {
	encoded, err := readPEM(path)
	if err != nil {
		return nil, err
	}
	return x509.ParseECPrivateKey(encoded)
}

func writePEM(path, kind string, content []byte) error {
	return writeFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: content}))
}

func readPEM(path string) ([]byte, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(content)
	if block == nil {
		return nil, fmt.Errorf("invalid PEM file %s: remove the pki directory to create all certificates again", path)
	}
	return block.Bytes, nil
}

func exists(path string) (bool, error) {
	_, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}
