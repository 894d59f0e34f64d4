package e2e_test

import (
	"bytes"
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1/kubeconnectv1connect"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kubelet"
)

type podClient = kubeconnectv1connect.PodServiceClient

// readLog reads a log to its end.
func readLog(ctx context.Context, client podClient, request *kubeconnectv1.GetLogsRequest) ([]byte, error) {
	stream, err := client.GetLogs(ctx, request)
	if err != nil {
		return nil, err
	}
	defer stream.Close()
	var log bytes.Buffer
	for stream.Receive() {
		log.Write(stream.Msg().GetData())
	}
	return log.Bytes(), stream.Err()
}

// logging is a pod with a log, on a node of its own.
type logging struct {
	ctx       context.Context
	t         *testing.T
	kubelet   *kubelet.Kubelet
	namespace string
	pod       string
	log       *kubelet.Log
}

func newLogging(ctx context.Context, t *testing.T) *logging {
	t.Helper()
	l := &logging{ctx, t, kubelet.Start(t, cluster(t).Client), newNamespace(ctx, t, cluster(t)), "one", &kubelet.Log{}}
	l.start(l.pod, "main")
	l.kubelet.Answer(l.namespace, l.pod, "main", l.log)
	return l
}

// start makes a pod with some containers on the node.
func (l *logging) start(name string, containers ...string) {
	l.t.Helper()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PodSpec{NodeName: l.kubelet.Node}}
	for _, container := range containers {
		pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Name: container, Image: "example.com/main:1"})
	}
	if _, err := cluster(l.t).Client.CoreV1().Pods(l.namespace).Create(l.ctx, pod, metav1.CreateOptions{}); err != nil {
		l.t.Fatal(err)
	}
}

func (l *logging) request(change func(*kubeconnectv1.GetLogsRequest)) *kubeconnectv1.GetLogsRequest {
	request := &kubeconnectv1.GetLogsRequest{Namespace: l.namespace, Name: l.pod}
	change(request)
	return request
}

func whole(*kubeconnectv1.GetLogsRequest) {}

func TestALogIsReadWhole(t *testing.T) {
	t.Parallel()
	overEachProtocolWithPods(t, func(t *testing.T, client podClient) {
		l := newLogging(deadline(t), t)
		l.log.Write("one\n", "two\n", "no end of a line")
		got, err := readLog(l.ctx, client, l.request(whole))
		if err != nil || string(got) != "one\ntwo\nno end of a line" {
			t.Errorf("the log is %q, %v", got, err)
		}
	})
}

// overEachProtocolWithPods is overEachProtocol for logs.
func overEachProtocolWithPods(t *testing.T, test func(*testing.T, podClient)) {
	t.Helper()
	service := harness.StartService(t, cluster(t).Kubeconfig)
	for _, protocol := range harness.Protocols {
		t.Run(protocol.Name, func(t *testing.T) {
			t.Parallel()
			test(t, harness.Dial(harness.HTTP2(t), service.Address, protocol).Pods)
		})
	}
}
