package queries_test

import (
	"fmt"
	"testing"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

const (
	// unreadPods is the number of pods that write as fast as they are read, and unreadPodsMemory
	// bounds the service's memory for a client that does not read them: half a MiB for each.
	unreadPods       = 100
	unreadPodsMemory = 64 << 20
)

// TestLogLines_FitInMemoryWhenUnread leaves the lines of many pods unread.
func TestLogLines_FitInMemoryWhenUnread(t *testing.T) {
	t.Parallel()
	l, service := kit.NewLoggingPods(t), harness.StartService(t, kit.Cluster(t).Kubeconfig)
	client := podsOf(t, service)
	for i := range unreadPods {
		l.Start(fmt.Sprintf("pod-%d", i), nil, "main")
	}
	request := &kit.LinesRequest{Namespace: l.Namespace, MaxLogs: unreadPods, Follow: true}
	if _, _, err := kit.ReadLines(l.Ctx, client, &kit.LinesRequest{Namespace: l.Namespace, MaxLogs: unreadPods}); err != nil { // connects
		t.Fatal(err)
	}
	var sources []*kit.LongLog
	for i := range unreadPods {
		source := newLongLog()
		sources = append(sources, source)
		l.Kubelet.Answer(l.Namespace, fmt.Sprintf("pod-%d", i), "main", source)
	}
	before := kit.ResidentMemory(t, service.PID())
	kit.OpenLines(l.Ctx, t, client, request).Next()
	l.UntilStandStill(sources...)
	kept := kit.ResidentMemory(t, service.PID()) - before
	t.Logf("%d unread logs use %d MiB", unreadPods, kept>>20)
	if kept > unreadPodsMemory {
		t.Errorf("%d MiB for %d unread logs, want at most %d", kept>>20, unreadPods, unreadPodsMemory>>20)
	}
}
