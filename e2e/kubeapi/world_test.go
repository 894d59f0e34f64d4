package kubeapi_test

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
			warm := read{caller: w.callers[0], path: path, query: url.Values{"resourceVersion": {"0"}}}
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
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "example.com/main:1"}}, NodeName: fmt.Sprint("node-", i)},
		}
		if _, err := kit.Cluster(t).Client.CoreV1().Pods(namespace).Create(ctx, pod, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		kit.CreateGadget(t, w.gadgets, namespace, "gadget", map[string]any{"color": "red"}, "1")
	}
}

// labels returns the labels of the objects of this world: tests that run at the same time have others.
func (w *world) labels(color string) kit.Labels {
	return kit.Labels{"color": color, "world": w.namespaces[0]}
}

// selectBy adds a selector to a request. One for all namespaces selects the objects of this world, because other tests change theirs.
func (w *world) selectBy(r read, selector string) {
	if !strings.Contains(r.path, "/namespaces/") && !strings.HasSuffix(r.path, "/gadgets") {
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
