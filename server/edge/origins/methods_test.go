package origins

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestRefuseByGET_ExplainsWhatNeedsPOST(t *testing.T) {
	api := refuseByGET(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "reached") }))
	for path, refused := range map[string]bool{
		"/kubeconnect.v1.ResourceService/Get":                  false,
		"/kubeconnect.v1.ResourceService/List":                 false,
		"/kubeconnect.v1.ResourceService/Count":                false,
		"/kubeconnect.v1.ResourceService/GetTable":             false,
		"/kubeconnect.v1.DiscoveryService/ListResourceTypes":   false,
		"/kubeconnect.v1.DiscoveryService/GetSchema":           false,
		"/kubeconnect.v1.AccessService/WhoAmI":                 false,
		"/kubeconnect.v1.AccessService/CheckAccess":            false,
		"/kubeconnect.v1.ResourceService/Watch":                true,
		"/kubeconnect.v1.ResourceService/WatchMany":            true,
		"/kubeconnect.v1.ResourceService/WatchCounts":          true,
		"/kubeconnect.v1.PodService/GetLogs":                   true,
		"/kubeconnect.v1.ResourceService/Create":               true,
		"/kubeconnect.v1.ResourceService/Update":               true,
		"/kubeconnect.v1.ResourceService/Patch":                true,
		"/kubeconnect.v1.ResourceService/Delete":               true,
		"/kubeconnect.v1.ResourceService/DeleteCollection":     true,
		"/kubeconnect.v1.ResourceService/Unknown":              false,
		"/kubeconnect.v1.ResourceService":                      false,
		"/livez":                                               false,
		"/kubeconnect.v1.ResourceService/Watch/../../etc/none": false,
	} {
		answer := httptest.NewRecorder()
		api.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
		body := answer.Body.String()
		switch {
		case !refused && body != "reached":
			t.Errorf("%s: %d %s", path, answer.Code, body)
		case refused && (answer.Code != http.StatusMethodNotAllowed || answer.Header().Get("Allow") != http.MethodPost ||
			!strings.Contains(body, `"code":"unimplemented"`) || !strings.Contains(body, "call it by POST")):
			t.Errorf("%s: %d %v %s", path, answer.Code, answer.Header(), body)
		}
		answer = httptest.NewRecorder()
		api.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, nil))
		if answer.Body.String() != "reached" {
			t.Errorf("%s by POST: %d", path, answer.Code)
		}
	}
}
