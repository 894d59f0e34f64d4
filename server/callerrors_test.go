package server

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"connectrpc.com/connect/v2"
	"connectrpc.com/connect/v2/connecthttp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/kubeconnect/kubeconnect/auth"
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/internal/responses"
	"github.com/kubeconnect/kubeconnect/server/access"
	"github.com/kubeconnect/kubeconnect/server/edge/callerrors"
	"github.com/kubeconnect/kubeconnect/server/internal/servertest"
	"github.com/kubeconnect/kubeconnect/server/internal/statustest"
	"github.com/kubeconnect/kubeconnect/server/writes/change"
)

// TestErrors_AreBoundedForEachKindOfCall has the API server reject a change, the log of a pod and
// the name of a watch with a long message.
func TestErrors_AreBoundedForEachKindOfCall(t *testing.T) {
	long := strings.Repeat("é", 20_000)
	refuse := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusUnprocessableEntity)
		_ = json.NewEncoder(w).Encode(metav1.Status{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure,
			Reason: metav1.StatusReasonInvalid, Code: http.StatusUnprocessableEntity, Message: long,
		})
	})
	for name, option := range map[string]connecthttp.Option{
		"Connect": connecthttp.WithReadMaxBytes(0), "Connect JSON": connecthttp.WithProtoJSON(), "gRPC": connecthttp.WithGRPC(), "gRPC-Web": connecthttp.WithGRPCWeb(),
	} {
		t.Run(name, func(t *testing.T) {
			api := servertest.PodsAPI()
			api.Change, api.Log = refuse, refuse
			s := newService(t, api, auth.KubeconfigAuthenticator{}, option)
			for call, err := range map[string]error{
				"Patch":     patchError(t, s),
				"GetLogs":   openLog(t, s, &kubeconnectv1.GetLogsRequest{Namespace: "default", Name: "a"}).end(),
				"WatchMany": watchManyError(t, s, long),
			} {
				var coded *connect.Error
				if !errors.As(err, &coded) {
					t.Fatalf("%s: the error is %v", call, err)
				}
				if reason := statustest.Of(t, err).GetReason(); reason != "Invalid" && reason != "BadRequest" {
					t.Errorf("%s: the reason is %q", call, reason)
				}
				if _, size := statustest.Trailers(t, coded); size > 8<<10 {
					t.Errorf("%s: the error has %d bytes", call, size)
				}
			}
		})
	}
}

func patchError(t *testing.T, s *service) error {
	_, err := s.resources.Patch(t.Context(), &kubeconnectv1.PatchRequest{
		Resource: "pods", Namespace: "default", Name: "a", Type: kubeconnectv1.PatchType_PATCH_TYPE_MERGE,
		Body: &kubeconnectv1.PatchRequest_Data{Data: []byte("{}")},
	})
	return err
}

func watchManyError(t *testing.T, s *service, resource string) error {
	stream, err := responses.Of(s.resources.WatchMany(t.Context(), &kubeconnectv1.WatchManyRequest{Watches: []*kubeconnectv1.WatchSpec{{Resource: resource}}}))
	if err != nil {
		return err
	}
	defer func() { _ = stream.Close() }()
	stream.Receive()
	return stream.Err()
}

// TestUnreachable_RefusedByTheService has callers that the service cannot act as: the message is
// that of the error, without the request.
func TestUnreachable_RefusedByTheService(t *testing.T) {
	clients, err := auth.NewClientFactory(&rest.Config{Host: "http://10.1.2.3"}, change.NoteOutcome)
	if err != nil {
		t.Fatal(err)
	}
	dest := change.Target{Resource: access.PodLogs, Namespace: "default", Name: "a"}
	_, err = change.Writer{Clients: clients.For(auth.Identity{Username: "admin "})}.Do(t.Context(), dest, change.Delete{})
	if err := callerrors.ConnectError(err); connect.CodeOf(err) != connect.CodePermissionDenied || strings.Contains(err.Error(), "10.1.2.3") {
		t.Errorf("the caller gets %v", err)
	}
}

// TestGetLogs_UnreachableKubeletIsUnavailable has the API server respond as it does for a kubelet
// that does not listen.
func TestGetLogs_UnreachableKubeletIsUnavailable(t *testing.T) {
	api := servertest.PodsAPI()
	api.Log = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusInternalServerError)
		_, _ = w.Write([]byte(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"InternalError","code":500,"message":"Get \"https://10.1.2.3:10250/containerLogs/default/a/c\": dial tcp 10.1.2.3:10250: connect: connection refused"}`))
	})
	s := newService(t, api, auth.KubeconfigAuthenticator{})
	err := openLog(t, s, &kubeconnectv1.GetLogsRequest{Namespace: "default", Name: "a"}).end()
	if connect.CodeOf(err) != connect.CodeUnavailable || statustest.Of(t, err).GetReason() != "ServiceUnavailable" ||
		strings.Contains(err.Error(), "10.1.2.3") || !strings.Contains(err.Error(), "kubelet") {
		t.Errorf("the error is %v", err)
	}
}
