package limits_test

import (
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

// webhookTakes is the response time of the webhook.
const webhookTakes = 2 * time.Second

// startClusterWithSlowWebhook starts a control plane that sends each token other than those of
// service accounts to a webhook. The webhook is slow, and accepts none.
func startClusterWithSlowWebhook(t *testing.T) *harness.Cluster {
	t.Helper()
	path := kit.StartWebhook(t, http.HandlerFunc(refuseSlowly))
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
