package harness

import (
	"path/filepath"
	"testing"

	"k8s.io/client-go/tools/clientcmd"
)

// KubeconfigTo writes a copy of a kubeconfig with another address, such as that of a proxy, and
// returns its path. The certificates stay valid for loopback addresses.
func KubeconfigTo(t testing.TB, kubeconfig, address string) string {
	t.Helper()
	config, err := clientcmd.LoadFromFile(kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	for _, cluster := range config.Clusters {
		cluster.Server = "https://" + address
	}
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		t.Fatal(err)
	}
	return path
}
