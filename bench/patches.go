package main

import (
	"bytes"
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
)

// comparePatches compares how many bytes it takes to tell a watcher that the status of pods
// has changed: as patches, and as whole objects.
func (l *lab) comparePatches(ctx context.Context, results *report) error {
	const unit = "bytes"
	what := "a pod's readiness has changed, as a patch"
	direct := row{what: what, against: "API server watch, JSON", unit: unit, ratio: less, first: "10×"}
	whole := row{what: what, against: "kubeconnect, whole objects, JSON", unit: unit, ratio: less}
	err := l.call(ctx, func(c *caller) error {
		return l.fewRounds(func(int) error {
			told, err := c.tellReadiness(ctx)
			if err != nil {
				return err
			}
			direct.ours, direct.theirs = append(direct.ours, told.patches), append(direct.theirs, told.direct)
			whole.ours, whole.theirs = append(whole.ours, told.patches), append(whole.theirs, told.whole)
			return nil
		})
	})
	results.add(direct, whole)
	return err
}

// sizes are the bytes of one change on each stream.
type sizes struct{ patches, whole, direct float64 }

// tellReadiness tells watchers that the readiness of the pods has changed that are changed in turn.
func (c *caller) tellReadiness(ctx context.Context) (sizes, error) {
	version, err := c.lab.cluster.version(ctx, fanOutNamespace)
	if err != nil {
		return sizes{}, err
	}
	servers := []server{
		c.service.watchedBy(readableIn(fanOutNamespace, true)),
		c.service.watchedBy(readableIn(fanOutNamespace, false)),
		c.lab.cluster.watchedAsJSON(fanOutNamespace, version),
	}
	watchers := make([]*audience, len(servers))
	for i, s := range servers {
		if watchers[i], err = s.open(ctx, 1, 1); err != nil {
			return sizes{}, err
		}
		defer watchers[i].close()
	}
	for _, ours := range watchers[:2] {
		if err := ours.until(ctx, 1, syncedOf); err != nil {
			return sizes{}, err
		}
	}
	before, due := make([]int64, len(watchers)), make([]int64, len(watchers))
	for i, w := range watchers {
		before[i], due[i] = w.sum(bytesOf), w.sum(changesOf)+fanOutPods
	}
	if err := c.lab.cluster.changeReadiness(ctx, c.lab.pods); err != nil {
		return sizes{}, err
	}
	each := make([]float64, len(watchers))
	for i, w := range watchers {
		if err := w.until(ctx, due[i], changesOf); err != nil {
			return sizes{}, err
		}
		each[i] = float64(w.sum(bytesOf)-before[i]) / fanOutPods
	}
	return sizes{patches: each[0], whole: each[1], direct: each[2]}, nil
}

// readableIn asks for the pods of a namespace as JSON.
func readableIn(namespace string, patches bool) func(int) *kubeconnectv1.WatchRequest {
	return func(int) *kubeconnectv1.WatchRequest {
		return &kubeconnectv1.WatchRequest{
			Resource: "pods", Namespace: namespace, Patches: patches, Encoding: kubeconnectv1.Encoding_ENCODING_JSON,
		}
	}
}

// watchedAsJSON is the API server whose watchers each follow a namespace as JSON.
func (c *controlPlane) watchedAsJSON(namespace, version string) server {
	return server{dial: c.dial, watch: func(on *connection, _ int, t *tally) (*stream, error) {
		return c.watch(on, namespace, version, asJSON, t.countLines())
	}}
}

// countLines counts the events of a watch that is JSON: each is a line.
func (t *tally) countLines() func([]byte) {
	return func(data []byte) {
		t.bytes.Add(int64(len(data)))
		t.changes.Add(int64(bytes.Count(data, []byte("\n"))))
	}
}

// changeReadiness says of the pods that are changed in turn that their first container has
// become ready, or is not any more, as a kubelet says it.
func (c *controlPlane) changeReadiness(ctx context.Context, pods int) error {
	return inParallel(ctx, makers, fanOutPods, func(number int) error {
		at := placeOf(number, pods)
		client := c.client.CoreV1().Pods(at.namespace)
		pod, err := client.Get(ctx, at.name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		container := &pod.Status.ContainerStatuses[0]
		container.Ready = !container.Ready
		status := corev1.ConditionFalse
		if container.Ready {
			status = corev1.ConditionTrue
		}
		for i := range pod.Status.Conditions {
			switch condition := &pod.Status.Conditions[i]; condition.Type {
			case corev1.PodReady, corev1.ContainersReady:
				condition.Status, condition.LastTransitionTime = status, metav1.Now()
			}
		}
		_, err = client.UpdateStatus(ctx, pod, metav1.UpdateOptions{FieldManager: "kubelet"})
		return err
	})
}
