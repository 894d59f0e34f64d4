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

// webhookTakes is how long the webhook thinks about a token.
const webhookTakes = 2 * time.Second

// startClusterWithSlowWebhook starts a control plane that has a webhook look at each token
// that is no service account's. It takes its time, and accepts none.
func startClusterWithSlowWebhook(t *testing.T) *harness.Cluster {
	t.Helper()
	webhook := httptest.NewServer(http.HandlerFunc(refuseSlowly))
	t.Cleanup(webhook.Close)
	config := clientcmdapi.NewConfig()
	config.Clusters["webhook"] = &clientcmdapi.Cluster{Server: webhook.URL}
	config.Contexts["webhook"] = &clientcmdapi.Context{Cluster: "webhook"}
	config.CurrentContext = "webhook"
	path := filepath.Join(t.TempDir(), "webhook")
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		t.Fatal(err)
	}
	started, err := harness.StartCluster("--apiserver-arg", "authentication-token-webhook-config-file="+path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(started.Stop)
	return started
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
