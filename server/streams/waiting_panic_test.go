package streams

import (
	"context"
	"strings"
	"testing"
)

// TestWhileWaiting_APanicStaysInItsCall has a stream that panics while it begins, in a goroutine of its own.
func TestWhileWaiting_APanicStaysInItsCall(t *testing.T) {
	defer func() {
		if text, _ := recover().(string); !strings.HasPrefix(text, "hostile input") || !strings.Contains(text, "waiting_panic_test.go") {
			t.Errorf("the call panics with %q", text)
		}
	}()
	_, err := whileWaiting(t.Context(), func(context.Context) error { return nil }, func() (*followedWatch, error) { panic("hostile input") })
	t.Errorf("the call returns %v", err)
}
