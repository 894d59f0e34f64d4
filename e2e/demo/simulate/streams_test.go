package simulate

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/kubeconnect/kubeconnect/e2e/kubelet/process"
	"github.com/kubeconnect/kubeconnect/e2e/kubelet/remote"
)

// informer is an informer of which only the store is used.
type informer struct {
	cache.SharedIndexInformer
	store cache.Store
}

// GetStore implements cache.SharedInformer.
func (i informer) GetStore() cache.Store { return i.store }

// newSimulation returns a simulation with one pod, which the function returned replaces; nil deletes it.
func newSimulation(t *testing.T) (s *Simulation, set func(*corev1.Pod)) {
	t.Helper()
	store := cache.NewStore(cache.MetaNamespaceKeyFunc)
	s = &Simulation{pods: informer{store: store}, containers: newContainers()}
	set = func(pod *corev1.Pod) {
		objects := []any{}
		if pod != nil {
			objects = append(objects, pod)
		}
		if err := store.Replace(objects, ""); err != nil {
			t.Fatal(err)
		}
	}
	set(runningPod())
	return s, set
}

// find returns a container of the pod.
func find(t *testing.T, s *Simulation) (remote.Container, error) {
	t.Helper()
	pod, ok := s.lookup("billing", "ledger-1", "")
	if !ok {
		t.Fatal("the pod does not exist")
	}
	return pod.Container("ledger")
}

func runIn(t *testing.T, s *Simulation, script string) string {
	t.Helper()
	container, err := find(t, s)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := container.Exec(t.Context(), []string{"sh", "-c", script}, process.Stdio{Out: &out, Err: &out}); err != nil {
		t.Error(err)
	}
	return out.String()
}

func TestContainers_HaveAShell(t *testing.T) {
	s, set := newSimulation(t)
	pod := runningPod()
	pod.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "MODE", Value: "demo"}}
	set(pod)
	if out := runIn(t, s, "hostname; cat /app/image; echo $MODE; echo a > /tmp/x"); out != "ledger-1\nledger:1\ndemo\n" {
		t.Errorf("printed %q", out)
	}
	if out := runIn(t, s, "cat /tmp/x"); out != "a\n" {
		t.Errorf("the next command reads %q", out)
	}
	restarted := runningPod()
	restarted.Status.ContainerStatuses[0].State.Running.StartedAt = later(crash.runs)
	set(restarted)
	if out := runIn(t, s, "ls /tmp"); out != "" {
		t.Errorf("the files of the last run are %q", out)
	}
	if kept := len(s.containers.byRun); kept != 1 {
		t.Errorf("%d runs are kept", kept)
	}
}

func TestContainers_ThatDoNotRunHaveNoShell(t *testing.T) {
	s, set := newSimulation(t)
	pod := runningPod()
	pod.Status = *crash.next(pod, later(crash.runs)).status
	set(pod)
	if _, err := find(t, s); err == nil || err.Error() != `container not found ("ledger")` {
		t.Error(err)
	}
	if _, ok := s.lookup("billing", "ledger-1", "another"); ok {
		t.Error("a pod with another UID exists")
	}
}

func TestExec_EndsWithTheContainer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		container, set := findStarted(t)
		deleting := writerFunc(func() { set(nil) })
		if err := container.Exec(t.Context(), []string{"sh", "-c", "echo running; sleep infinity"}, process.Stdio{Out: deleting}); !errors.Is(err, exitKilled) {
			t.Error(err)
		}
	})
}

func TestAttach_ShowsNewLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		container, set := findStarted(t)
		var out bytes.Buffer
		deleting := writerFunc(func() { set(nil) })
		if err := container.Attach(t.Context(), process.Stdio{Out: io.MultiWriter(&out, deleting)}); err != nil {
			t.Error(err)
		}
		if strings.Count(out.String(), "\n") != 1 {
			t.Errorf("attached to %q", out.String())
		}
	})
}

// findStarted returns a container that starts now.
func findStarted(t *testing.T) (container remote.Container, set func(*corev1.Pod)) {
	t.Helper()
	s, set := newSimulation(t)
	pod := runningPod()
	pod.Status.ContainerStatuses[0].State.Running.StartedAt = metav1.Now()
	set(pod)
	container, err := find(t, s)
	if err != nil {
		t.Fatal(err)
	}
	return container, set
}

// writerFunc calls a function when something is written.
type writerFunc func()

// Write implements io.Writer.
func (w writerFunc) Write(text []byte) (int, error) {
	w()
	return len(text), nil
}

func TestPorts_ServeAPage(t *testing.T) {
	s, set := newSimulation(t)
	declared := runningPod()
	declared.Spec.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 8080}}
	set(declared)
	pod, _ := s.lookup("billing", "ledger-1", "1")
	if _, err := pod.Dial(9090); err == nil || !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("a port that is not declared: %v", err)
	}
	conn, err := pod.Dial(8080)
	if err != nil {
		t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost/a", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Close = true
	if err := request.Write(conn); err != nil {
		t.Fatal(err)
	}
	response, err := io.ReadAll(conn)
	if err != nil || !strings.Contains(string(response), "GET /a\n\nThis is container ledger of pod billing/ledger-1") {
		t.Errorf("%q, %v", response, err)
	}
	if err := conn.Close(); err != nil {
		t.Error(err)
	}
}
