package transport_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

// TestTransport_UnknownJSONIsRejected misspells a selector and an enum value. Ignored, the first
// deletes all objects of the namespace.
func TestTransport_UnknownJSONIsRejected(t *testing.T) {
	t.Parallel()
	ctx := kit.Deadline(t)
	service := harness.StartService(t, kit.Cluster(t).Kubeconfig)
	for rpc, body := range map[string]string{
		"DeleteCollection": `{"resource":"configmaps","namespace":"default","labelSelectr":"app=old","dryRun":true}`,
		"List":             `{"resource":"configmaps","namespace":"default","encoding":"ENCODING_JASON"}`,
	} {
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, service.Address+"/kubeconnect.v1.ResourceService/"+rpc, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Content-Type", "application/json")
		response, err := harness.OneCallConnections(t).Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if response.StatusCode != http.StatusBadRequest {
			t.Errorf("%s %s: %s, want 400", rpc, body, response.Status)
		}
	}
}
