package main

import (
	"runtime/debug"
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/kubeconnect/kubeconnect/cmd/server/config"
)

// TestService_PartsOfTheMemoryLimitFit adds up what callers can use of the memory, and what the process uses
// for itself.
func TestService_PartsOfTheMemoryLimitFit(t *testing.T) {
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(-1))
	const itself = 40 << 20
	for _, limit := range []int64{512 << 20, 1 << 30, 2 << 30, 8 << 30} {
		debug.SetMemoryLimit(limit)
		service, err := newService(t.Context(), &rest.Config{Host: "http://127.0.0.1:1"}, config.Settings{Auth: "none"}, nil)
		if err != nil {
			t.Fatal(err)
		}
		parts := privateShare.Bytes()
		for name, use := range service.metrics.QueueUse() {
			if strings.HasSuffix(name, "_bytes") {
				parts += use.Capacity
			}
		}
		service.hub.Close()
		service.traces.stop()
		if parts == 0 || parts+itself > limit {
			t.Errorf("of %d MiB, callers can use %d MiB", limit>>20, parts>>20)
		}
	}
}
