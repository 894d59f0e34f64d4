package kit

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"connectrpc.com/connect/v2"
	"connectrpc.com/connect/v2/connectproto"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/internal/responses"
)

// OverLimit is the size of a request over every limit.
const OverLimit = 8 << 20

// WatchError opens a watch, and returns its error; nil if it sends a response other than that it waits for its first
// snapshot.
func WatchError(ctx context.Context, client ResourceClient, request *kubeconnectv1.WatchRequest) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := responses.Of(client.Watch(ctx, request))
	if err != nil {
		return err
	}
	defer stream.Close()
	for stream.Receive() {
		if !saysThatItWaits(stream.Msg()) {
			return nil
		}
	}
	return stream.Err()
}

// saysThatItWaits reports whether a response is a bookmark without a version.
func saysThatItWaits(response *kubeconnectv1.WatchResponse) bool {
	events := response.GetEvents()
	return len(events) == 1 && events[0].GetType() == kubeconnectv1.EventType_EVENT_TYPE_BOOKMARK && events[0].GetResourceVersion() == ""
}

// StatusIn is the Status of an error; nil if it has none.
func StatusIn(err error) *kubeconnectv1.Status {
	var failure *connect.Error
	if !errors.As(err, &failure) {
		return nil
	}
	for _, detail := range failure.Details() {
		if value, err := connectproto.UnmarshalErrorDetail(detail); err == nil {
			if status, ok := value.(*kubeconnectv1.Status); ok {
				return status
			}
		}
	}
	return nil
}

// WantError fails the test unless the error has the code and its message contains all the words.
func WantError(t *testing.T, err error, code connect.Code, words ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want %s", code)
	}
	if got := connect.CodeOf(err); got != code {
		t.Errorf("code %s, want %s: %v", got, code, err)
	}
	WantWords(t, err.Error(), words...)
}

// WantWords fails the test unless a message contains all the words.
func WantWords(t *testing.T, text string, words ...string) {
	t.Helper()
	for _, word := range words {
		if !strings.Contains(text, word) {
			t.Errorf("%q does not contain %q", text, word)
		}
	}
}

// WantStatus returns the error detail with the API server's status, and fails the test unless there
// is one with this reason.
func WantStatus(t *testing.T, err error, reason string) *kubeconnectv1.Status {
	t.Helper()
	var failure *connect.Error
	if !errors.As(err, &failure) {
		t.Fatalf("not an RPC error: %v", err)
	}
	for _, detail := range failure.Details() {
		value, err := connectproto.UnmarshalErrorDetail(detail)
		if err != nil {
			t.Fatal(err)
		}
		if status, ok := value.(*kubeconnectv1.Status); ok {
			if status.GetReason() != reason {
				t.Errorf("reason %q, want %q", status.GetReason(), reason)
			}
			return status
		}
	}
	t.Fatalf("no Status among the %d details of: %v", len(failure.Details()), err)
	return nil
}

// IgnoreNotFound returns nil if err is that an object does not exist, otherwise err.
func IgnoreNotFound(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// HasCode is WantError for use in a condition.
func HasCode(err error, code connect.Code) error {
	if err != nil && connect.CodeOf(err) == code {
		return nil
	}
	return fmt.Errorf("want %s, got: %w", code, err)
}

// WantSameStatus fails the test unless an error has the complete status of the API server.
func WantSameStatus(t *testing.T, err error, want metav1.Status) {
	t.Helper()
	var failure *connect.Error
	if errors.As(err, &failure) && failure.Message() != want.Message {
		t.Errorf("message\n  %q\nwant\n  %q", failure.Message(), want.Message)
	}
	same := StatusOf(want)
	if got := WantStatus(t, err, string(want.Reason)); !proto.Equal(got, same) {
		t.Errorf("status\n  %s\nwant\n  %s", protojson.Format(got), protojson.Format(same))
	}
}

// StatusOf returns a status of the API server as the service returns it.
func StatusOf(status metav1.Status) *kubeconnectv1.Status {
	same := &kubeconnectv1.Status{Reason: string(status.Reason), Message: status.Message, Code: status.Code}
	if details := status.Details; details != nil {
		same.Group, same.Kind, same.Name, same.Uid = details.Group, details.Kind, details.Name, string(details.UID)
		same.RetryAfterSeconds = details.RetryAfterSeconds
		for _, cause := range details.Causes {
			same.Causes = append(same.Causes, &kubeconnectv1.StatusCause{Reason: string(cause.Type), Message: cause.Message, Field: cause.Field})
		}
	}
	return same
}
