package e2e_test

import (
	"crypto/sha256"
	"fmt"
	"hash"
	"io"
	"math/rand/v2"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
)

const (
	// longLogBytes is more than the connections between the node and a caller, with their
	// flow-control windows, can buffer.
	longLogBytes = 64 << 20
	// slowLogs is the number of unread logs at one time, and slowLogMemory bounds the service's
	// memory for all of them.
	slowLogs      = 20
	slowLogMemory = 40 << 20
	// standsStill is the number of consecutive checks without progress after which a log counts as
	// blocked.
	standsStill = 20
)

// longLog writes a log of lines of any length, as fast as it is read.
type longLog struct {
	written atomic.Int64
	sum     hash.Hash // of all bytes written; owned by the handler until ended is closed
	ended   chan struct{}
}

func newLongLog() *longLog { return &longLog{sum: sha256.New(), ended: make(chan struct{})} }

func (l *longLog) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	defer close(l.ended)
	random := rand.New(rand.NewPCG(1, 2))
	for l.written.Load() < longLogBytes {
		line := make([]byte, 1+random.IntN(32<<10))
		for i := range line {
			line[i] = 'a' + byte(i%26)
		}
		line[len(line)-1] = '\n'
		count, err := io.MultiWriter(w, l.sum).Write(line)
		l.written.Add(int64(count))
		if err != nil {
			return
		}
	}
}

// TestLogs_WaitForASlowReader stops reading a log until its source is blocked: the service must not
// buffer more than the connections do, and must not lose anything.
func TestLogs_WaitForASlowReader(t *testing.T) {
	t.Parallel()
	for _, protocol := range harness.Protocols {
		t.Run(protocol.Name, func(t *testing.T) {
			t.Parallel()
			l, source, service := newLogging(t), newLongLog(), harness.StartService(t, cluster(t).Kubeconfig)
			client := harness.Dial(harness.HTTP2(t), service.Address, protocol).Pods
			if _, err := readLog(l.ctx, client, l.request()); err != nil { // connects
				t.Fatal(err)
			}
			l.kubelet.Answer(l.namespace, l.pod, "main", source)
			before := residentMemory(t, service.PID())
			log := openLog(l.ctx, t, client, l.request())
			log.next()
			l.untilStandsStill(source)
			kept := residentMemory(t, service.PID()) - before
			t.Logf("the source is blocked after %d MiB; the service uses %d MiB more", source.written.Load()>>20, kept>>20)
			if kept > slowLogMemory {
				t.Errorf("%d MiB for an unread log, want at most %d", kept>>20, slowLogMemory>>20)
			}
			wantWhole(t, log, source)
		})
	}
}

// untilStandsStill blocks until nothing more is written to a log that is not read.
func (l *logging) untilStandsStill(source *longLog) {
	l.t.Helper()
	last, looks := int64(0), 0
	eventually(l.ctx, l.t, "the log's source is blocked", func() error {
		now := source.written.Load()
		if looks++; now == 0 || now != last {
			last, looks = now, 0
		}
		if looks < standsStill {
			return fmt.Errorf("the source has written %d bytes", now)
		}
		return nil
	})
	if last >= longLogBytes {
		l.t.Errorf("the complete log was written although it is not read")
	}
}

// wantWhole reads a log to its end, and fails the test unless it is what the source has written.
func wantWhole(t *testing.T, log *logStream, source *longLog) {
	t.Helper()
	got, size := sha256.New(), int64(0)
	for more := true; more; more = log.next() {
		count, _ := log.read.WriteTo(got)
		size += count
	}
	if err := log.stream.Err(); err != nil {
		t.Error(err)
	}
	<-source.ended
	if size != source.written.Load() || string(got.Sum(nil)) != string(source.sum.Sum(nil)) {
		t.Errorf("read %d bytes, the source wrote %d bytes, or their contents differ", size, source.written.Load())
	}
}

// TestLogs_FitInMemoryWhenUnread leaves many logs unread at once, with both ways in which the
// service reads a log as its caller.
func TestLogs_FitInMemoryWhenUnread(t *testing.T) {
	t.Parallel()
	for _, writeAs := range []string{"token", "impersonate"} {
		t.Run(writeAs, func(t *testing.T) {
			t.Parallel()
			l, service := newLogging(t), startForCallers(t, "--write-as", writeAs)
			caller := newAccount(l.ctx, t, l.namespace, "reader")
			caller.mayReadLogs(l.namespace)
			client := callingWith(t, service, harness.GRPC, caller.token()).Pods
			eventually(l.ctx, t, "the caller has permission to read logs", func() error { _, err := readLog(l.ctx, client, l.request()); return err })
			before, all := residentMemory(t, service.PID()), []*longLog{}
			for range slowLogs {
				source := newLongLog()
				l.kubelet.Answer(l.namespace, l.pod, "main", source)
				openLog(l.ctx, t, client, l.request()).next()
				all = append(all, source)
			}
			for _, source := range all {
				l.untilStandsStill(source)
			}
			kept := residentMemory(t, service.PID()) - before
			t.Logf("%d unread logs use %d MiB", slowLogs, kept>>20)
			if kept > slowLogMemory {
				t.Errorf("%d MiB for %d unread logs, want at most %d", kept>>20, slowLogs, slowLogMemory>>20)
			}
		})
	}
}
