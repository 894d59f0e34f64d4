package e2e_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
)

const (
	// patience is how long a test waits for anything on an idle machine before it gives
	// up. It is no claim about speed.
	patience = 90 * time.Second
	// pollInterval is how often a test polls where it is not notified.
	pollInterval = 50 * time.Millisecond
)

// deadline returns a context that ends with the test or with its patience.
func deadline(t *testing.T) context.Context {
	t.Helper()
	return deadlineAfter(t, patience)
}

// deadlineAfter returns a context that ends with the test or when the test has waited
// longer than so long on an idle machine. Every deadline of these tests is made here.
func deadlineAfter(t *testing.T, wait time.Duration) context.Context {
	t.Helper()
	wait = harness.Patience(wait)
	ctx, cancel := context.WithTimeoutCause(t.Context(), wait, fmt.Errorf("the test has waited for %v; E2E_PATIENCE makes it wait longer", wait))
	t.Cleanup(cancel)
	return ctx
}

// eventually asks until the answer is nil, and fails with the last one when ctx
// ends first.
func eventually(ctx context.Context, t *testing.T, what string, ask func() error) {
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
			t.Fatalf("not yet: %s: %v (%v)", what, err, context.Cause(ctx))
		}
	}
}
