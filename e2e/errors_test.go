package e2e_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"connectrpc.com/connect"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
)

// wantError fails the test unless the error has the code and its message contains all the words.
func wantError(t *testing.T, err error, code connect.Code, words ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want %s", code)
	}
	if got := connect.CodeOf(err); got != code {
		t.Errorf("code %s, want %s: %v", got, code, err)
	}
	wantWords(t, err.Error(), words...)
}

// wantWords fails the test unless a message contains all the words.
func wantWords(t *testing.T, text string, words ...string) {
	t.Helper()
	for _, word := range words {
		if !strings.Contains(text, word) {
			t.Errorf("%q does not contain %q", text, word)
		}
	}
}

// wantStatus returns the error detail with the API server's status, and fails the test unless there
// is one with this reason.
func wantStatus(t *testing.T, err error, reason string) *kubeconnectv1.Status {
	t.Helper()
	var failure *connect.Error
	if !errors.As(err, &failure) {
		t.Fatalf("not an RPC error: %v", err)
	}
	for _, detail := range failure.Details() {
		value, err := detail.Value()
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

func ignoreNotFound(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// hasCode is wantError for use in a condition.
func hasCode(err error, code connect.Code) error {
	if err != nil && connect.CodeOf(err) == code {
		return nil
	}
	return fmt.Errorf("want %s, got: %w", code, err)
}
