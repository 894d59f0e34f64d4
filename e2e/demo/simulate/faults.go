package simulate

import (
	"context"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
)

// FaultAnnotation names what is wrong with a pod: a key of faultsByName.
const FaultAnnotation = "demo.kubeconnect.dev/fault"

// faultsByName contains a function for each fault, which returns the next step of such a pod.
//
// The faults image-pull and fail begin before a pod runs. Such pods need the annotation
// nodes.kubeconnect.dev/foreign-status, so that bin/devcluster does not run them.
var faultsByName = map[string]func(pod *corev1.Pod, now metav1.Time) step{
	"crash":         crash.next,
	"out-of-memory": outOfMemory.next,
	"image-pull":    nextPull,
	"unready":       nextProbe,
	"fail":          nextFailure,
}

// step is what happens to a pod at one time.
type step struct {
	status *corev1.PodStatus // the new status; nil if it does not change
	events []event
	after  time.Duration // the time until the next step; 0 if the next change of the pod decides
}

// event is an event of a pod or its node.
type event struct {
	kind, reason, message string
	ofNode                bool
}

// faults plays the pods with faults. It is used by one goroutine.
type faults struct {
	*Simulation
	due map[types.UID]time.Time // when a pod's next step happens; without an entry, now
}

func newFaults(s *Simulation) *faults { return &faults{s, map[types.UID]time.Time{}} }

// play plays one step of each pod whose next step is due.
func (f *faults) play(ctx context.Context) error {
	var failures []error
	due := map[types.UID]time.Time{} // without the pods that are deleted
	for _, object := range f.pods.GetStore().List() {
		pod := object.(*corev1.Pod)
		next := faultsByName[pod.Annotations[FaultAnnotation]]
		if next == nil || pod.Spec.NodeName == "" || pod.DeletionTimestamp != nil {
			continue
		}
		at := f.due[pod.UID]
		if now := metav1.Now(); !now.Time.Before(at) {
			step := next(pod, now)
			if err := f.apply(ctx, pod, step); err != nil && !isExpected(err) {
				failures = append(failures, err)
			} else if err == nil {
				at = now.Add(step.after)
			}
		}
		due[pod.UID] = at
	}
	f.due = due
	return errors.Join(failures...)
}

// apply writes a step to the cluster.
func (f *faults) apply(ctx context.Context, pod *corev1.Pod, step step) error {
	if step.status != nil {
		changed := pod.DeepCopy()
		changed.Status = *step.status
		if _, err := f.client.CoreV1().Pods(pod.Namespace).UpdateStatus(ctx, changed, metav1.UpdateOptions{}); err != nil {
			return err
		}
	}
	for _, event := range step.events {
		f.recorderOf(event, pod).Event(objectOf(event, pod), event.kind, event.reason, event.message)
	}
	return nil
}

func (f *faults) recorderOf(event event, pod *corev1.Pod) record.EventRecorder {
	if event.ofNode {
		return f.recorder("kernel-monitor", pod.Spec.NodeName)
	}
	return f.recorder("kubelet", pod.Spec.NodeName)
}

func objectOf(event event, pod *corev1.Pod) *corev1.ObjectReference {
	if event.ofNode {
		return nodeReference(pod.Spec.NodeName)
	}
	return &corev1.ObjectReference{
		APIVersion: "v1", Kind: "Pod", Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID,
		FieldPath: "spec.containers{" + pod.Spec.Containers[0].Name + "}",
	}
}

// nodeReference returns a reference as kubelets write it: with the node's name as its UID.
func nodeReference(name string) *corev1.ObjectReference {
	return &corev1.ObjectReference{Kind: "Node", Name: name, UID: types.UID(name)}
}
