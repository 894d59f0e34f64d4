package queries_test

import (
	"crypto/sha256"
	"testing"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

const (
	// slowLogs is the number of unread logs at one time, and slowLogMemory bounds the service's
	// memory for all of them.
	slowLogs      = 20
	slowLogMemory = 40 << 20
)

func newLongLog() *kit.LongLog { return &kit.LongLog{Sum: sha256.New(), Ended: make(chan struct{})} }

// TestLogs_WaitForASlowReader stops reading a log until its source is blocked: the service must not
// buffer more than the connections do, and must not lose anything.
func TestLogs_WaitForASlowReader(t *testing.T) {
	t.Parallel()
	for _, protocol := range harness.Protocols {
		t.Run(protocol.Name, func(t *testing.T) {
			t.Parallel()
			l, source, service := kit.NewLogging(t), newLongLog(), harness.StartService(t, kit.Cluster(t).Kubeconfig)
			client := harness.Dial(harness.HTTP2(t), service.Address, protocol).Pods
			if _, err := kit.ReadLog(l.Ctx, client, l.Request()); err != nil { // connects
				t.Fatal(err)
			}
			l.Kubelet.Answer(l.Namespace, l.Pod, "main", source)
			before := kit.ResidentMemory(t, service.PID())
			log := kit.OpenLog(l.Ctx, t, client, l.Request())
			log.Next()
			l.UntilStandsStill(source)
			kept := kit.ResidentMemory(t, service.PID()) - before
			t.Logf("the source is blocked after %d MiB; the service uses %d MiB more", source.Written.Load()>>20, kept>>20)
			if kept > slowLogMemory {
				t.Errorf("%d MiB for an unread log, want at most %d", kept>>20, slowLogMemory>>20)
			}
			wantWhole(t, log, source)
		})
	}
}

// wantWhole reads a log to its end, and fails the test unless it is what the source has written.
func wantWhole(t *testing.T, log *kit.LogStream, source *kit.LongLog) {
	t.Helper()
	got, size := sha256.New(), int64(0)
	for more := true; more; more = log.Next() {
		count, _ := log.Read.WriteTo(got)
		size += count
	}
	if err := log.Stream.Err(); err != nil {
		t.Error(err)
	}
	<-source.Ended
	if size != source.Written.Load() || string(got.Sum(nil)) != string(source.Sum.Sum(nil)) {
		t.Errorf("read %d bytes, the source wrote %d bytes, or their contents differ", size, source.Written.Load())
	}
}

// TestLogs_FitInMemoryWhenUnread leaves many logs unread at once, with both ways in which the
// service reads a log as its caller.
func TestLogs_FitInMemoryWhenUnread(t *testing.T) {
	t.Parallel()
	for _, writeAs := range []string{"token", "impersonate"} {
		t.Run(writeAs, func(t *testing.T) {
			t.Parallel()
			l, service := kit.NewLogging(t), kit.StartForCallers(t, "--write-as", writeAs)
			caller := kit.NewAccount(l.Ctx, t, l.Namespace, "reader")
			caller.MayReadLogs(l.Namespace)
			client := kit.CallingWith(t, service, harness.GRPC, caller.Token()).Pods
			kit.Eventually(l.Ctx, t, "the caller has permission to read logs", func() error { _, err := kit.ReadLog(l.Ctx, client, l.Request()); return err })
			before, all := kit.ResidentMemory(t, service.PID()), []*kit.LongLog{}
			for range slowLogs {
				source := newLongLog()
				l.Kubelet.Answer(l.Namespace, l.Pod, "main", source)
				kit.OpenLog(l.Ctx, t, client, l.Request()).Next()
				all = append(all, source)
			}
			for _, source := range all {
				l.UntilStandsStill(source)
			}
			kept := kit.ResidentMemory(t, service.PID()) - before
			t.Logf("%d unread logs use %d MiB", slowLogs, kept>>20)
			if kept > slowLogMemory {
				t.Errorf("%d MiB for %d unread logs, want at most %d", kept>>20, slowLogs, slowLogMemory>>20)
			}
		})
	}
}
