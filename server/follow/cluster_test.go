package follow

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strconv"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/internal/fakeapi"
)

// cluster is an API server with pods that a test changes, and the content at each version.
type cluster struct {
	*fakeapi.Server
	cache *informerhub.Cache

	mu      sync.Mutex // guards the fields below
	version int
	pods    map[string]string            // versions by name
	history map[string]map[string]string // pods by version of the cluster
	events  []event                      // all of them
	more    chan struct{}                // closed when there are more
}

type event struct {
	Type    string `json:"type"`
	Object  any    `json:"object"`
	version int
}

// newCluster returns a cluster with some pods.
func newCluster(t *testing.T, pods int) *cluster {
	t.Helper()
	return newClusterWith(t, pods, informerhub.Options{})
}

func newClusterWith(t *testing.T, pods int, options informerhub.Options) *cluster {
	t.Helper()
	c := &cluster{
		Server: fakeapi.New(t, fakeapi.Core), version: 10,
		pods: make(map[string]string), history: make(map[string]map[string]string), more: make(chan struct{}),
	}
	for i := range pods {
		c.pods[fmt.Sprint("pod-", i)] = "5"
	}
	c.history["10"] = maps.Clone(c.pods)
	c.Handle("pods", http.HandlerFunc(c.watch))
	hub, err := informerhub.New(c.Config(), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(hub.Close)
	resource, err := hub.Resolver().Resolve(t.Context(), "pods")
	if err != nil {
		t.Fatal(err)
	}
	if c.cache, err = hub.Cache(t.Context(), resource); err != nil {
		t.Fatal(err)
	}
	return c
}

// selection returns a selection of the cluster's pods.
func (c *cluster) selection(t *testing.T, query informerhub.Query) *informerhub.Selection {
	t.Helper()
	selection, err := c.cache.Select(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	return selection
}

// apply creates or changes a pod, or deletes it if it exists and remove is set. It returns the
// cluster's version.
func (c *cluster) apply(name string, remove bool) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, exists := c.pods[name]
	c.version++
	version := strconv.Itoa(c.version)
	changed := event{Type: "ADDED", Object: pod(name, version), version: c.version}
	switch {
	case exists && remove:
		changed.Type = "DELETED"
		delete(c.pods, name)
	case exists:
		changed.Type = "MODIFIED"
		c.pods[name] = version
	default:
		c.pods[name] = version
	}
	c.history[version] = maps.Clone(c.pods)
	c.events = append(c.events, changed)
	close(c.more)
	c.more = make(chan struct{})
	return version
}

// expire deletes a pod at the version of the last change, as etcd does with objects that expire together.
func (c *cluster) expire(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	version := strconv.Itoa(c.version)
	delete(c.pods, name)
	c.history[version] = maps.Clone(c.pods)
	c.events = append(c.events, event{Type: "DELETED", Object: pod(name, version), version: c.version})
	close(c.more)
	c.more = make(chan struct{})
}

// at returns the pods at a version.
func (c *cluster) at(version string) map[string]string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.history[version]
}

// watch sends a snapshot if the client has none, and all events after its version.
func (c *cluster) watch(w http.ResponseWriter, r *http.Request) {
	send := func(e event) {
		_ = json.NewEncoder(w).Encode(e)
		_ = http.NewResponseController(w).Flush()
	}
	w.Header().Set("Content-Type", "application/json")
	after, err := strconv.Atoi(r.URL.Query().Get("resourceVersion"))
	c.mu.Lock()
	snapshot, version := maps.Clone(c.pods), c.version
	c.mu.Unlock()
	if err != nil {
		for name, of := range snapshot {
			send(event{Type: "ADDED", Object: pod(name, of)})
		}
		end := pod("", strconv.Itoa(version))
		end.Annotations = map[string]string{metav1.InitialEventsAnnotationKey: "true"}
		send(event{Type: "BOOKMARK", Object: end})
		after = version
	}
	for sent := 0; ; {
		c.mu.Lock()
		events, more := c.events[sent:], c.more
		c.mu.Unlock()
		for _, e := range events {
			if sent++; e.version > after {
				send(e)
			}
		}
		select {
		case <-more:
		case <-r.Context().Done():
			return
		}
	}
}

func pod(name, version string) *corev1.Pod {
	pod := &corev1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}}
	pod.Namespace, pod.Name, pod.UID, pod.ResourceVersion = "default", name, types.UID("uid-"+name), version
	if name == "" {
		pod.Namespace, pod.UID = "", ""
	}
	return pod
}
