package main

import (
	"encoding/pem"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/cert"

	"github.com/kubeconnect/kubeconnect/internal/version"
)

const kubeconfig = `
apiVersion: v1
kind: Config
current-context: one
clusters:
- {name: one, cluster: {server: "http://one.example"}}
- {name: two, cluster: {server: "http://two.example"}}
contexts:
- {name: one, context: {cluster: one}}
- {name: two, context: {cluster: two}}
`

// atHome creates an empty home folder, outside any cluster, and writes files to it.
func atHome(t *testing.T, files map[string]string) string {
	t.Helper()
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("KUBECONFIG", "")
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	for name, text := range files {
		path := filepath.Join(home, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return home
}

func TestClusterConfig_FollowsSettingsAndEnvironment(t *testing.T) {
	home := atHome(t, map[string]string{"config": kubeconfig})
	file := filepath.Join(home, "config")
	for name, test := range map[string]struct {
		settings settings
		env      string
		want     string
	}{
		"a file":                         {settings{kubeconfig: file}, "", "http://one.example"},
		"a file and a context":           {settings{kubeconfig: file, context: "two"}, "", "http://two.example"},
		"KUBECONFIG":                     {settings{}, file, "http://one.example"},
		"KUBECONFIG and a context":       {settings{context: "two"}, file, "http://two.example"},
		"a file, whatever KUBECONFIG is": {settings{kubeconfig: file}, "no-such-file", "http://one.example"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("KUBECONFIG", test.env)
			config, err := clusterConfig(test.settings)
			if err != nil {
				t.Fatal(err)
			}
			if config.Host != test.want || config.UserAgent != version.UserAgent || !config.DisableCompression {
				t.Errorf("the cluster is %s, called by %s", config.Host, config.UserAgent)
			}
		})
	}
}

func TestClusterConfig_ErrorsNameTheCause(t *testing.T) {
	home := atHome(t, map[string]string{"config": kubeconfig, "broken": "{"})
	for name, test := range map[string]struct {
		settings settings
		says     string
	}{
		"nothing anywhere":         {settings{}, "--kubeconfig"},
		"a file that is not there": {settings{kubeconfig: filepath.Join(home, "nosuch")}, "nosuch"},
		"a file that is broken":    {settings{kubeconfig: filepath.Join(home, "broken")}, "broken"},
		"a context that is not":    {settings{kubeconfig: filepath.Join(home, "config"), context: "three"}, "three"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := clusterConfig(test.settings); err == nil || !strings.Contains(err.Error(), test.says) {
				t.Errorf("error is %v, want %q in it", err, test.says)
			}
		})
	}
}

func TestShownHost_HasNoPassword(t *testing.T) {
	for host, want := range map[string]string{
		"https://10.0.0.1:443":                         "https://10.0.0.1:443",
		"https://proxy.example/k8s/clusters/c":         "https://proxy.example/k8s/clusters/c",
		"10.0.0.1:6443":                                "10.0.0.1:6443",
		"https://user:secret@10.0.0.1:443":             "https://user:xxxxx@10.0.0.1:443",
		"user:secret@10.0.0.1:443":                     "10.0.0.1:443",
		"https://user:sec%zzret@10.0.0.1:443":          "10.0.0.1:443",
		"https://user:secret@proxy.example/k8s/a@b":    "https://user:xxxxx@proxy.example/k8s/a@b",
		"https://proxy.example/k8s/clusters/user@name": "https://proxy.example/k8s/clusters/user@name",
	} {
		if got := shownHost(&rest.Config{Host: host}); got != want {
			t.Errorf("%s is shown as %s, want %s", host, got, want)
		}
	}
}

func TestClientCertificateExpiry_IsThatOfTheConfiguration(t *testing.T) {
	first, second := expiringIn(t, time.Hour), expiringIn(t, 2*time.Hour)
	file := filepath.Join(t.TempDir(), "client.crt")
	succeeds(t, os.WriteFile(file, first, 0o600))
	inFile := newClientCertificateExpiry(&rest.Config{TLSClientConfig: rest.TLSClientConfig{CertFile: file}})
	if got := valueOf(t, inFile); got != expiryOf(t, first) {
		t.Errorf("a file: %.0f", got)
	}
	succeeds(t, os.WriteFile(file, second, 0o600))
	if got := valueOf(t, inFile); got != expiryOf(t, second) {
		t.Errorf("a file that has changed: %.0f", got)
	}
	for name, test := range map[string]struct {
		config rest.TLSClientConfig
		want   float64
	}{
		"data":           {rest.TLSClientConfig{CertData: first}, expiryOf(t, first)},
		"none":           {rest.TLSClientConfig{}, 0},
		"missing file":   {rest.TLSClientConfig{CertFile: file + ".missing"}, 0},
		"no certificate": {rest.TLSClientConfig{CertData: []byte("text")}, 0},
	} {
		if got := valueOf(t, newClientCertificateExpiry(&rest.Config{TLSClientConfig: test.config})); got != test.want {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}

// expiringIn returns a certificate in PEM that expires after a time.
func expiringIn(t *testing.T, life time.Duration) []byte {
	t.Helper()
	certificate, _, err := cert.GenerateSelfSignedCertKeyWithOptions(cert.SelfSignedCertKeyOptions{Host: "127.0.0.1", MaxAge: life})
	succeeds(t, err)
	first, _ := pem.Decode(certificate) // without that of its authority
	return pem.EncodeToMemory(first)
}

func expiryOf(t *testing.T, certificate []byte) float64 {
	t.Helper()
	parsed, err := cert.ParseCertsPEM(certificate)
	succeeds(t, err)
	return float64(parsed[0].NotAfter.Unix())
}

// TestLogClient_WindowIsSmallWithEveryTransport examines the transports of client-go,
// which wraps them depending on the form of the authority.
func TestLogClient_WindowIsSmallWithEveryTransport(t *testing.T) {
	authority := newPair(t, 1, today()).certificate
	file := filepath.Join(atHome(t, map[string]string{"ca.crt": authority}), "ca.crt")
	for name, tls := range map[string]rest.TLSClientConfig{
		"an authority in a file, as in a cluster": {CAFile: file},
		"an authority in a kubeconfig":            {CAData: []byte(authority)},
		"no authority":                            {Insecure: true},
	} {
		t.Run(name, func(t *testing.T) {
			var made http.RoundTripper
			config := &rest.Config{Host: "https://api.example", TLSClientConfig: tls}
			config.Wrap(func(next http.RoundTripper) http.RoundTripper {
				setLogWindow(next)
				made = next
				return next
			})
			if _, err := rest.TransportFor(config); err != nil {
				t.Fatal(err)
			}
			for wrapper, ok := made.(utilnet.RoundTripperWrapper); ok; wrapper, ok = made.(utilnet.RoundTripperWrapper) {
				made = wrapper.WrappedRoundTripper()
			}
			if transport := made.(*http.Transport); transport.HTTP2 == nil || transport.HTTP2.MaxReceiveBufferPerStream != logWindow {
				t.Errorf("the connections are opened by %+v", transport.HTTP2)
			}
		})
	}
}
