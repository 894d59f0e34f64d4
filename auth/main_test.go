package auth

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	// Silent connections are pinged, as in the service: see cmd/server.
	_ = os.Setenv("HTTP2_READ_IDLE_TIMEOUT_SECONDS", "1")
	_ = os.Setenv("HTTP2_PING_TIMEOUT_SECONDS", "1")
	code := m.Run()
	stopCluster()
	if err := goleak.Find(); code == 0 && err != nil {
		fmt.Println(err)
		code = 1
	}
	os.Exit(code)
}

// running runs a function until the test ends.
func running(t *testing.T, run func(context.Context)) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	var done sync.WaitGroup
	done.Go(func() { run(ctx) })
	t.Cleanup(func() { stop(); done.Wait() })
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
