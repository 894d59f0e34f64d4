package simulate

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeconnect/kubeconnect/e2e/kubelet"
	"github.com/kubeconnect/kubeconnect/e2e/kubelet/process"
	"github.com/kubeconnect/kubeconnect/e2e/kubelet/remote"
)

const (
	// maxFileBytes bounds the files of one container.
	maxFileBytes = 8 << 20
	// exitKilled is the exit code of a command whose container has ended.
	exitKilled = process.ExitError(137)
)

// lookup implements remote.Lookup.
func (s *Simulation) lookup(namespace, name, uid string) (remote.Pod, bool) {
	pod := s.podOf(namespace, name)
	if pod == nil || uid != "" && uid != string(pod.UID) {
		return nil, false
	}
	return livePod{s, pod}, true
}

// livePod implements remote.Pod.
type livePod struct {
	simulation *Simulation
	pod        *corev1.Pod
}

// Container implements remote.Pod, with the error of a kubelet.
func (p livePod) Container(name string) (remote.Container, error) {
	current, err := lastRun(p.pod, name)
	if err != nil || !current.end.IsZero() {
		return nil, fmt.Errorf("container not found (%q)", name)
	}
	return &liveContainer{
		Container:  p.simulation.containers.of(p.pod, name, current, p.simulation.podOf),
		simulation: p.simulation, output: newOutput(p.pod, name), run: current,
	}, nil
}

// Dial implements remote.Pod: each port that the pod declares serves a page.
func (p livePod) Dial(port int32) (remote.Conn, error) {
	for _, container := range p.pod.Spec.Containers {
		for _, declared := range container.Ports {
			if current, err := lastRun(p.pod, container.Name); declared.ContainerPort == port && err == nil && current.end.IsZero() {
				return kubelet.Connect(kubelet.ServeHTTP(page(p.pod, container.Name)))
			}
		}
	}
	return nil, kubelet.RefusedError(port)
}

// page returns the handler of all requests to a port.
func page(pod *corev1.Pod, container string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = fmt.Fprintf(w, "%s %s\n\nThis is container %s of pod %s/%s on node %s.\n", r.Method, r.URL.Path, container, pod.Namespace, pod.Name, pod.Spec.NodeName)
	})
}

// liveContainer is one run of a container. It implements remote.Container.
type liveContainer struct {
	*kubelet.Container
	simulation *Simulation
	output     output
	run        run
}

// Exec implements remote.Container. The command ends with the run.
func (c *liveContainer) Exec(ctx context.Context, command []string, stdio process.Stdio) (err error) {
	log := new(kubelet.Log)
	c.simulation.whileWritten(ctx, log, c.output, c.run, func() {
		ctx, cancel := context.WithCancel(ctx)
		hasEnded := false
		var watching sync.WaitGroup
		watching.Go(func() {
			hasEnded = log.Follow(ctx, nil, nil) == nil
			cancel()
		})
		err = c.Container.Exec(ctx, command, stdio)
		cancel()
		watching.Wait()
		if hasEnded {
			err = exitKilled
		}
	})
	return err
}

// Attach implements remote.Container.
func (c *liveContainer) Attach(ctx context.Context, stdio process.Stdio) (err error) {
	log := new(kubelet.Log)
	c.simulation.whileWritten(ctx, log, c.output, c.run, func() { err = c.AttachTo(ctx, log, stdio) })
	return err
}

// containers are the simulated containers that users have a terminal in, or had while the container ran. Its methods
// are safe for concurrent use.
type containers struct {
	mu    sync.Mutex // guards byRun
	byRun map[runKey]*kubelet.Container
}

// runKey identifies one run of a container.
type runKey struct {
	namespace, pod string
	uid            types.UID
	container      string
	start          time.Time
}

func newContainers() *containers { return &containers{byRun: map[runKey]*kubelet.Container{}} }

// of returns the container of a run, with the files that its commands have written. It removes those of runs that
// have ended.
func (c *containers) of(pod *corev1.Pod, name string, current run, podOf func(namespace, name string) *corev1.Pod) *kubelet.Container {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := runKey{pod.Namespace, pod.Name, pod.UID, name, current.start}
	if found, ok := c.byRun[key]; ok {
		return found
	}
	for other := range c.byRun {
		if !other.isCurrent(podOf(other.namespace, other.pod)) {
			delete(c.byRun, other)
		}
	}
	c.byRun[key] = newContainer(pod, name, current)
	return c.byRun[key]
}

// isCurrent reports whether a run has not ended.
func (k runKey) isCurrent(pod *corev1.Pod) bool {
	if pod == nil || pod.UID != k.uid {
		return false
	}
	latest, err := lastRun(pod, k.container)
	return err == nil && latest.end.IsZero() && latest.start.Equal(k.start)
}

// newContainer returns a container with what its image and its pod give it.
func newContainer(pod *corev1.Pod, name string, current run) *kubelet.Container {
	created := kubelet.NewContainer(pod.Name, current.start)
	created.Host.Files.SetMaxBytes(maxFileBytes)
	created.Host.Setenv("KUBERNETES_SERVICE_HOST", "10.96.0.1")
	created.Host.Setenv("KUBERNETES_SERVICE_PORT", "443")
	for _, container := range pod.Spec.Containers {
		if container.Name != name {
			continue
		}
		for _, variable := range container.Env {
			if variable.ValueFrom == nil {
				created.Host.Setenv(variable.Name, variable.Value)
			}
		}
		_ = created.Host.Files.WriteFile("/app/image", []byte(container.Image+"\n")) // it is small
	}
	_ = created.Host.Files.WriteFile("/etc/motd", []byte("This shell is simulated: its commands and files exist only in the demo.\n"))
	return created
}
