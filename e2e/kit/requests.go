package kit

import (
	"context"
	"testing"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
)

// Values of requests.
const (
	// EncodingJSON requests objects as JSON.
	EncodingJSON = kubeconnectv1.Encoding_ENCODING_JSON
	// MergePatch is the type of JSON merge patches.
	MergePatch = kubeconnectv1.PatchType_PATCH_TYPE_MERGE
	// RelatedOwnedBy relates an owner to the objects that it owns.
	RelatedOwnedBy = kubeconnectv1.RelationType_RELATION_TYPE_OWNED_BY
	// Latest requests a read at the API server.
	Latest = kubeconnectv1.Consistency_CONSISTENCY_LATEST
)

// Patch sends a patch through the service and returns the response.
func Patch(ctx context.Context, t *testing.T, client ResourceClient, request *kubeconnectv1.PatchRequest) *kubeconnectv1.PatchResponse {
	t.Helper()
	answer, err := client.Patch(ctx, request)
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

// WithData sets the body of a patch request and returns the request.
func WithData(request *kubeconnectv1.PatchRequest, body string) *kubeconnectv1.PatchRequest {
	request.Body = &kubeconnectv1.PatchRequest_Data{Data: []byte(body)}
	return request
}

// WantAPIServer fails the test unless the source of a response is the API server.
func WantAPIServer(t *testing.T, answer interface {
	GetSource() kubeconnectv1.Source
	GetFreshness() *kubeconnectv1.Freshness
}) {
	t.Helper()
	if answer.GetSource() != kubeconnectv1.Source_SOURCE_API_SERVER || answer.GetFreshness().GetStale() || answer.GetFreshness().GetLastContactTime() == nil {
		t.Errorf("source %v, freshness %v, want the API server", answer.GetSource(), answer.GetFreshness())
	}
}
