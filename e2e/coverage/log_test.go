package coverage_test

import (
	"context"
	"io"

	corev1 "k8s.io/api/core/v1"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/kit"
	"github.com/kubeconnect/kubeconnect/e2e/kubelet"
)

// log reads a pod's log, which is not an object and has a call of its own.
func (w *walk) log() {
	w.verb = "get"
	node := kubelet.Start(w.t, w.api.cluster.Client)
	twin, written := w.newTwin(), &kubelet.Log{}
	written.Write("one\n", "two\n", "no end of a line")
	node.Answer(w.namespace, twin.text("$(name)"), "main", written)
	params := w.about("create", twin)
	params.row.subresource = ""
	params.body = merged(w.object(twin, nil), map[string]any{"spec": map[string]any{"nodeName": node.Node}})
	if _, err := w.api.do(w.ctx, params); err != nil {
		w.t.Fatal(err)
	}
	w.sameLog("the complete log", succeeds, twin.text("$(name)"), &corev1.PodLogOptions{})
	w.sameLog("of a missing pod", fails, nobody, &corev1.PodLogOptions{})
	w.sameLog("of a missing container", fails, twin.text("$(name)"), &corev1.PodLogOptions{Container: nobody})
}

// sameLog compares the logs that both clients read.
func (w *walk) sameLog(description string, want expectation, pod string, options *corev1.PodLogOptions) {
	w.t.Helper()
	log, err := kit.ReadLog(w.ctx, w.pods, &kubeconnectv1.GetLogsRequest{Namespace: w.namespace, Name: pod, Container: options.Container})
	got := answer{Content: log}
	if err != nil {
		got = answer{Failure: failureThrough(err)}
	}
	log, err = w.logDirectly(w.ctx, pod, options)
	expected := answer{Content: log}
	if err != nil {
		expected = answer{Failure: failureOf(err)}
	}
	w.judge(description, want, expected, got, err)
}

func (w *walk) logDirectly(ctx context.Context, pod string, options *corev1.PodLogOptions) (string, error) {
	stream, err := w.api.cluster.Client.CoreV1().Pods(w.namespace).GetLogs(pod, options).Stream(ctx)
	if err != nil {
		return "", err
	}
	defer stream.Close()
	log, err := io.ReadAll(stream)
	return string(log), err
}
