package budget

import (
	"net/http/httptest"
	"testing"

	"github.com/kubeconnect/kubeconnect/server/edge/streamlife"
)

func TestConditional_ErrorsOfEncodingHaveNoTag(t *testing.T) {
	for status, want := range map[int]string{200: "tag", 304: "tag", 500: ""} {
		answer := httptest.NewRecorder()
		answer.Header().Set("ETag", "tag")
		answer.Header().Set("Cache-Control", "private, no-cache")
		newResponseWriter(answer, streamlife.UnreadTimeout{}, &callMemory{}).WriteHeader(status)
		if header := answer.Header(); header.Get("ETag") != want || (header.Get("Cache-Control") == "no-store") != (want == "") {
			t.Errorf("%d: %v", status, header)
		}
	}
}
