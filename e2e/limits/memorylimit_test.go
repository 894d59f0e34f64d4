package limits_test

import (
	"strings"
	"testing"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

// TestMemoryLimit_ExcessIsLoggedAndCounted sets a limit below the memory of an idle
// service.
func TestMemoryLimit_ExcessIsLoggedAndCounted(t *testing.T) {
	t.Parallel()
	ctx := kit.Deadline(t)
	service := harness.StartService(t, kit.Cluster(t).Kubeconfig, append(kit.MetricsFlags, "--memory-limit", "4Mi")...)
	line, err := service.UntilPrints(ctx, func(line string) bool { return strings.Contains(line, "the memory limit cannot be kept") })
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(line, "limitMiB=4 ") {
		t.Errorf("log line %s", line)
	}
	shown := scrapeOf(ctx, t, service)
	for series, least := range map[string]float64{
		`kubeconnect_memory_limit_bytes{}`:                               4 << 20,
		`kubeconnect_memory_needed_bytes{}`:                              4<<20 + 1,
		`kubeconnect_memory_limit_exceeded_seconds_total{reason=memory}`: 1,
	} {
		if got := shown.Series[series]; got < least {
			t.Errorf("%s is %v, want at least %v", series, got, least)
		}
	}
}
