package kit

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
)

const (
	// WaitTimeout bounds how long a test waits on an idle machine before it fails. It is not a claim
	// about speed.
	WaitTimeout = 90 * time.Second
	// PollInterval is the interval at which a test polls where it is not notified.
	PollInterval = 50 * time.Millisecond
)

// Deadline returns a context that ends with the test or after WaitTimeout.
func Deadline(t *testing.T) context.Context {
	t.Helper()
	return DeadlineAfter(t, WaitTimeout)
}

// DeadlineAfter returns a context that ends with the test or after the time that corresponds to
// wait on this machine. Every deadline of these tests is created here.
func DeadlineAfter(t *testing.T, wait time.Duration) context.Context {
	t.Helper()
	wait = harness.Patience(wait)
	ctx, cancel := context.WithTimeoutCause(t.Context(), wait, fmt.Errorf("the test timed out after %v; set E2E_PATIENCE for a longer timeout", wait))
	t.Cleanup(cancel)
	return ctx
}

// Eventually calls ask until it returns nil, and fails the test with its last error if ctx ends
// first. description completes the sentence "timed out waiting until …" of the failure.
func Eventually(ctx context.Context, t *testing.T, description string, ask func() error) {
	t.Helper()
	ticks := time.NewTicker(PollInterval)
	defer ticks.Stop()
	for {
		err := ask()
		if err == nil {
			return
		}
		select {
		case <-ticks.C:
		case <-ctx.Done():
			t.Fatalf("timed out waiting until %s: %v (%v)", description, err, context.Cause(ctx))
		}
	}
}
