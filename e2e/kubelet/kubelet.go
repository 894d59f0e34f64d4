// Package kubelet simulates the kubelet's part in what an API server forwards to it, for a cluster that has no machines:
// logs, exec, attach and port-forward.
//
// It has a node of its own, to which the scheduler assigns no pods: a pod names it in
// spec.nodeName. What a test writes as a container's log is sent as a kubelet sends it, to each
// request according to its options; or the test handles the requests itself. Commands run in a simulated shell, see
// package shell, and ports are functions of the test.
package kubelet

import (
	"context"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/kubeconnect/kubeconnect/e2e/kubelet/remote"
)

// Kubelet is the kubelet of one node. Its methods are safe for concurrent use.
type Kubelet struct {
	// Node is the name of the node.
	Node string

	mu         sync.Mutex // guards the fields below
	containers map[string]*Container
	ports      map[port]func(net.Conn)
	requests   map[string][]url.Values
	open       map[string]int
	upgrades   []string
}

// port is a port of a pod.
type port struct {
	namespace, pod string
	number         int32
}

// Start creates a node and the server that the API server connects to. Both end with the test. The node declares the
// features of its kubelet, as those of Kubernetes 1.36 and later do.
func Start(t testing.TB, client kubernetes.Interface) *Kubelet {
	t.Helper()
	return start(t, client, remote.WebSocketFeature)
}

// StartBefore136 is Start, with a kubelet of a version before Kubernetes 1.36: an API server translates the WebSockets
// of clients for it.
func StartBefore136(t testing.TB, client kubernetes.Interface) *Kubelet {
	t.Helper()
	return start(t, client)
}

func start(t testing.TB, client kubernetes.Interface, features ...string) *Kubelet {
	t.Helper()
	k := &Kubelet{
		containers: map[string]*Container{}, ports: map[port]func(net.Conn){},
		requests: map[string][]url.Values{}, open: map[string]int{},
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /containerLogs/{namespace}/{pod}/{container}", k.serveLog)
	streams := remote.NewServer(k.podOf)
	streams.Register(mux)
	server := httptest.NewTLSServer(k.noteUpgrades(mux))
	t.Cleanup(server.Close)
	t.Cleanup(server.CloseClientConnections)
	t.Cleanup(streams.Close)
	declared := nodeAt(t, server)
	declared.Status.DeclaredFeatures = features
	node, err := client.CoreV1().Nodes().Create(t.Context(), declared, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := client.CoreV1().Nodes().Delete(context.WithoutCancel(t.Context()), node.Name, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
	k.Node = node.Name
	return k
}

// nodeAt returns a node whose kubelet is server.
func nodeAt(t testing.TB, server *httptest.Server) *corev1.Node {
	t.Helper()
	address, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	port, err := strconv.ParseInt(address.Port(), 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "logging-"},
		Spec:       corev1.NodeSpec{Unschedulable: true},
		Status: corev1.NodeStatus{
			Addresses:       []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: address.Hostname()}},
			DaemonEndpoints: corev1.NodeDaemonEndpoints{KubeletEndpoint: corev1.DaemonEndpoint{Port: int32(port)}},
		},
	}
}

// Answer sets the handler of requests for a container's log, such as a [Log]. With the first handler, the container
// runs: see [Kubelet.Container].
func (k *Kubelet) Answer(namespace, pod, container string, handler http.Handler) {
	k.mu.Lock()
	defer k.mu.Unlock()
	running, ok := k.containers[keyOf(namespace, pod, container)]
	if !ok {
		running = NewContainer(pod, time.Now())
		k.containers[keyOf(namespace, pod, container)] = running
	}
	running.SetLog(handler)
}

// Container returns a container that runs; nil before its log has a handler.
func (k *Kubelet) Container(namespace, pod, container string) *Container {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.containers[keyOf(namespace, pod, container)]
}

// Listen opens a port of a pod. Each connection is served by a call of serve, and closed when it returns. A function
// for HTTP is [ServeHTTP].
func (k *Kubelet) Listen(namespace, pod string, number int32, serve func(net.Conn)) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.ports[port{namespace, pod, number}] = serve
}

// podOf implements remote.Lookup. A pod exists if one of its containers does.
func (k *Kubelet) podOf(namespace, name, _ string) (remote.Pod, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for key := range k.containers {
		if strings.HasPrefix(key, namespace+"/"+name+"/") {
			return pod{k, namespace, name}, true
		}
	}
	return nil, false
}

// pod implements remote.Pod.
type pod struct {
	kubelet         *Kubelet
	namespace, name string
}

// Container implements remote.Pod, with the error of a kubelet.
func (p pod) Container(name string) (remote.Container, error) {
	container := p.kubelet.Container(p.namespace, p.name, name)
	if container == nil {
		return nil, fmt.Errorf("container not found (%q)", name)
	}
	return container, nil
}

// Dial implements remote.Pod.
func (p pod) Dial(number int32) (remote.Conn, error) {
	p.kubelet.mu.Lock()
	serve := p.kubelet.ports[port{p.namespace, p.name, number}]
	p.kubelet.mu.Unlock()
	if serve == nil {
		return nil, RefusedError(number)
	}
	return Connect(serve)
}

// Asked returns the options of each request for a container's log so far, in order.
func (k *Kubelet) Asked(namespace, pod, container string) []url.Values {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Clone(k.requests[keyOf(namespace, pod, container)])
}

// Open returns the number of requests for a container's log that are in progress.
func (k *Kubelet) Open(namespace, pod, container string) int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.open[keyOf(namespace, pod, container)]
}

// Upgrades returns the protocol of each request so far that became streams, as "SPDY/3.1" or "websocket". A WebSocket
// is followed by the SPDY to which a kubelet translates it, unless a client used the protocols of old ones.
func (k *Kubelet) Upgrades() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Clone(k.upgrades)
}

func (k *Kubelet) noteUpgrades(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if upgrade := r.Header.Get("Upgrade"); upgrade != "" {
			k.mu.Lock()
			k.upgrades = append(k.upgrades, upgrade)
			k.mu.Unlock()
		}
		next.ServeHTTP(w, r)
	})
}

func keyOf(namespace, pod, container string) string { return namespace + "/" + pod + "/" + container }

func (k *Kubelet) serveLog(w http.ResponseWriter, r *http.Request) {
	key := keyOf(r.PathValue("namespace"), r.PathValue("pod"), r.PathValue("container"))
	k.mu.Lock()
	k.requests[key] = append(k.requests[key], maps.Clone(r.URL.Query()))
	k.open[key]++
	container := k.containers[key]
	k.mu.Unlock()
	defer func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.open[key]--
	}()
	if container == nil { // the message of a real kubelet
		http.Error(w, "container "+strconv.Quote(r.PathValue("container"))+" in pod "+strconv.Quote(r.PathValue("pod"))+
			" is waiting to start: ContainerCreating", http.StatusBadRequest)
		return
	}
	container.logHandler().ServeHTTP(w, r)
}
