package main

import (
	"bytes"
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
)

// statusChange is a change of a pod's status. The next call of apply reverts it.
type statusChange struct {
	what  string
	apply func(*corev1.PodStatus)
}

var statusChanges = []statusChange{
	{"a pod's node is lost or back", changePhase},
	{"a pod's readiness has changed", changeReadiness},
}

// eventForms are the forms in which kubeconnect delivers a change.
var eventForms = []struct {
	name    string
	patches kubeconnectv1.PatchFormat
	first   string // the ratio to reach first
}{
	{"as a JSON patch", kubeconnectv1.PatchFormat_PATCH_FORMAT_JSON, "10×"},
	{"as a merge patch", kubeconnectv1.PatchFormat_PATCH_FORMAT_MERGE, "10×"},
	{"as a whole object", kubeconnectv1.PatchFormat_PATCH_FORMAT_UNSPECIFIED, ""},
}

// comparePatches compares the bytes of a change of a pod's status in a watch: as patches and as whole
// objects from the service, and as whole objects from the API server.
func (l *lab) comparePatches(ctx context.Context, results *report) error {
	return l.withCaller(ctx, func(c *caller) error {
		for _, change := range statusChanges {
			rows := make([]row, len(eventForms))
			for i, form := range eventForms {
				rows[i] = row{
					what: change.what + ", " + form.name, against: "API server watch, JSON",
					unit: "bytes", ratio: less, first: form.first,
				}
			}
			if err := l.fewRounds(func(int) error {
				ours, theirs, err := c.changeSizes(ctx, change)
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

// changeSizes changes the status of fanOutPods pods, and returns the bytes of an event for one of
// them: in each form of kubeconnect, and from the API server.
func (c *caller) changeSizes(ctx context.Context, change statusChange) (ours []float64, theirs float64, err error) {
	version, err := c.lab.cluster.version(ctx, fanOutNamespace)
	if err != nil {
		return nil, 0, err
	}
	var servers []server
	for _, form := range eventForms {
		servers = append(servers, c.service.watchedBy(jsonPodsIn(fanOutNamespace, form.patches)))
	}
	servers = append(servers, c.lab.cluster.watchedAsJSON(fanOutNamespace, version))
	watchers := make([]*audience, len(servers))
	for i, s := range servers {
		if watchers[i], err = s.open(ctx, 1, 1); err != nil {
			return nil, 0, err
		}
		defer watchers[i].close()
	}
	for _, watcher := range watchers[:len(eventForms)] {
		if err := watcher.until(ctx, 1, syncedOf); err != nil {
			return nil, 0, err
		}
	}
	before, want := make([]int64, len(watchers)), make([]int64, len(watchers))
	for i, w := range watchers {
		before[i], want[i] = w.sum(bytesOf), w.sum(changesOf)+fanOutPods
	}
	if err := c.lab.cluster.changeStatus(ctx, c.lab.pods, change.apply); err != nil {
		return nil, 0, err
	}
	each := make([]float64, len(watchers))
	for i, w := range watchers {
		if err := w.until(ctx, want[i], changesOf); err != nil {
			return nil, 0, err
		}
		each[i] = float64(w.sum(bytesOf)-before[i]) / fanOutPods
	}
	return each[:len(eventForms)], each[len(eventForms)], nil
}

// jsonPodsIn returns requests for the pods of a namespace as JSON.
func jsonPodsIn(namespace string, patches kubeconnectv1.PatchFormat) func(int) *kubeconnectv1.WatchRequest {
	return func(int) *kubeconnectv1.WatchRequest {
		return &kubeconnectv1.WatchRequest{
			Resource: "pods", Namespace: namespace, PatchFormat: patches, Encoding: kubeconnectv1.Encoding_ENCODING_JSON,
		}
	}
}

// watchedAsJSON returns the API server as a server of JSON watches of a namespace, from a version.
func (c *controlPlane) watchedAsJSON(namespace, version string) server {
	return server{dial: c.dial, watch: func(on *connection, _ int, t *tally) (*stream, error) {
		return c.watch(on, namespace, version, asJSON, t.countLines())
	}}
}

// countLines counts the events of a JSON watch. Each is a line.
func (t *tally) countLines() func([]byte) {
	return func(data []byte) {
		t.bytes.Add(int64(len(data)))
		t.changes.Add(int64(bytes.Count(data, []byte("\n"))))
	}
}

// changeStatus changes the status of fanOutPods pods, as a kubelet does. It changes them one after the
// other, because the API server terminates a watch that lags by more than a few changes.
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

// changePhase changes the phase to Unknown because the node is lost, or from Unknown to Running.
func changePhase(status *corev1.PodStatus) {
	if status.Phase == corev1.PodUnknown {
		status.Phase, status.Reason, status.Message = corev1.PodRunning, "", ""
		return
	}
	status.Phase, status.Reason = corev1.PodUnknown, "NodeLost"
	status.Message = "Node which was running the pod is unresponsive"
}

// changeReadiness changes whether the first container is ready.
func changeReadiness(status *corev1.PodStatus) {
	container := &status.ContainerStatuses[0]
	container.Ready = !container.Ready
	ready := corev1.ConditionFalse
	if container.Ready {
		ready = corev1.ConditionTrue
	}
	for i := range status.Conditions {
		switch condition := &status.Conditions[i]; condition.Type {
		case corev1.PodReady, corev1.ContainersReady:
			condition.Status, condition.LastTransitionTime = ready, metav1.Now()
		}
	}
}
