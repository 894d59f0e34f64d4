package conformance_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
)

// runTimeout bounds a run of all tests.
var runTimeout = harness.Patience(40 * time.Minute)

// listTimeout bounds how long the program needs to list its tests.
var listTimeout = harness.Patience(time.Minute)

// TestMain runs nothing without E2E=1.
func TestMain(m *testing.M) {
	if os.Getenv("E2E") != "1" {
		fmt.Println("skipped, because these tests need a control plane: run make e2e-upstream, or set E2E=1 after make build upstream-e2e")
		return
	}
	os.Exit(m.Run())
}

// deadline returns the context of a test, with a timeout.
func deadline(t *testing.T, timeout time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeoutCause(t.Context(), timeout, errors.New("test timed out"))
	t.Cleanup(cancel)
	return ctx
}
