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

	"github.com/kubeconnect/kubeconnect/cmd/server/config"
	"github.com/kubeconnect/kubeconnect/cmd/server/internal/servertest"
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
		settings config.Settings
		env      string
		want     string
	}{
		"a file":                         {config.Settings{Kubeconfig: file}, "", "http://one.example"},
		"a file and a context":           {config.Settings{Kubeconfig: file, Context: "two"}, "", "http://two.example"},
		"KUBECONFIG":                     {config.Settings{}, file, "http://one.example"},
		"KUBECONFIG and a context":       {config.Settings{Context: "two"}, file, "http://two.example"},
		"a file, whatever KUBECONFIG is": {config.Settings{Kubeconfig: file}, "no-such-file", "http://one.example"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("KUBECONFIG", test.env)
			cluster, err := clusterConfig(test.settings)
			if err != nil {
				t.Fatal(err)
			}
			if cluster.Host != test.want || cluster.UserAgent != version.UserAgent || !cluster.DisableCompression {
				t.Errorf("the cluster is %s, called by %s", cluster.Host, cluster.UserAgent)
			}
		})
	}
}

func TestClusterConfig_ErrorsNameTheCause(t *testing.T) {
	home := atHome(t, map[string]string{"config": kubeconfig, "broken": "{"})
	for name, test := range map[string]struct {
		settings config.Settings
		says     string
	}{
		"nothing anywhere":         {config.Settings{}, "--kubeconfig"},
		"a file that is not there": {config.Settings{Kubeconfig: filepath.Join(home, "nosuch")}, "nosuch"},
		"a file that is broken":    {config.Settings{Kubeconfig: filepath.Join(home, "broken")}, "broken"},
		"a context that is not":    {config.Settings{Kubeconfig: filepath.Join(home, "config"), Context: "three"}, "three"},
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
	if got := servertest.ValueOf(t, inFile); got != expiryOf(t, first) {
		t.Errorf("a file: %.0f", got)
	}
	succeeds(t, os.WriteFile(file, second, 0o600))
	if got := servertest.ValueOf(t, inFile); got != expiryOf(t, second) {
		t.Errorf("a file that has changed: %.0f", got)
	}
	for name, test := range map[string]struct {
		cluster rest.TLSClientConfig
		want    float64
	}{
		"data":           {rest.TLSClientConfig{CertData: first}, expiryOf(t, first)},
		"none":           {rest.TLSClientConfig{}, 0},
		"missing file":   {rest.TLSClientConfig{CertFile: file + ".missing"}, 0},
		"no certificate": {rest.TLSClientConfig{CertData: []byte("text")}, 0},
	} {
		if got := servertest.ValueOf(t, newClientCertificateExpiry(&rest.Config{TLSClientConfig: test.cluster})); got != test.want {
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
	authority := string(expiringIn(t, time.Hour))
	file := filepath.Join(atHome(t, map[string]string{"ca.crt": authority}), "ca.crt")
	for name, tls := range map[string]rest.TLSClientConfig{
		"an authority in a file, as in a cluster": {CAFile: file},
		"an authority in a kubeconfig":            {CAData: []byte(authority)},
		"no authority":                            {Insecure: true},
	} {
		t.Run(name, func(t *testing.T) {
			var made http.RoundTripper
			cluster := &rest.Config{Host: "https://api.example", TLSClientConfig: tls}
			cluster.Wrap(func(next http.RoundTripper) http.RoundTripper {
				setLogWindow(next)
				made = next
				return next
			})
			if _, err := rest.TransportFor(cluster); err != nil {
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
