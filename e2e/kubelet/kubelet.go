// Package kubelet plays a kubelet's part in what the API server asks one for when somebody
// reads a log, for a cluster that has no machines.
//
// It has a node of its own, which no scheduler gives pods to: a pod comes there by its
// spec.nodeName. What a test lets a container write is sent as a kubelet sends it, to each
// request as its options say; or a test answers the requests itself.
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

// Kubelet is one node's. Its methods are safe for concurrent use.
type Kubelet struct {
	// Node is the name of its node.
	Node string

	mu         sync.Mutex // guards the fields below
	containers map[string]http.Handler
	asked      map[string][]url.Values
	open       map[string]int
}

// Start makes a node, and what the API server finds there. Both end with the test.
func Start(t testing.TB, client kubernetes.Interface) *Kubelet {
	t.Helper()
	k := &Kubelet{containers: map[string]http.Handler{}, asked: map[string][]url.Values{}, open: map[string]int{}}
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

// nodeAt is a node whose kubelet is a server.
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

// Answer has requests for a container's log answered by a handler, such as a [Log].
func (k *Kubelet) Answer(namespace, pod, container string, by http.Handler) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.containers[keyOf(namespace, pod, container)] = by
}

// Asked are the options of each request for a container's log until now, in their order.
func (k *Kubelet) Asked(namespace, pod, container string) []url.Values {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Clone(k.asked[keyOf(namespace, pod, container)])
}

// Open is how many requests for a container's log are being answered.
func (k *Kubelet) Open(namespace, pod, container string) int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.open[keyOf(namespace, pod, container)]
}

func keyOf(namespace, pod, container string) string { return namespace + "/" + pod + "/" + container }

func (k *Kubelet) serveLog(w http.ResponseWriter, r *http.Request) {
	key := keyOf(r.PathValue("namespace"), r.PathValue("pod"), r.PathValue("container"))
	k.mu.Lock()
	k.asked[key] = append(k.asked[key], maps.Clone(r.URL.Query()))
	k.open[key]++
	by := k.containers[key]
	k.mu.Unlock()
	defer func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.open[key]--
	}()
	if by == nil { // in a kubelet's own words
		http.Error(w, "container "+strconv.Quote(r.PathValue("container"))+" in pod "+strconv.Quote(r.PathValue("pod"))+
			" is waiting to start: ContainerCreating", http.StatusBadRequest)
		return
	}
	by.ServeHTTP(w, r)
}
