package e2e_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/timestamppb"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1/kubeconnectv1connect"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kubelet"
)

// maxPieceBytes bounds the part of a log in one message.
const maxPieceBytes = 64 << 10

type (
	podClient  = kubeconnectv1connect.PodServiceClient
	logRequest = kubeconnectv1.GetLogsRequest
)

// logging is a pod with a log, on a node of its own.
type logging struct {
	ctx            context.Context
	t              *testing.T
	kubelet        *kubelet.Kubelet
	namespace, pod string
	log            *kubelet.Log
}

func newLogging(t *testing.T) *logging {
	t.Helper()
	l := &logging{ctx: deadline(t), t: t, kubelet: kubelet.Start(t, cluster(t).Client), pod: "one", log: &kubelet.Log{}}
	l.namespace = newNamespace(l.ctx, t, cluster(t))
	startPod(l.ctx, t, l.kubelet, l.namespace, l.pod, "main")
	l.kubelet.Answer(l.namespace, l.pod, "main", l.log)
	return l
}

// startPod creates a pod with some containers on a node.
func startPod(ctx context.Context, t *testing.T, on *kubelet.Kubelet, namespace, name string, containers ...string) {
	t.Helper()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PodSpec{NodeName: on.Node}}
	for _, container := range containers {
		pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Name: container, Image: "example.com/main:1"})
	}
	if _, err := cluster(t).Client.CoreV1().Pods(namespace).Create(ctx, pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func (l *logging) request() *logRequest { return &logRequest{Namespace: l.namespace, Name: l.pod} }

func (l *logging) following() *logRequest {
	return &logRequest{Namespace: l.namespace, Name: l.pod, Follow: true}
}

// untilClosed blocks until the node has no open request for the log.
func (l *logging) untilClosed() {
	l.t.Helper()
	eventually(l.ctx, l.t, "the log's requests to the node have ended", func() error {
		if open := l.kubelet.Open(l.namespace, l.pod, "main"); open > 0 {
			return fmt.Errorf("%d requests are open", open)
		}
		return nil
	})
}

// logStream is a log as a caller reads it.
type logStream struct {
	t      *testing.T
	stream *connect.ServerStreamForClient[kubeconnectv1.GetLogsResponse]
	read   bytes.Buffer
}

func openLog(ctx context.Context, t *testing.T, client podClient, request *logRequest) *logStream {
	t.Helper()
	stream, err := client.GetLogs(ctx, request)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = stream.Close() })
	return &logStream{t: t, stream: stream}
}

// next reads a message, which is empty when there are no new lines.
func (l *logStream) next() bool {
	l.t.Helper()
	if !l.stream.Receive() {
		return false
	}
	piece := l.stream.Msg().GetData()
	if len(piece) > maxPieceBytes {
		l.t.Errorf("a message has %d bytes", len(piece))
	}
	l.read.Write(piece)
	return true
}

// want reads as many bytes as text has, and fails the test if they differ from text.
func (l *logStream) want(text string) {
	l.t.Helper()
	for l.read.Len() < len(text) && l.next() {
	}
	if got := string(l.read.Next(len(text))); got != text {
		l.t.Fatalf("the log continues with %q, want %q: %v", got, text, l.stream.Err())
	}
}

// end reads up to the end, and returns the error of the stream.
func (l *logStream) end() error {
	l.t.Helper()
	for l.next() {
	}
	return l.stream.Err()
}

// readLog reads a log to its end.
func readLog(ctx context.Context, client podClient, request *logRequest) (string, error) {
	stream, err := client.GetLogs(ctx, request)
	if err != nil {
		return "", err
	}
	defer stream.Close()
	var log bytes.Buffer
	for stream.Receive() {
		log.Write(stream.Msg().GetData())
	}
	return log.String(), stream.Err()
}

// logsOverEachProtocol is overEachProtocol for logs, each of a pod of its own.
func logsOverEachProtocol(t *testing.T, test func(*logging, podClient)) {
	t.Helper()
	service := harness.StartService(t, cluster(t).Kubeconfig)
	for _, protocol := range harness.Protocols {
		t.Run(protocol.Name, func(t *testing.T) {
			t.Parallel()
			test(newLogging(t), harness.Dial(harness.HTTP2(t), service.Address, protocol).Pods)
		})
	}
}

func TestLogs_AreReadToTheirEnd(t *testing.T) {
	t.Parallel()
	logsOverEachProtocol(t, func(l *logging, client podClient) {
		for _, text := range []string{"", "one\n", "one\ntwo\n\nno end of a line"} {
			l.log = &kubelet.Log{}
			l.log.Write(text)
			l.kubelet.Answer(l.namespace, l.pod, "main", l.log)
			if got, err := readLog(l.ctx, client, l.request()); got != text || err != nil {
				l.t.Errorf("log %q, want %q: %v", got, text, err)
			}
		}
	})
}

// TestLogs_AreFollowedLineByLine writes each line only when the previous one has been delivered:
// the service must not wait for what follows, not even for the end of a line.
func TestLogs_AreFollowedLineByLine(t *testing.T) {
	t.Parallel()
	logsOverEachProtocol(t, func(l *logging, client podClient) {
		l.log.Write("before\n")
		log := openLog(l.ctx, l.t, client, l.following())
		log.want("before\n")
		for i := range 20 {
			line := fmt.Sprintf("line %d\n", i)
			l.log.Write(line)
			log.want(line)
		}
		l.log.Write("password: ")
		log.want("password: ")
		l.log.Write("wrong\nbye")
		l.log.End()
		log.want("wrong\nbye")
		if err := log.end(); err != nil || log.read.Len() > 0 {
			l.t.Errorf("the log ends with %v after %q", err, log.read.String())
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
			logsOverEachProtocol(t, func(l *logging, client podClient) {
				log := openLog(l.ctx, l.t, client, l.following())
				size := max(1, len(text)/200)
				for rest := text; len(rest) > 0; rest = rest[min(size, len(rest)):] {
					l.log.Write(rest[:min(size, len(rest))])
				}
				l.log.End()
				if err := log.end(); err != nil || log.read.String() != text {
					l.t.Errorf("read %d bytes, %d were written, or their contents differ: %v", log.read.Len(), len(text), err)
				}
			})
		})
	}
}

// TestLogs_PassOptionsToTheNode checks the log, and the request to the node.
func TestLogs_PassOptionsToTheNode(t *testing.T) {
	t.Parallel()
	now := time.Now().Truncate(time.Second)
	logsOverEachProtocol(t, func(l *logging, client podClient) {
		l.log.Previous = &kubelet.Log{}
		l.log.Previous.Write("run before\n")
		l.log.WriteAt(now.Add(-2*time.Hour), "Stdout", "long ago\n")
		l.log.WriteAt(now.Add(-time.Hour), "Stderr", "an hour ago\n")
		l.log.WriteAt(now, "Stdout", "now\n")
		l.log.End()
		for name, test := range map[string]struct {
			change  func(*logRequest)
			want    string
			options string
		}{
			"no options":    {func(*logRequest) {}, "long ago\nan hour ago\nnow\n", ""},
			"the container": {func(r *logRequest) { r.Container = "main" }, "long ago\nan hour ago\nnow\n", ""},
			"follow":        {func(r *logRequest) { r.Follow = true }, "long ago\nan hour ago\nnow\n", "follow=true"},
			"previous":      {func(r *logRequest) { r.Previous = true }, "run before\n", "previous=true"},
			"since_seconds": {func(r *logRequest) { r.SinceSeconds = ptr.To(int64(5400)) }, "an hour ago\nnow\n", "sinceSeconds=5400"},
			"since_time": {
				func(r *logRequest) { r.SinceTime = timestamppb.New(now.Add(-time.Minute)) }, "now\n",
				"sinceTime=" + strings.ReplaceAll(now.Add(-time.Minute).UTC().Format(time.RFC3339), ":", "%3A"),
			},
			"tail_lines":    {func(r *logRequest) { r.TailLines = ptr.To(int64(2)) }, "an hour ago\nnow\n", "tailLines=2"},
			"no tail_lines": {func(r *logRequest) { r.TailLines = ptr.To(int64(0)) }, "", "tailLines=0"},
			"limit_bytes":   {func(r *logRequest) { r.LimitBytes = ptr.To(int64(12)) }, "long ago\nan ", "limitBytes=12"},
			"timestamps": {
				func(r *logRequest) { r.Timestamps, r.TailLines = true, ptr.To(int64(1)) },
				now.UTC().Format(time.RFC3339Nano) + " now\n", "tailLines=1&timestamps=true",
			},
		} {
			l.t.Run(name, func(t *testing.T) {
				request := l.request()
				test.change(request)
				got, err := readLog(l.ctx, client, request)
				if got != test.want || err != nil {
					t.Errorf("log %q, want %q: %v", got, test.want, err)
				}
				all := l.kubelet.Asked(l.namespace, l.pod, "main")
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
			logsOverEachProtocol(t, func(l *logging, client podClient) {
				l.log.Write("first\n", text)
				ctx, leave := context.WithCancel(l.ctx)
				defer leave()
				openLog(ctx, l.t, client, l.following()).want("first\n")
				leave()
				l.untilClosed()
			})
		})
	}
}

func TestLogs_EndWithTheService(t *testing.T) {
	t.Parallel()
	for _, protocol := range harness.Protocols {
		t.Run(protocol.Name, func(t *testing.T) {
			t.Parallel()
			l, service := newLogging(t), harness.StartService(t, cluster(t).Kubeconfig)
			l.log.Write("first\n")
			log := openLog(l.ctx, t, harness.Dial(harness.HTTP2(t), service.Address, protocol).Pods, l.following())
			log.want("first\n")
			if err := service.Stop(); err != nil {
				t.Error(err)
			}
			wantError(t, log.end(), connect.CodeUnavailable, "shutting down")
			l.untilClosed()
		})
	}
}
