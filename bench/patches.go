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
	what string
	make func(*corev1.PodStatus)
}

var statusChanges = []statusChange{
	{"a pod's node is lost or back", changePhase},
	{"a pod's readiness has changed", changeReadiness},
}

// tellings are how kubeconnect tells of a change.
var tellings = []struct {
	how     string
	patches kubeconnectv1.PatchType
	first   string // the ratio to reach
}{
	{"as a JSON patch", kubeconnectv1.PatchType_PATCH_TYPE_JSON, "10×"},
	{"as a merge patch", kubeconnectv1.PatchType_PATCH_TYPE_MERGE, "10×"},
	{"as a whole object", kubeconnectv1.PatchType_PATCH_TYPE_UNSPECIFIED, ""},
}

// comparePatches compares how many bytes it takes to tell a watcher that the status of pods
// has changed: as patches, and as whole objects.
func (l *lab) comparePatches(ctx context.Context, results *report) error {
	return l.call(ctx, func(c *caller) error {
		for _, change := range statusChanges {
			rows := make([]row, len(tellings))
			for i, telling := range tellings {
				rows[i] = row{what: change.what + ", " + telling.how, against: "API server watch, JSON", unit: "bytes", ratio: less, first: telling.first}
			}
			if err := l.fewRounds(func(int) error {
				ours, theirs, err := c.tell(ctx, change)
				for i, size := range ours {
					rows[i].ours, rows[i].theirs = append(rows[i].ours, size), append(rows[i].theirs, theirs)
				}
				return err
			}); err != nil {
				return err
			}
			results.add(rows...)
		}
		return nil
	})
}

// tell has a change made to each of the pods that are changed in turn, and answers how many
// bytes one takes: in each way that kubeconnect tells it, and at the API server.
func (c *caller) tell(ctx context.Context, change statusChange) (ours []float64, theirs float64, err error) {
	version, err := c.lab.cluster.version(ctx, fanOutNamespace)
	if err != nil {
		return nil, 0, err
	}
	var servers []server
	for _, telling := range tellings {
		servers = append(servers, c.service.watchedBy(readableIn(fanOutNamespace, telling.patches)))
	}
	servers = append(servers, c.lab.cluster.watchedAsJSON(fanOutNamespace, version))
	watchers := make([]*audience, len(servers))
	for i, s := range servers {
		if watchers[i], err = s.open(ctx, 1, 1); err != nil {
			return nil, 0, err
		}
		defer watchers[i].close()
	}
	for _, watcher := range watchers[:len(tellings)] {
		if err := watcher.until(ctx, 1, syncedOf); err != nil {
			return nil, 0, err
		}
	}
	before, due := make([]int64, len(watchers)), make([]int64, len(watchers))
	for i, w := range watchers {
		before[i], due[i] = w.sum(bytesOf), w.sum(changesOf)+fanOutPods
	}
	if err := c.lab.cluster.changeStatus(ctx, c.lab.pods, change.make); err != nil {
		return nil, 0, err
	}
	each := make([]float64, len(watchers))
	for i, w := range watchers {
		if err := w.until(ctx, due[i], changesOf); err != nil {
			return nil, 0, err
		}
		each[i] = float64(w.sum(bytesOf)-before[i]) / fanOutPods
	}
	return each[:len(tellings)], each[len(tellings)], nil
}

// readableIn asks for the pods of a namespace as JSON.
func readableIn(namespace string, patches kubeconnectv1.PatchType) func(int) *kubeconnectv1.WatchRequest {
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
