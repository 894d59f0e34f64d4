package loglines

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/kubeconnect/kubeconnect/internal/faketime"
)

func TestRun_EndsAtItsLimits(t *testing.T) {
	for name, test := range map[string]struct {
		options Options
		want    []string
	}{
		"lines":          {Options{MaxLines: 3}, []string{"a/main: 0", "b/main: 0", "a/main: 1", "limit LimitReached"}},
		"bytes":          {Options{MaxBytes: 2}, []string{"a/main: 0", "b/main: 0", "limit LimitReached"}},
		"lines of a pod": {Options{MaxPodLines: 1}, []string{"a/main: 0", "b/main: 0", "a/main ended LimitReached", "a/ limit LimitReached", "b/main ended LimitReached", "b/ limit LimitReached"}},
	} {
		for _, follow := range []bool{false, true} {
			t.Run(fmt.Sprint(name, ", follow ", follow), func(t *testing.T) {
				faketime.Test(t, func(t *testing.T) {
					node := newFakeNode()
					for i := range 3 {
						node.write(a, fmt.Sprintf("%d\n", i))
						time.Sleep(time.Millisecond)
						node.write(b, fmt.Sprintf("%d\n", i))
						time.Sleep(time.Millisecond)
					}
					test.options.Follow = follow
					r := start(t, node, test.options)
					r.sync(a, b)
					r.want(append([]string{"a/main began", "b/main began"}, test.want...)...)
					if follow && test.options.MaxPodLines > 0 {
						r.stop()
						return
					}
					r.wantEnd()
				})
			})
		}
	}
}

func TestRun_RejectsTooManyLogs(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		r := start(t, newFakeNode(), Options{MaxLogs: 2})
		r.sync(a, b, c)
		var many *TooManyLogsError
		if err := <-r.ended; !errors.As(err, &many) || many.Logs != 3 {
			t.Errorf("the stream ends with %v", err)
		}
	})
}

func TestRun_ReadsALogWhenAnotherOneEnds(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		node := newFakeNode()
		r := start(t, node, Options{Follow: true, MaxLogs: 2})
		r.sync(a, b)
		r.want("a/main began", "b/main began")
		node.write(c, "1\n")
		r.report(c)
		r.want("c/main waits MaxLogs")
		node.end(a)
		r.report(a)
		r.want("a/main ended Error 0", "c/main began", "c/main: 1")
		r.stop()
	})
}

// TestRun_StopsReadingWhileTheClientDoes has pods that write more than the client reads.
func TestRun_StopsReadingWhileTheClientDoes(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		const pods, text = 100, 1 << 20
		node := newFakeNode()
		r := start(t, node, Options{Follow: true, MaxLogs: pods})
		var names []LogName
		for i := range pods {
			names = append(names, logOf(fmt.Sprint("pod-", i)))
		}
		r.sync(names...)
		r.settle()
		r.mu.Lock()
		r.blocked = make(chan struct{})
		r.mu.Unlock()
		for _, name := range names {
			node.write(name, strings.Repeat(strings.Repeat("x", 999)+"\n", text/1000))
		}
		r.settle()
		if limit := pods*3*MaxLineBytes + 2*maxBatchBytes; node.bytes > limit {
			t.Errorf("%d bytes are read for a client that does not read, want at most %d", node.bytes, limit)
		}
		close(r.blocked)
		r.settle()
		if want := pods * (text / 1000) * 1000; node.bytes < want {
			t.Errorf("%d bytes are read, want at least %d", node.bytes, want)
		}
		r.stop()
	})
}
