package kit

import (
	"bytes"
	"context"
	"fmt"
	"hash"
	"io"
	"math/rand/v2"
	"net/http"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeconnect/kubeconnect/e2e/kubelet"
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1/kubeconnectv1connect"
	"github.com/kubeconnect/kubeconnect/internal/responses"
)

const (
	// longLogBytes is more than the connections between the node and a caller, with their
	// flow-control windows, can buffer.
	longLogBytes = 64 << 20
	// standsStill is the number of consecutive checks without progress after which a log counts as
	// blocked.
	standsStill = 20
)

// LongLog writes a log of lines of any length, as fast as it is read.
type LongLog struct {
	Written atomic.Int64
	Sum     hash.Hash // of all bytes written; owned by the handler until ended is closed
	Ended   chan struct{}
}

// ServeHTTP implements http.Handler, as a kubelet that sends the log.
func (l *LongLog) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	defer close(l.Ended)
	random := rand.New(rand.NewPCG(1, 2))
	for l.Written.Load() < longLogBytes {
		line := make([]byte, 1+random.IntN(32<<10))
		for i := range line {
			line[i] = 'a' + byte(i%26)
		}
		line[len(line)-1] = '\n'
		count, err := io.MultiWriter(w, l.Sum).Write(line)
		l.Written.Add(int64(count))
		if err != nil {
			return
		}
	}
}

// maxPieceBytes bounds the part of a log in one message.
const maxPieceBytes = 64 << 10

type (
	PodClient  = kubeconnectv1connect.PodServiceClient
	LogRequest = kubeconnectv1.GetLogsRequest
)

// Logging is a pod with a log, on a node of its own.
type Logging struct {
	Ctx            context.Context
	T              *testing.T
	Kubelet        *kubelet.Kubelet
	Namespace, Pod string
	Log            *kubelet.Log
}

// NewLogging starts a kubelet and a pod on it, whose log the test writes.
func NewLogging(t *testing.T) *Logging {
	t.Helper()
	l := &Logging{Ctx: Deadline(t), T: t, Kubelet: kubelet.Start(t, Cluster(t).Client), Pod: "one", Log: &kubelet.Log{}}
	l.Namespace = NewNamespace(l.Ctx, t, Cluster(t))
	StartPod(l.Ctx, t, l.Kubelet, l.Namespace, l.Pod, "main")
	l.Kubelet.Answer(l.Namespace, l.Pod, "main", l.Log)
	return l
}

// StartPod creates a pod with some containers on a node.
func StartPod(ctx context.Context, t *testing.T, on *kubelet.Kubelet, namespace, name string, containers ...string) {
	t.Helper()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PodSpec{NodeName: on.Node}}
	for _, container := range containers {
		pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Name: container, Image: "example.com/main:1"})
	}
	if _, err := Cluster(t).Client.CoreV1().Pods(namespace).Create(ctx, pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// Request returns a request for the log.
func (l *Logging) Request() *LogRequest { return &LogRequest{Namespace: l.Namespace, Name: l.Pod} }

// Following returns a request for the log and for all that is appended to it.
func (l *Logging) Following() *LogRequest {
	return &LogRequest{Namespace: l.Namespace, Name: l.Pod, Follow: true}
}

// UntilClosed blocks until the node has no open request for the log.
func (l *Logging) UntilClosed() {
	l.T.Helper()
	Eventually(l.Ctx, l.T, "the log's requests to the node have ended", func() error {
		if open := l.Kubelet.Open(l.Namespace, l.Pod, "main"); open > 0 {
			return fmt.Errorf("%d requests are open", open)
		}
		return nil
	})
}

// LogStream is a log as a caller reads it.
type LogStream struct {
	t      *testing.T
	Stream *responses.Stream[kubeconnectv1.GetLogsResponse]
	Read   bytes.Buffer
}

// OpenLog opens a log, which is closed when the test ends.
func OpenLog(ctx context.Context, t *testing.T, client PodClient, request *LogRequest) *LogStream {
	t.Helper()
	stream, err := responses.Of(client.GetLogs(ctx, request))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = stream.Close() })
	return &LogStream{t: t, Stream: stream}
}

// Next reads a message, which is empty when there are no new lines.
func (l *LogStream) Next() bool {
	l.t.Helper()
	if !l.Stream.Receive() {
		return false
	}
	piece := l.Stream.Msg().GetData()
	if len(piece) > maxPieceBytes {
		l.t.Errorf("a message has %d bytes", len(piece))
	}
	l.Read.Write(piece)
	return true
}

// Want reads as many bytes as text has, and fails the test if they differ from text.
func (l *LogStream) Want(text string) {
	l.t.Helper()
	for l.Read.Len() < len(text) && l.Next() {
	}
	if got := string(l.Read.Next(len(text))); got != text {
		l.t.Fatalf("the log continues with %q, want %q: %v", got, text, l.Stream.Err())
	}
}

// End reads up to the end, and returns the error of the stream.
func (l *LogStream) End() error {
	l.t.Helper()
	for l.Next() {
	}
	return l.Stream.Err()
}

// ReadLog reads a log to its end.
func ReadLog(ctx context.Context, client PodClient, request *LogRequest) (string, error) {
	stream, err := responses.Of(client.GetLogs(ctx, request))
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

// FollowedBy follows the log as soon as the caller's permissions are effective, and reads its first
// line.
func (l *Logging) FollowedBy(client PodClient) *LogStream {
	l.T.Helper()
	l.Log.Write("first\n")
	Eventually(l.Ctx, l.T, "the caller has permission to read the log", func() error { _, err := ReadLog(l.Ctx, client, l.Request()); return err })
	log := OpenLog(l.Ctx, l.T, client, l.Following())
	log.Want("first\n")
	return log
}

// UntilStandsStill blocks until nothing more is written to a log that is not read.
func (l *Logging) UntilStandsStill(source *LongLog) {
	l.T.Helper()
	untilStandStill(l.Ctx, l.T, source)
}

// UntilStandStill blocks until nothing more is written to any of the logs, which are not read.
func (l *LoggingPods) UntilStandStill(sources ...*LongLog) {
	l.T.Helper()
	untilStandStill(l.Ctx, l.T, sources...)
}

func untilStandStill(ctx context.Context, t *testing.T, sources ...*LongLog) {
	t.Helper()
	last, looks := int64(0), 0
	Eventually(ctx, t, "the logs' sources are blocked", func() error {
		now, begun := int64(0), true
		for _, source := range sources {
			written := source.Written.Load()
			now, begun = now+written, begun && written > 0
		}
		if looks++; !begun || now != last {
			last, looks = now, 0
		}
		if looks < standsStill {
			return fmt.Errorf("the sources have written %d bytes", now)
		}
		return nil
	})
	if last >= longLogBytes*int64(len(sources)) {
		t.Error("the complete logs were written although they are not read")
	}
}
