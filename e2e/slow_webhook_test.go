package e2e_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
)

// webhookTakes is the response time of the webhook.
const webhookTakes = 2 * time.Second

// startClusterWithSlowWebhook starts a control plane that sends each token other than those of
// service accounts to a webhook. The webhook is slow, and accepts none.
func startClusterWithSlowWebhook(t *testing.T) *harness.Cluster {
	t.Helper()
	path := startWebhook(t, http.HandlerFunc(refuseSlowly))
	started, err := harness.StartCluster("--apiserver-arg", "authentication-token-webhook-config-file="+path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(started.Stop)
	return started
}

// startWebhook starts a server for a webhook of the API server, which ends with the test, and
// returns the path of the API server's configuration file for it.
func startWebhook(t *testing.T, webhook http.Handler) (config string) {
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

func refuseSlowly(w http.ResponseWriter, r *http.Request) {
	review := map[string]any{}
	if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	select {
	case <-time.After(webhookTakes):
	case <-r.Context().Done():
	}
	review["status"] = map[string]any{"authenticated": false}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(review)
}
