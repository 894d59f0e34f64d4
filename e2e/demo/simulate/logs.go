package simulate

import (
	"context"
	"fmt"
	"hash/fnv"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubeconnect/kubeconnect/e2e/kubelet"
)

// podOf returns a pod from the cache; nil if it does not exist.
func (s *Simulation) podOf(namespace, name string) *corev1.Pod {
	object, exists, err := s.pods.GetStore().GetByKey(namespace + "/" + name)
	if err != nil || !exists {
		return nil
	}
	return object.(*corev1.Pod)
}

func (s *Simulation) serveLog(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("container")
	pod := s.podOf(r.PathValue("namespace"), r.PathValue("pod"))
	if pod == nil {
		http.Error(w, "the pod does not exist", http.StatusNotFound)
		return
	}
	current, err := lastRun(pod, name)
	if r.URL.Query().Get("previous") == "true" {
		current, err = previousRun(pod, name)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.send(w, r, newOutput(pod, name), current)
}

// send sends the log of one run. While the container runs, new lines are written until the request
// or the run ends.
func (s *Simulation) send(w http.ResponseWriter, r *http.Request, output output, current run) {
	query := r.URL.Query()
	query.Del("previous") // the run is chosen already
	r.URL.RawQuery = query.Encode()
	log := new(kubelet.Log)
	if !current.end.IsZero() {
		output.writeAll(log, current)
		log.End()
		log.ServeHTTP(w, r)
		return
	}
	s.whileWritten(r.Context(), log, output, current, func() { log.ServeHTTP(w, r) })
}

// whileWritten calls read while the lines of a run, which has not ended, are written to a log: those before now at
// once, and the others at their times.
func (s *Simulation) whileWritten(ctx context.Context, log *kubelet.Log, output output, current run, read func()) {
	next := output.writeBefore(log, current, time.Now())
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.write(ctx, log, output, current, next)
	}()
	defer func() { cancel(); <-ended }()
	read()
}

// write writes the lines of a run from an index on, at their times, and ends the log with the run.
func (s *Simulation) write(ctx context.Context, log *kubelet.Log, output output, current run, index int) {
	defer log.End()
	for ; ; index++ {
		line := output.line(current, index)
		timer := time.NewTimer(time.Until(line.at))
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
		if exit := s.exitOf(output, current); exit != nil {
			output.writeLast(log, *exit)
			return
		}
		log.WriteAt(line.at, line.stream, line.text)
	}
}

// exitOf returns the end of a run; nil while it lasts.
func (s *Simulation) exitOf(output output, current run) *run {
	pod := s.podOf(output.namespace, output.pod)
	if pod == nil {
		return &run{} // deleted
	}
	latest, err := lastRun(pod, output.container)
	if err == nil && latest.start.Equal(current.start) {
		if latest.end.IsZero() {
			return nil
		}
		return &latest
	}
	previous, _ := previousRun(pod, output.container)
	return &previous
}

// run is the time in which a container ran.
type run struct {
	start, end time.Time // end is zero while the container runs
	reason     string    // why it ended
}

func runUntil(ended *corev1.ContainerStateTerminated) run {
	return run{start: ended.StartedAt.Time, end: ended.FinishedAt.Time, reason: ended.Reason}
}

// lastRun returns the run whose log a kubelet sends: the current one, or the one that ended last.
func lastRun(pod *corev1.Pod, container string) (run, error) {
	status := statusOf(pod, container)
	switch {
	case status.State.Running != nil:
		return run{start: status.State.Running.StartedAt.Time}, nil
	case status.State.Terminated != nil:
		return runUntil(status.State.Terminated), nil
	case status.LastTerminationState.Terminated != nil:
		return runUntil(status.LastTerminationState.Terminated), nil
	}
	return run{}, fmt.Errorf("container %q in pod %q is waiting to start: %s", container, pod.Name, waitingFor(status))
}

func waitingFor(status corev1.ContainerStatus) string {
	if status.State.Waiting == nil {
		return "ContainerCreating"
	}
	if status.State.Waiting.Reason == "ImagePullBackOff" {
		return "trying and failing to pull image"
	}
	return status.State.Waiting.Reason
}

func previousRun(pod *corev1.Pod, container string) (run, error) {
	if ended := statusOf(pod, container).LastTerminationState.Terminated; ended != nil {
		return runUntil(ended), nil
	}
	return run{}, fmt.Errorf("previous terminated container %q in pod %q not found", container, pod.Name)
}

// statusOf returns the status of a container; a zero one if it has none yet.
func statusOf(pod *corev1.Pod, container string) corev1.ContainerStatus {
	for _, statuses := range [][]corev1.ContainerStatus{pod.Status.ContainerStatuses, pod.Status.InitContainerStatuses} {
		for _, status := range statuses {
			if status.Name == container {
				return status
			}
		}
	}
	return corev1.ContainerStatus{}
}

// output is what a container writes.
type output struct {
	namespace, pod, container string
	format                    format
	key                       uint64 // differs from container to container
}

func newOutput(pod *corev1.Pod, container string) output {
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(string(pod.UID) + container))
	return output{
		namespace: pod.Namespace, pod: pod.Name, container: container,
		format: formatOf(pod.Annotations[LogAnnotation]), key: hash.Sum64(),
	}
}
