package queries_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect/v2"
	"google.golang.org/protobuf/types/known/timestamppb"
	"k8s.io/utils/ptr"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
	"github.com/kubeconnect/kubeconnect/e2e/kubelet"
)

// logsOverEachProtocol is kit.OverEachProtocol for logs, each of a pod of its own.
func logsOverEachProtocol(t *testing.T, test func(*kit.Logging, kit.PodClient)) {
	t.Helper()
	service := harness.StartService(t, kit.Cluster(t).Kubeconfig)
	for _, protocol := range harness.Protocols {
		t.Run(protocol.Name, func(t *testing.T) {
			t.Parallel()
			test(kit.NewLogging(t), harness.Dial(harness.HTTP2(t), service.Address, protocol).Pods)
		})
	}
}

func TestLogs_AreReadToTheirEnd(t *testing.T) {
	t.Parallel()
	logsOverEachProtocol(t, func(l *kit.Logging, client kit.PodClient) {
		for _, text := range []string{"", "one\n", "one\ntwo\n\nno end of a line"} {
			l.Log = &kubelet.Log{}
			l.Log.Write(text)
			l.Kubelet.Answer(l.Namespace, l.Pod, "main", l.Log)
			if got, err := kit.ReadLog(l.Ctx, client, l.Request()); got != text || err != nil {
				l.T.Errorf("log %q, want %q: %v", got, text, err)
			}
		}
	})
}

// TestLogs_AreFollowedLineByLine writes each line only when the previous one has been delivered:
// the service must not wait for what follows, not even for the end of a line.
func TestLogs_AreFollowedLineByLine(t *testing.T) {
	t.Parallel()
	logsOverEachProtocol(t, func(l *kit.Logging, client kit.PodClient) {
		l.Log.Write("before\n")
		log := kit.OpenLog(l.Ctx, l.T, client, l.Following())
		log.Want("before\n")
		for i := range 20 {
			line := fmt.Sprintf("line %d\n", i)
			l.Log.Write(line)
			log.Want(line)
		}
		l.Log.Write("password: ")
		log.Want("password: ")
		l.Log.Write("wrong\nbye")
		l.Log.End()
		log.Want("wrong\nbye")
		if err := log.End(); err != nil || log.Read.Len() > 0 {
			l.T.Errorf("the log ends with %v after %q", err, log.Read.String())
		}
	})
}

// TestLogs_DeliverBytesUnchanged writes in pieces that end inside characters and lines.
func TestLogs_DeliverBytesUnchanged(t *testing.T) {
	t.Parallel()
	random := make([]byte, 300_000)
	for i := range random {
		random[i] = byte(rand.Uint32())
	}
	for name, text := range map[string]string{
		"in many alphabets":        strings.Repeat("Grüße, 世界 🌍\r\n", 40),
		"not text":                 "\xff\xfe\x00\n\xc3\n" + string(random),
		"a line of a MiB":          "short\n" + strings.Repeat("0123456789abcde ", 1<<16) + "\nshort\n",
		"a MiB without a line end": strings.Repeat("0123456789abcde ", 1<<16),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			logsOverEachProtocol(t, func(l *kit.Logging, client kit.PodClient) {
				log := kit.OpenLog(l.Ctx, l.T, client, l.Following())
				size := max(1, len(text)/200)
				for rest := text; len(rest) > 0; rest = rest[min(size, len(rest)):] {
					l.Log.Write(rest[:min(size, len(rest))])
				}
				l.Log.End()
				if err := log.End(); err != nil || log.Read.String() != text {
					l.T.Errorf("read %d bytes, %d were written, or their contents differ: %v", log.Read.Len(), len(text), err)
				}
			})
		})
	}
}

// TestLogs_PassOptionsToTheNode checks the log, and the request to the node.
func TestLogs_PassOptionsToTheNode(t *testing.T) {
	t.Parallel()
	now := time.Now().Truncate(time.Second)
	logsOverEachProtocol(t, func(l *kit.Logging, client kit.PodClient) {
		l.Log.Previous = &kubelet.Log{}
		l.Log.Previous.Write("run before\n")
		l.Log.WriteAt(now.Add(-2*time.Hour), "Stdout", "long ago\n")
		l.Log.WriteAt(now.Add(-time.Hour), "Stderr", "an hour ago\n")
		l.Log.WriteAt(now, "Stdout", "now\n")
		l.Log.End()
		for name, test := range map[string]struct {
			change  func(*kit.LogRequest)
			want    string
			options string
		}{
			"no options":    {func(*kit.LogRequest) {}, "long ago\nan hour ago\nnow\n", ""},
			"the container": {func(r *kit.LogRequest) { r.Container = "main" }, "long ago\nan hour ago\nnow\n", ""},
			"follow":        {func(r *kit.LogRequest) { r.Follow = true }, "long ago\nan hour ago\nnow\n", "follow=true"},
			"previous":      {func(r *kit.LogRequest) { r.Previous = true }, "run before\n", "previous=true"},
			"since_seconds": {func(r *kit.LogRequest) { r.SinceSeconds = ptr.To(int64(5400)) }, "an hour ago\nnow\n", "sinceSeconds=5400"},
			"since_time": {
				func(r *kit.LogRequest) { r.SinceTime = timestamppb.New(now.Add(-time.Minute)) }, "now\n",
				"sinceTime=" + strings.ReplaceAll(now.Add(-time.Minute).UTC().Format(time.RFC3339), ":", "%3A"),
			},
			"tail_lines":    {func(r *kit.LogRequest) { r.TailLines = ptr.To(int64(2)) }, "an hour ago\nnow\n", "tailLines=2"},
			"no tail_lines": {func(r *kit.LogRequest) { r.TailLines = ptr.To(int64(0)) }, "", "tailLines=0"},
			"limit_bytes":   {func(r *kit.LogRequest) { r.LimitBytes = ptr.To(int64(12)) }, "long ago\nan ", "limitBytes=12"},
			"timestamps": {
				func(r *kit.LogRequest) { r.Timestamps, r.TailLines = true, ptr.To(int64(1)) },
				now.UTC().Format(time.RFC3339Nano) + " now\n", "tailLines=1&timestamps=true",
			},
		} {
			l.T.Run(name, func(t *testing.T) {
				request := l.Request()
				test.change(request)
				got, err := kit.ReadLog(l.Ctx, client, request)
				if got != test.want || err != nil {
					t.Errorf("log %q, want %q: %v", got, test.want, err)
				}
				all := l.Kubelet.Asked(l.Namespace, l.Pod, "main")
				if options := all[len(all)-1].Encode(); options != test.options {
					t.Errorf("options to the node %q, want %q", options, test.options)
				}
			})
		}
	})
}

// TestLogs_CloseAtTheNodeWhenTheCallerCancels cancels a log without lines, and one that is written
// all the time and not read.
func TestLogs_CloseAtTheNodeWhenTheCallerCancels(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{"silent": "", "not read": strings.Repeat("line\n", 1<<20)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			logsOverEachProtocol(t, func(l *kit.Logging, client kit.PodClient) {
				l.Log.Write("first\n", text)
				ctx, leave := context.WithCancel(l.Ctx)
				defer leave()
				kit.OpenLog(ctx, l.T, client, l.Following()).Want("first\n")
				leave()
				l.UntilClosed()
			})
		})
	}
}

func TestLogs_EndWithTheService(t *testing.T) {
	t.Parallel()
	for _, protocol := range harness.Protocols {
		t.Run(protocol.Name, func(t *testing.T) {
			t.Parallel()
			l, service := kit.NewLogging(t), harness.StartService(t, kit.Cluster(t).Kubeconfig)
			l.Log.Write("first\n")
			log := kit.OpenLog(l.Ctx, t, harness.Dial(harness.HTTP2(t), service.Address, protocol).Pods, l.Following())
			log.Want("first\n")
			if err := service.Stop(); err != nil {
				t.Error(err)
			}
			kit.WantError(t, log.End(), connect.CodeUnavailable, "shutting down")
			l.UntilClosed()
		})
	}
}
