package e2e_test

import (
	"context"
	"errors"
	"testing"
	"time"
)

const (
	// patience is how long a test waits for anything before it gives up. It is
	// no claim about speed.
	patience = 90 * time.Second
	// pollInterval is how often a test asks where nothing tells it.
	pollInterval = 50 * time.Millisecond
)

// deadline is a context that ends with the test or with its patience.
func deadline(t *testing.T) context.Context {
	t.Helper()
	return deadlineAfter(t, patience)
}

func deadlineAfter(t *testing.T, wait time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeoutCause(t.Context(), wait, errors.New("the test's patience is over"))
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
