package kubeapi_test

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

// world is a cluster with objects in two namespaces, and callers with different permissions.
type world struct {
	t          *testing.T
	namespaces []string
	callers    []caller
	gadgets    kit.CustomResource
	api        *http.Client // of the API server, without credentials
	warmed     string       // the version from which on the replicas know each step
}

// caller is a user of the cluster.
type caller struct {
	name  string
	token string
}

// objectsInNamespace is the number of ConfigMaps in each namespace.
const objectsInNamespace = 12

func newWorld(ctx context.Context, t *testing.T) *world {
	t.Helper()
	w := &world{t: t, api: apiClient(t)}
	// One name is the beginning of the other: the API server orders their objects by key.
	first := kit.NewNamespace(ctx, t, kit.Cluster(t))
	w.namespaces = []string{first, first + "-b"}
	second := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: first + "-b"}}
	if _, err := kit.Cluster(t).Client.CoreV1().Namespaces().Create(ctx, second, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	w.gadgets = kit.NewCustomResource(ctx, t, kit.Cluster(t), first)
	w.gadgets.Define("v1")
	for _, name := range []string{"all", "one", "none"} {
		account := kit.NewAccount(ctx, t, first, name)
		rule := rbacv1.PolicyRule{Verbs: []string{"get", "list", "watch"}, APIGroups: []string{"", w.gadgets.Group}, Resources: []string{"configmaps", "pods", "gadgets"}}
		switch name {
		case "all":
			kit.GrantEverywhere(t, account, rule)
		case "one":
			account.GrantIn(first, "reader", rule)
		}
		w.callers = append(w.callers, caller{name, account.Token()})
	}
	return w
}

// warm makes replicas cache what the callers read, before there are objects: they know each step since.
func (w *world) warm(ctx context.Context, replicas []*harness.Service) {
	w.t.Helper()
	for _, replica := range replicas {
		for _, path := range []string{"/api/v1/configmaps", "/api/v1/pods", "/apis/" + w.gadgets.Group + "/v1/gadgets"} {
			warm := read{caller: w.callers[0], method: http.MethodGet, path: path, query: url.Values{"resourceVersion": {"0"}}}
			kit.Eventually(ctx, w.t, "the replica has a cache", func() error {
				if got := warm.send(ctx, w.t, serviceClient(w.t), replica.Address); !got.isCached {
					return fmt.Errorf("response %s", got)
				}
				return nil
			})
		}
	}
	list, err := kit.Cluster(w.t).Client.CoreV1().ConfigMaps(w.namespaces[0]).List(ctx, metav1.ListOptions{Limit: 1})
	if err != nil {
		w.t.Fatal(err)
	}
	w.warmed = list.ResourceVersion
}

// populate creates the objects.
func (w *world) populate(ctx context.Context) {
	w.t.Helper()
	t := w.t
	for i, namespace := range w.namespaces {
		for n := range objectsInNamespace {
			w.createConfigMap(ctx, namespace, fmt.Sprintf("object-%d", n), []string{"red", "green"}[n%2])
		}
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("pod-", i), Labels: w.labels("red")},
			Spec:       unscheduled(),
		}
		if _, err := kit.Cluster(t).Client.CoreV1().Pods(namespace).Create(ctx, pod, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		w.createGadget(ctx, namespace, "gadget", w.labels("red"))
	}
}

// unscheduled returns the spec of a pod that no component changes.
func unscheduled() corev1.PodSpec {
	return corev1.PodSpec{SchedulerName: "none", Containers: []corev1.Container{{Name: "main", Image: "example.com/main:1"}}}
}

func (w *world) createGadget(ctx context.Context, namespace, name string, labels kit.Labels) {
	w.t.Helper()
	gadget := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"color": "red"}}}
	gadget.SetAPIVersion(w.gadgets.Group + "/v1")
	gadget.SetKind("Gadget")
	gadget.SetName(name)
	gadget.SetLabels(labels)
	if _, err := kit.Cluster(w.t).Dynamic.Resource(w.gadgetResource()).Namespace(namespace).Create(ctx, gadget, metav1.CreateOptions{}); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) gadgetResource() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: w.gadgets.Group, Version: "v1", Resource: "gadgets"}
}

// keepChanging changes an object of each resource, in a namespace of its own that no read names, until the returned function is called.
// No label selector of a read matches them.
func (w *world) keepChanging(ctx context.Context) (stop func()) {
	w.t.Helper()
	namespace, cluster := kit.NewNamespace(ctx, w.t, kit.Cluster(w.t)), kit.Cluster(w.t)
	object := metav1.ObjectMeta{Name: "changing", Namespace: namespace}
	if _, err := cluster.Client.CoreV1().ConfigMaps(namespace).Create(ctx, &corev1.ConfigMap{ObjectMeta: object}, metav1.CreateOptions{}); err != nil {
		w.t.Fatal(err)
	}
	pod := &corev1.Pod{ObjectMeta: object, Spec: unscheduled()}
	if _, err := cluster.Client.CoreV1().Pods(namespace).Create(ctx, pod, metav1.CreateOptions{}); err != nil {
		w.t.Fatal(err)
	}
	w.createGadget(ctx, namespace, "changing", nil)
	ctx, cancel := context.WithCancel(ctx)
	var changing sync.WaitGroup
	changing.Go(func() {
		for i := 0; ctx.Err() == nil; i++ {
			for _, resource := range []schema.GroupVersionResource{
				w.gadgetResource(), corev1.SchemeGroupVersion.WithResource("pods"), corev1.SchemeGroupVersion.WithResource("configmaps"),
			} {
				patch := fmt.Appendf(nil, `{"metadata":{"annotations":{"change":"%d"}}}`, i)
				_, err := cluster.Dynamic.Resource(resource).Namespace(namespace).Patch(ctx, "changing", types.MergePatchType, patch, metav1.PatchOptions{})
				if err != nil && ctx.Err() == nil {
					w.t.Errorf("%s: %v", resource.Resource, err)
				}
			}
			select {
			case <-time.After(changePause):
			case <-ctx.Done():
			}
		}
	})
	return func() { cancel(); changing.Wait() }
}

// changePause is the pause between the changes of keepChanging.
const changePause = 50 * time.Millisecond

// labels returns the labels of the objects of this world: tests that run at the same time have others.
func (w *world) labels(color string) kit.Labels {
	return kit.Labels{"color": color, "world": w.namespaces[0]}
}

// selectBy adds a selector to a request. One for all namespaces selects the objects of this world, because other tests change theirs.
func (w *world) selectBy(r read, selector string) {
	if !strings.Contains(r.path, "/namespaces/") {
		selector = strings.TrimSuffix("world="+w.namespaces[0]+","+selector, ",")
	}
	if selector != "" {
		r.query.Set("labelSelector", selector)
	}
}

func (w *world) createConfigMap(ctx context.Context, namespace, name, color string) {
	w.t.Helper()
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: w.labels(color)}, Data: map[string]string{"key": "value of " + name}}
	if _, err := kit.Cluster(w.t).Client.CoreV1().ConfigMaps(namespace).Create(ctx, object, metav1.CreateOptions{}); err != nil {
		w.t.Fatal(err)
	}
}

// apiClient returns a client that trusts the API server, and sends no credentials.
func apiClient(t *testing.T) *http.Client {
	t.Helper()
	transport, err := rest.TransportFor(rest.AnonymousClientConfig(kit.Cluster(t).Config))
	if err != nil {
		t.Fatal(err)
	}
	return &http.Client{Transport: transport}
}

// apiAddress returns the address of the API server.
func apiAddress(t *testing.T) string { return strings.TrimSuffix(kit.Cluster(t).Config.Host, "/") }

// serviceClient returns a client of the service without credentials.
func serviceClient(t *testing.T) *http.Client { return harness.HTTP2(t) }
