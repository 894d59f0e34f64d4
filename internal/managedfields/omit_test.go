package managedfields

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestOmit_AddsAParameterToEachMediaType(t *testing.T) {
	for accepts, want := range map[string]string{
		"":                 "",
		"application/json": "application/json;drop=metadata.managedFields",
		"application/vnd.kubernetes.protobuf,application/json": "application/vnd.kubernetes.protobuf;drop=metadata.managedFields," +
			"application/json;drop=metadata.managedFields",
		"application/json;as=Table;v=v1;g=meta.k8s.io": "application/json;as=Table;v=v1;g=meta.k8s.io;drop=metadata.managedFields",
	} {
		t.Run(accepts, func(t *testing.T) {
			var accepted string
			api := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { accepted = r.Header.Get("Accept") }))
			defer api.Close()
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, api.URL, nil)
			if err != nil {
				t.Fatal(err)
			}
			if accepts != "" {
				request.Header.Set("Accept", accepts)
			}
			response, err := Omit(api.Client()).Do(request)
			if err != nil {
				t.Fatal(err)
			}
			_ = response.Body.Close()
			if accepted != want || request.Header.Get("Accept") != accepts {
				t.Errorf("sent %q, want %q; the caller's request has %q", accepted, want, request.Header.Get("Accept"))
			}
		})
	}
}
