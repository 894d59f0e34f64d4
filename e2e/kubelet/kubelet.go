// Package kubelet simulates the kubelet's part in reading logs through the API server, for a
// cluster that has no machines.
//
// It has a node of its own, to which the scheduler assigns no pods: a pod names it in
// spec.nodeName. What a test writes as a container's log is sent as a kubelet sends it, to each
// request according to its options; or the test handles the requests itself.
package kubelet

import (
	"context"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// Kubelet is the kubelet of one node. Its methods are safe for concurrent use.
type Kubelet struct {
	// Node is the name of the node.
	Node string

	mu         sync.Mutex // guards the fields below
	containers map[string]http.Handler
	requests   map[string][]url.Values
	open       map[string]int
}

// Start creates a node and the server that the API server connects to. Both end with the test.
func Start(t testing.TB, client kubernetes.Interface) *Kubelet {
	t.Helper()
	k := &Kubelet{containers: map[string]http.Handler{}, requests: map[string][]url.Values{}, open: map[string]int{}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /containerLogs/{namespace}/{pod}/{container}", k.serveLog)
	server := httptest.NewTLSServer(mux)
	t.Cleanup(server.Close)
	t.Cleanup(server.CloseClientConnections)
	node, err := client.CoreV1().Nodes().Create(t.Context(), nodeAt(t, server), metav1.CreateOptions{})
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

// Answer sets the handler of requests for a container's log, such as a [Log].
func (k *Kubelet) Answer(namespace, pod, container string, handler http.Handler) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.containers[keyOf(namespace, pod, container)] = handler
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

func keyOf(namespace, pod, container string) string { return namespace + "/" + pod + "/" + container }

func (k *Kubelet) serveLog(w http.ResponseWriter, r *http.Request) {
	key := keyOf(r.PathValue("namespace"), r.PathValue("pod"), r.PathValue("container"))
	k.mu.Lock()
	k.requests[key] = append(k.requests[key], maps.Clone(r.URL.Query()))
	k.open[key]++
	handler := k.containers[key]
	k.mu.Unlock()
	defer func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.open[key]--
	}()
	if handler == nil { // the message of a real kubelet
		http.Error(w, "container "+strconv.Quote(r.PathValue("container"))+" in pod "+strconv.Quote(r.PathValue("pod"))+
			" is waiting to start: ContainerCreating", http.StatusBadRequest)
		return
	}
	handler.ServeHTTP(w, r)
}
