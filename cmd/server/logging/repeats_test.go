package logging

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"net/url"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"

	"github.com/kubeconnect/kubeconnect/internal/faketime"
	"github.com/kubeconnect/kubeconnect/server/edge/callerrors"
)

// failure returns an error of a lost API server, which differs in its port and its stream each time.
func failure(i int) error {
	cut := fmt.Errorf("read tcp 10.0.0.7:%d->10.0.0.1:6443: %w", 20_000+i, syscall.ECONNRESET)
	return &url.Error{Op: "Post", URL: fmt.Sprintf("https://10.0.0.1:6443/apis?stream=%d", i), Err: &net.OpError{Op: "read", Err: cut}}
}

// warningsOfALostAPIServer log what repeats while the API server is lost.
var warningsOfALostAPIServer = map[string]func(i int){
	"the API server cannot be reached":              func(i int) { _ = callerrors.ConnectError(failure(i)) },
	"the cluster could not be asked about a caller": func(i int) { slog.Warn("the cluster could not be asked about a caller", "error", failure(i)) },
	"the list of the API server takes long, or fails": func(i int) {
		slog.Warn("the list of the API server takes long, or fails", "resource", fmt.Sprintf("kind-%d", i), "seconds", i, "error", failure(i))
	},
	"call failed": func(i int) {
		slog.Warn("call failed", "request_id", fmt.Sprintf("%x", i*7919), "seconds", float64(i), "error", failure(i).Error())
	},
	"not ready": func(i int) { slog.Warn("not ready", "error", failure(i)) },
	"no contact to the API server: the served data is stale": func(i int) {
		slog.Warn("no contact to the API server: the served data is stale", "last_contact", time.Unix(int64(i), 0))
	},
	"a connection is closed because of a limit": func(i int) {
		slog.Warn("a connection is closed because of a limit", "network", netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)}), 32))
	},
	"an error of client-go": func(i int) {
		klog.LoggerWithName(klog.Background(), "reflector").Error(failure(i), "an error of client-go")
	},
	"a handled error of client-go": func(i int) {
		utilruntime.HandleErrorWithContext(context.Background(), failure(i), "a handled error of client-go")
	},
	"a text of client-go": func(i int) { klog.Errorf("a text of client-go, stream %d", i) },
}

// TestRepeats_FloodsOfWarningsAreBounded uses fake time.
func TestRepeats_FloodsOfWarningsAreBounded(t *testing.T) {
	const flood, minutes = 1_000, 3
	for message, warn := range warningsOfALostAPIServer {
		t.Run(message, func(t *testing.T) {
			faketime.Test(t, func(t *testing.T) {
				logged, counted := captureAt(t, slog.LevelInfo), 0
				for minute := range minutes {
					for i := range flood {
						warn(minute*flood + i)
					}
					time.Sleep(repeatsInterval)
					synctest.Wait()
				}
				for line := range strings.Lines(logged.String()) {
					if !strings.Contains(line, "level=WARN") || !strings.Contains(line, message) {
						t.Fatalf("a line is %s", line)
					}
					repeated := 0
					if _, number, found := strings.Cut(line, " repeated="); found {
						_, err := fmt.Sscan(number, &repeated)
						succeeds(t, err)
					} else {
						repeated = 1
					}
					counted += repeated
				}
				if lines := logged.Count("\n"); lines == 0 || lines > minutes*(maxKinds+1)*(repeatsBurst+1) || counted != minutes*flood {
					t.Errorf("%d lines count %d of %d warnings", lines, counted, minutes*flood)
				}
			})
		})
	}
}

// TestRepeats_KindsAreCounted uses fake time.
func TestRepeats_KindsAreCounted(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		logged := captureAt(t, slog.LevelInfo)
		for i := range repeatsBurst + 123 {
			slog.Warn("cannot be asked", "error", failure(i))
		}
		slog.Warn("cannot be asked", "error", errors.New("forbidden"))
		for _, resource := range []string{"pods.v1", "widgets.v1.example.com", "widgets.v2.example.com"} {
			for second := range repeatsBurst + 2 {
				slog.Warn("stale", "resource", resource, "seconds", second)
			}
		}
		if lines := logged.Count("\n"); lines != 4*repeatsBurst+1 {
			t.Errorf("%d lines at once: %s", lines, logged.String())
		}
		time.Sleep(repeatsInterval)
		synctest.Wait()
		if logged.Count("repeated=123\n") != 1 || logged.Count("seconds=4 repeated=2\n") != 3 || logged.Count("\n") != 4*repeatsBurst+5 {
			t.Errorf("the log is %s", logged.String())
		}
		time.Sleep(repeatsInterval)
		slog.Warn("cannot be asked", "error", failure(1))
		if lines := logged.Count("\n"); lines != 4*repeatsBurst+6 {
			t.Errorf("a later interval begins with %d lines in total", lines)
		}
	})
}

// TestRepeats_OtherLevelsAreComplete checks that the record of changes and faults of the service are
// never left out.
func TestRepeats_OtherLevelsAreComplete(t *testing.T) {
	logged := captureAt(t, slog.LevelInfo)
	for range 50 {
		slog.Info("change")
		slog.Error("a fault")
		klog.Background().Error(nil, panicOfLibrary, "panic", "a fault")
	}
	if infos, faults := logged.Count("level=INFO"), logged.Count("level=ERROR"); infos != 50 || faults != 100 {
		t.Errorf("%d changes and %d faults", infos, faults)
	}
}
