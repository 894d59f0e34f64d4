package informerhub_test

import (
	"encoding/json"
	"net/http"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeconnect/kubeconnect/internal/fakeapi"
)

// cluster has two pods, one of which can be deleted.
type cluster struct {
	*fakeapi.Server
	deleted   chan struct{}
	deletePod func()
}

func startCluster() *cluster {
	c := &cluster{Server: fakeapi.Start(fakeapi.Core), deleted: make(chan struct{})}
	c.deletePod = sync.OnceFunc(func() { close(c.deleted) })
	c.Handle("pods", http.HandlerFunc(c.watchPods))
	return c
}

// watchPods sends the snapshot of a watch, and an event when the pod is deleted.
func (c *cluster) watchPods(w http.ResponseWriter, r *http.Request) {
	send := func(what string, pod *corev1.Pod) {
		_ = json.NewEncoder(w).Encode(map[string]any{"type": what, "object": pod})
		_ = http.NewResponseController(w).Flush()
	}
	w.Header().Set("Content-Type", "application/json")
	send("ADDED", podOf("db-0", "3"))
	send("ADDED", podOf("web-0", "4"))
	end := podOf("", "10")
	end.Annotations = map[string]string{metav1.InitialEventsAnnotationKey: "true"}
	send("BOOKMARK", end)
	select {
	case <-c.deleted:
		send("DELETED", podOf("web-0", "11"))
		<-r.Context().Done()
	case <-r.Context().Done():
	}
}

func podOf(name, version string) *corev1.Pod {
	pod := &corev1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}}
	pod.Namespace, pod.Name, pod.ResourceVersion = "default", name, version
	switch name {
	case "db-0":
		pod.UID, pod.Labels = "1", map[string]string{"app": "db"}
	case "web-0":
		pod.UID, pod.Labels = "2", map[string]string{"app": "web"}
	}
	return pod
}
