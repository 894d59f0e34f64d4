package simulate

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// The files that Serve writes: the certificate of the server, which is its own authority and is valid
// for 127.0.0.1, and the configuration of clients.
const (
	CertFile       = "pki/server.crt"
	KeyFile        = "pki/server.key"
	KubeconfigFile = "kubeconfig"
)

// Serve serves the API at a free port of 127.0.0.1 until the context ends. It writes the files that
// clients need to a directory, and calls ready with the URL.
func Serve(ctx context.Context, handler http.Handler, dir string, ready func(url string)) error {
	if err := writeCertificate(dir); err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	url := "https://" + listener.Addr().String()
	if err := writeKubeconfig(dir, url); err != nil {
		_ = listener.Close()
		return err
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: time.Minute}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	ready(url)
	err = server.ServeTLS(listener, filepath.Join(dir, CertFile), filepath.Join(dir, KeyFile))
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

func writeCertificate(dir string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	template := &x509.Certificate{
		SerialNumber:          big.NewInt(1),
		Subject:               pkix.Name{CommonName: "simulated API server"},
		NotBefore:             time.Now().Add(-time.Hour),
		NotAfter:              time.Now().Add(24 * time.Hour),
		KeyUsage:              x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true,
		IsCA:                  true,
		IPAddresses:           []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	signed, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	return errors.Join(err,
		os.MkdirAll(filepath.Join(dir, filepath.Dir(CertFile)), 0o700),
		writePEM(filepath.Join(dir, CertFile), "CERTIFICATE", signed),
		writePEM(filepath.Join(dir, KeyFile), "PRIVATE KEY", private))
}

func writePEM(path, kind string, content []byte) error {
	return os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: content}), 0o600)
}

func writeKubeconfig(dir, url string) error {
	config := clientcmdapi.NewConfig()
	cluster := clientcmdapi.NewCluster()
	cluster.Server, cluster.CertificateAuthority = url, CertFile
	config.Clusters["simulated"] = cluster
	user := clientcmdapi.NewContext()
	user.Cluster = "simulated"
	config.Contexts["simulated"], config.CurrentContext = user, "simulated"
	return clientcmd.WriteToFile(*config, filepath.Join(dir, KubeconfigFile))
}
