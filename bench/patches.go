package main

import (
	"bytes"
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
)

// statusChange is a change that is made to the status of pods, and the next time undone.
type statusChange struct {
	what  string
	first string // the ratio to reach
	make  func(*corev1.PodStatus)
}

var statusChanges = []statusChange{
	{"a pod's node is lost or back", "10×", changePhase},
	{"a pod's readiness has changed", "10×", changeReadiness},
}

// comparePatches compares how many bytes it takes to tell a watcher that the status of pods
// has changed: as patches, and as whole objects.
func (l *lab) comparePatches(ctx context.Context, results *report) error {
	const unit = "bytes"
	return l.call(ctx, func(c *caller) error {
		for _, change := range statusChanges {
			direct := row{what: change.what + ", as a patch", against: "API server watch, JSON", unit: unit, ratio: less, first: change.first}
			whole := row{what: "the same", against: "kubeconnect, whole objects, JSON", unit: unit, ratio: less}
			if err := l.fewRounds(func(int) error {
				told, err := c.tell(ctx, change)
				direct.ours, direct.theirs = append(direct.ours, told.patches), append(direct.theirs, told.direct)
				whole.ours, whole.theirs = append(whole.ours, told.patches), append(whole.theirs, told.whole)
				return err
			}); err != nil {
				return err
			}
			results.add(direct, whole)
		}
		return nil
	})
}

// sizes are the bytes of one change on each stream.
type sizes struct{ patches, whole, direct float64 }

// tell has a change made to each of the pods that are changed in turn, and tells watchers.
func (c *caller) tell(ctx context.Context, change statusChange) (sizes, error) {
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
	if err := c.lab.cluster.changeStatus(ctx, c.lab.pods, change.make); err != nil {
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

// changeStatus changes the status of each of the pods that are changed in turn, as a kubelet
// does. One comes after the other, for the API server cuts a watcher off that is behind by
// more than a few.
func (c *controlPlane) changeStatus(ctx context.Context, pods int, change func(*corev1.PodStatus)) error {
	return inParallel(ctx, 1, fanOutPods, func(number int) error {
		at := placeOf(number, pods)
		client := c.client.CoreV1().Pods(at.namespace)
		pod, err := client.Get(ctx, at.name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		change(&pod.Status)
		_, err = client.UpdateStatus(ctx, pod, metav1.UpdateOptions{FieldManager: "kubelet"})
		return err
	})
}

// changePhase says that nobody knows of the pod, or that it runs.
func changePhase(status *corev1.PodStatus) {
	if status.Phase == corev1.PodUnknown {
		status.Phase, status.Reason, status.Message = corev1.PodRunning, "", ""
		return
	}
	status.Phase, status.Reason = corev1.PodUnknown, "NodeLost"
	status.Message = "Node which was running the pod is unresponsive"
}

// changeReadiness says that the first container has become ready, or is not any more.
func changeReadiness(status *corev1.PodStatus) {
	container := &status.ContainerStatuses[0]
	container.Ready = !container.Ready
	is := corev1.ConditionFalse
	if container.Ready {
		is = corev1.ConditionTrue
	}
	for i := range status.Conditions {
		switch condition := &status.Conditions[i]; condition.Type {
		case corev1.PodReady, corev1.ContainersReady:
			condition.Status, condition.LastTransitionTime = is, metav1.Now()
		}
	}
}
