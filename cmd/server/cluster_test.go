package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/rest"

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
