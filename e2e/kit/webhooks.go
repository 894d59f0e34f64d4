package kit

import (
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// StartWebhook starts a server for a webhook of the API server, which ends with the test, and
// returns the path of the API server's configuration file for it.
func StartWebhook(t *testing.T, webhook http.Handler) (config string) {
	t.Helper()
	server := httptest.NewServer(webhook)
	t.Cleanup(server.Close)
	leads := clientcmdapi.NewConfig()
	leads.Clusters["webhook"] = &clientcmdapi.Cluster{Server: server.URL}
	leads.Contexts["webhook"] = &clientcmdapi.Context{Cluster: "webhook"}
	leads.CurrentContext = "webhook"
	config = filepath.Join(t.TempDir(), "webhook")
	if err := clientcmd.WriteToFile(*leads, config); err != nil {
		t.Fatal(err)
	}
	return config
}
