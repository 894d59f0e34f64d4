package memorylimit

import (
	"bytes"
	"context"
	"log/slog"
	"math"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubeconnect/kubeconnect/internal/faketime"
	"github.com/kubeconnect/kubeconnect/server/internal/metricstest"
)

func TestMemoryUse_ExceedsItsLimit(t *testing.T) {
	const limit = 100 << 20
	quiet := memoryUse{limit: limit, needed: 90 << 20, cycles: 10, collecting: 1, working: 10}
	for name, test := range map[string]struct {
		use  memoryUse
		want string
	}{
		"nothing happens":                               {quiet, ""},
		"no limit":                                      {memoryUse{limit: math.MaxInt64, needed: 1 << 40, cycles: 1000, collecting: 10, working: 20}, ""},
		"it needs more":                                 {memoryUse{limit: limit, needed: limit + 1, cycles: 10, collecting: 1, working: 10}, reasonMemory},
		"it collects most of the time":                  {memoryUse{limit: limit, needed: 90 << 20, cycles: 400, collecting: 4, working: 15}, reasonCollector},
		"it collects often, with much other work":       {memoryUse{limit: limit, needed: 90 << 20, cycles: 400, collecting: 4, working: 18}, ""},
		"it collects once, and does nothing else":       {memoryUse{limit: limit, needed: 90 << 20, cycles: 11, collecting: 1.1, working: 10.1}, ""},
		"it collects most of the time, far below limit": {memoryUse{limit: limit, needed: 20 << 20, cycles: 400, collecting: 4, working: 15}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := test.use.exceeds(quiet, 5*time.Second); got != test.want {
				t.Errorf("the reason is %q, want %q", got, test.want)
			}
		})
	}
}

// TestMemoryUse_IsWhatTheRuntimeSays fails when a version of Go renames its metrics.
func TestMemoryUse_IsWhatTheRuntimeSays(t *testing.T) {
	if use := readMemory(); use.needed < 1<<20 || use.needed > 4<<30 || use.limit < use.needed || use.cycles > 0 && use.working <= 0 {
		t.Errorf("the memory in use is %+v", use)
	}
}

// TestMemoryLimit_IsLoggedAndCountedWhileItIsNotKept exceeds the limit for 15 minutes.
func TestMemoryLimit_IsLoggedAndCountedWhileItIsNotKept(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		logged := captureWarnings(t)
		use := memoryUse{limit: 100 << 20, needed: 50 << 20}
		var mu sync.Mutex // guards use
		limit := NewMonitor()
		limit.read = func() memoryUse {
			mu.Lock()
			defer mu.Unlock()
			return use
		}
		needs := func(bytes uint64, during time.Duration) {
			mu.Lock()
			use.needed = bytes
			mu.Unlock()
			time.Sleep(during)
			synctest.Wait()
		}
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { limit.Run(ctx) })
		needs(50<<20, time.Minute)
		if logged.Len() > 0 {
			t.Errorf("below the limit, the log contains %s", logged)
		}
		needs(85<<20, 15*time.Minute)
		if got := strings.Count(logged.String(), "almost all the memory of its limit"); got != 2 || strings.Contains(logged.String(), "cannot be kept") {
			t.Errorf("near the limit, the log contains it %d times, want twice in 15 minutes:\n%s", got, logged)
		}
		needs(120<<20, 15*time.Minute)
		needs(50<<20, 15*time.Minute)
		stop()
		running.Wait()
		if got := strings.Count(logged.String(), "the memory limit cannot be kept"); got != 2 || !strings.Contains(logged.String(), "limitMiB=100 neededMiB=120") {
			t.Errorf("the log contains it %d times, want twice in 15 minutes:\n%s", got, logged)
		}
		metricstest.WantLines(t, limit, "kubeconnect_memory_limit_bytes", " 1.048576e+08")
		metricstest.WantLines(t, limit, "kubeconnect_memory_needed_bytes", " 5.24288e+07")
		metricstest.WantLines(t, limit, "kubeconnect_memory_limit_exceeded_seconds_total", `{reason="collector"} 0`, `{reason="memory"} 900`)
	})
}

func TestMemoryLimit_IsZeroWithoutALimit(t *testing.T) {
	limit := NewMonitor()
	limit.read = func() memoryUse { return memoryUse{limit: math.MaxInt64} }
	metricstest.WantLines(t, limit, "kubeconnect_memory_limit_bytes", " 0")
	metricstest.WantLines(t, limit, "kubeconnect_memory_limit_exceeded_seconds_total", `{reason="collector"} 0`, `{reason="memory"} 0`)
}

// captureWarnings returns the log of the rest of the test.
func captureWarnings(t *testing.T) *bytes.Buffer {
	written, before := new(bytes.Buffer), slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(written, nil)))
	t.Cleanup(func() { slog.SetDefault(before) })
	return written
}
