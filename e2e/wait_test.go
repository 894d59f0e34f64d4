package e2e_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
)

const (
	// patience bounds how long a test waits on an idle machine before it fails. It is not a claim
	// about speed.
	patience = 90 * time.Second
	// pollInterval is the interval at which a test polls where it is not notified.
	pollInterval = 50 * time.Millisecond
)

// deadline returns a context that ends with the test or after patience.
func deadline(t *testing.T) context.Context {
	t.Helper()
	return deadlineAfter(t, patience)
}

// deadlineAfter returns a context that ends with the test or after the time that corresponds to
// wait on this machine. Every deadline of these tests is created here.
func deadlineAfter(t *testing.T, wait time.Duration) context.Context {
	t.Helper()
	wait = harness.Patience(wait)
	ctx, cancel := context.WithTimeoutCause(t.Context(), wait, fmt.Errorf("the test timed out after %v; set E2E_PATIENCE for a longer timeout", wait))
	t.Cleanup(cancel)
	return ctx
}

// eventually calls ask until it returns nil, and fails the test with its last error if ctx ends
// first. description completes the sentence "timed out waiting until …" of the failure.
func eventually(ctx context.Context, t *testing.T, description string, ask func() error) {
	t.Helper()
	ticks := time.NewTicker(pollInterval)
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
