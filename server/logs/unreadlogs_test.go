package logs

import (
	"testing"

	"github.com/kubeconnect/kubeconnect/internal/fairqueue"
)

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
