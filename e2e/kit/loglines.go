package kit

import (
	"context"
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeconnect/kubeconnect/e2e/kubelet"
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/internal/responses"
)

// LinesRequest is a request for the lines of several logs.
type LinesRequest = kubeconnectv1.GetLogLinesRequest

// LoggingPods are pods with logs, on a node of their own.
type LoggingPods struct {
	Ctx       context.Context
	T         *testing.T
	Kubelet   *kubelet.Kubelet
	Namespace string
}

// NewLoggingPods starts a kubelet without pods.
func NewLoggingPods(t *testing.T) *LoggingPods {
	t.Helper()
	l := &LoggingPods{Ctx: Deadline(t), T: t, Kubelet: kubelet.Start(t, Cluster(t).Client)}
	l.Namespace = NewNamespace(l.Ctx, t, Cluster(t))
	return l
}

// Start creates a pod with labels whose containers run, and returns their logs.
func (l *LoggingPods) Start(name string, labels Labels, containers ...string) []*kubelet.Log {
	l.T.Helper()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}, Spec: corev1.PodSpec{NodeName: l.Kubelet.Node}}
	var logs []*kubelet.Log
	var running []corev1.ContainerStatus
	for _, container := range containers {
		pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Name: container, Image: "example.com/main:1"})
		running, logs = append(running, Running(container, 0)), append(logs, &kubelet.Log{})
		l.Kubelet.Answer(l.Namespace, name, container, logs[len(logs)-1])
	}
	if _, err := Cluster(l.T).Client.CoreV1().Pods(l.Namespace).Create(l.Ctx, pod, metav1.CreateOptions{}); err != nil {
		l.T.Fatal(err)
	}
	SetContainers(l.Ctx, l.T, l.Namespace, name, running...)
	return logs
}

// Relabel sets the label app of a pod.
func (l *LoggingPods) Relabel(name, app string) {
	l.T.Helper()
	patch := fmt.Appendf(nil, `{"metadata":{"labels":{"app":%q}}}`, app)
	if _, err := Cluster(l.T).Client.CoreV1().Pods(l.Namespace).Patch(l.Ctx, name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		l.T.Fatal(err)
	}
}

// Delete deletes a pod at once.
func (l *LoggingPods) Delete(name string) {
	l.T.Helper()
	now := int64(0)
	if err := Cluster(l.T).Client.CoreV1().Pods(l.Namespace).Delete(l.Ctx, name, metav1.DeleteOptions{GracePeriodSeconds: &now}); err != nil {
		l.T.Fatal(err)
	}
}

// LineStream is the lines of several logs as a caller reads them.
type LineStream struct {
	t         *testing.T
	stream    *responses.Stream[kubeconnectv1.GetLogLinesResponse]
	First     *kubeconnectv1.GetLogLinesResponse // nil before the first response
	Lines     []*kubeconnectv1.LogLine           // that were not taken yet
	Events    []*kubeconnectv1.LogEvent          // that were not taken yet
	Positions map[string]*kubeconnectv1.LogPosition
}

// OpenLines opens a stream, which is closed when the test ends.
func OpenLines(ctx context.Context, t *testing.T, client PodClient, request *LinesRequest) *LineStream {
	t.Helper()
	stream, err := responses.Of(client.GetLogLines(ctx, request))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = stream.Close() })
	return &LineStream{t: t, stream: stream, Positions: map[string]*kubeconnectv1.LogPosition{}}
}

// Next receives a response that is not empty.
func (l *LineStream) Next() bool {
	l.t.Helper()
	if !l.stream.Receive() {
		return false
	}
	response := l.stream.Msg()
	if l.First == nil {
		l.First = response
	}
	l.Events, l.Lines = append(l.Events, response.GetEvents()...), append(l.Lines, response.GetLines()...)
	for _, line := range response.GetLines() {
		l.Positions[nameOfLog(line)] = &kubeconnectv1.LogPosition{
			Namespace: line.GetNamespace(), Pod: line.GetPod(), Container: line.GetContainer(), Time: line.GetTime(), Sequence: line.GetSequence(),
		}
	}
	for _, position := range response.GetPositions() {
		l.Positions[nameOfLog(position)] = position
	}
	return true
}

func nameOfLog(of interface {
	GetNamespace() string
	GetPod() string
	GetContainer() string
}) string {
	return of.GetNamespace() + "/" + of.GetPod() + "/" + of.GetContainer()
}

// Describe returns a line as people read it.
func Describe(line *kubeconnectv1.LogLine) string {
	text := fmt.Sprintf("%s/%s: %s", line.GetPod(), line.GetContainer(), line.GetText())
	if line.GetContext() {
		text = "(" + text + ")"
	}
	if line.GetGap() {
		text = "-- " + text
	}
	return text
}

// Want receives as many lines as given, and fails the test if they differ.
func (l *LineStream) Want(lines ...string) {
	l.t.Helper()
	for len(l.Lines) < len(lines) && l.Next() {
	}
	var got []string
	for _, line := range l.Lines[:min(len(lines), len(l.Lines))] {
		got = append(got, Describe(line))
	}
	if !slices.Equal(got, lines) {
		l.t.Fatalf("the lines are %q, want %q: %v", got, lines, l.stream.Err())
	}
	l.Lines = l.Lines[len(lines):]
}

// WantEvent receives until there is an event of a type, and returns it.
func (l *LineStream) WantEvent(kind kubeconnectv1.LogEventType, pod string) *kubeconnectv1.LogEvent {
	l.t.Helper()
	for {
		for i, event := range l.Events {
			if event.GetType() == kind && event.GetPod() == pod {
				l.Events = slices.Delete(l.Events, i, i+1)
				return event
			}
		}
		if !l.Next() {
			l.t.Fatalf("no event %v of pod %q, only %v: %v", kind, pod, l.Events, l.stream.Err())
		}
	}
}

// WantNamespaces receives until the stream covers the given namespaces only.
func (l *LineStream) WantNamespaces(namespaces ...string) {
	l.t.Helper()
	for l.Next() {
		if slices.Equal(l.stream.Msg().GetNamespaces(), namespaces) {
			return
		}
	}
	l.t.Fatalf("the stream never covers the namespaces %v: %v", namespaces, l.stream.Err())
}

// End receives up to the end, and returns the error of the stream.
func (l *LineStream) End() error {
	l.t.Helper()
	for l.Next() {
	}
	return l.stream.Err()
}

// ReadLines reads all lines of the logs of a selection.
func ReadLines(ctx context.Context, client PodClient, request *LinesRequest) (lines []*kubeconnectv1.LogLine, events []*kubeconnectv1.LogEvent, err error) {
	stream, err := responses.Of(client.GetLogLines(ctx, request))
	if err != nil {
		return nil, nil, err
	}
	defer stream.Close()
	for stream.Receive() {
		lines, events = append(lines, stream.Msg().GetLines()...), append(events, stream.Msg().GetEvents()...)
	}
	return lines, events, stream.Err()
}
