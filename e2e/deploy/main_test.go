package deploy_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
)

// root is the root of the checkout.
const root = "../.."

// patience bounds how long a test waits before it fails. It is not a claim about speed.
var patience = harness.Patience(2 * time.Minute)

// TestMain stops the cluster after the tests.
func TestMain(m *testing.M) {
	harness.LimitTests()
	code := m.Run()
	stopCluster()
	os.Exit(code)
}

// stopCluster stops the cluster if it is running.
var stopCluster = func() {}

// theCluster has nodes on which pods appear to run. Its API server does not support streaming
// lists, like older ones, so that the permission to list is needed.
var theCluster = sync.OnceValues(func() (*harness.Cluster, error) {
	started, err := harness.StartCluster("--nodes", "2", "--apiserver-arg", "feature-gates=WatchList=false")
	if err == nil {
		stopCluster = started.Stop
	}
	return started, err
})

func cluster(t *testing.T) *harness.Cluster {
	t.Helper()
	if os.Getenv("E2E") != "1" {
		t.Skip("needs a control plane: run `make e2e`, or set E2E=1 after `make build`")
	}
	started, err := theCluster()
	succeeds(t, err)
	return started
}

// read returns the text of a file of the repository.
func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, name))
	succeeds(t, err)
	return string(text)
}

func succeeds(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func deadline(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeoutCause(t.Context(), patience, errors.New("test timed out"))
	t.Cleanup(cancel)
	return ctx
}

// eventually calls ask until it returns nil or ctx ends.
func eventually(ctx context.Context, ask func() error) error {
	ticks := time.NewTicker(100 * time.Millisecond)
	defer ticks.Stop()
	for {
		err := ask()
		if err == nil {
			return nil
		}
		select {
		case <-ticks.C:
		case <-ctx.Done():
			return fmt.Errorf("timed out: %w (%w)", err, context.Cause(ctx))
		}
	}
}
