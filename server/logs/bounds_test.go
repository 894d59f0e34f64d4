package logs

import (
	"errors"
	"testing"

	"github.com/kubeconnect/kubeconnect/internal/fairqueue"
	"github.com/kubeconnect/kubeconnect/internal/ledger"
)

func TestOpenLogs_AreBounded(t *testing.T) {
	t.Parallel()
	queue := fairqueue.New(fairqueue.Limits{Total: 3, PerKey: 2})
	logsOf := func(caller string) openLogs { return openLogs{queue: queue, caller: caller, weight: 1} }
	var release func()
	for i, step := range []struct {
		caller string
		opens  bool
	}{{"jane", true}, {"jane", true}, {"jane", false}, {"joe", true}, {"joe", false}} {
		released, err := logsOf(step.caller).acquire()
		if (err == nil) != step.opens {
			t.Errorf("log %d: %v", i, err)
		}
		if i == 0 {
			release = released
		}
	}
	release()
	if _, err := logsOf("jane").acquire(); err != nil {
		t.Errorf("once another one is closed: %v", err)
	}
}

// TestOpenLogs_AreCharged opens logs with lines before a match, until their memory is used up.
func TestOpenLogs_AreCharged(t *testing.T) {
	t.Parallel()
	kept, queue := ledger.New(ledger.Limits{Total: 10 * (openLogBytes + contextBytes)}), newOpenLogs()
	logs := openLogs{queue: queue, caller: "jane", account: kept.Account("jane", "a"), weight: contextLogs, bytes: openLogBytes + contextBytes}
	var release func()
	for i := range 3 {
		released, err := logs.acquire()
		if opens := i < 2; (err == nil) != opens || !opens && !errors.Is(err, ledger.ErrFull) {
			t.Fatalf("log %d: %v", i, err)
		}
		if err == nil {
			release = released
		}
	}
	if queue.Held() != 2*contextLogs {
		t.Errorf("%d logs are counted, want 2 with lines before a match", queue.Held())
	}
	release()
	if kept.Kept()["jane"] != logs.bytes || queue.Held() != contextLogs {
		t.Errorf("after one has ended, %v is kept, and %d are counted", kept.Kept(), queue.Held())
	}
}

func TestUnreadLogs_AreBounded(t *testing.T) {
	queue := fairqueue.New(fairqueue.Limits{Total: 3, PerKey: 2})
	logOf := func(caller string) *unreadLogs { return &unreadLogs{queue: queue, caller: caller, count: 1} }
	logs := []*unreadLogs{logOf("jane"), logOf("jane"), logOf("jane"), logOf("joe")}
	for i, wantFits := range []bool{true, true, false, true} {
		for range 2 { // it is checked each second
			if err := logs[i].fits(); (err == nil) != wantFits {
				t.Errorf("log %d: %v", i, err)
			}
		}
	}
	logs[0].end()
	logs[2].end()
	if err := logs[2].fits(); err != nil {
		t.Errorf("once another one is read: %v", err)
	}
}
