package clients_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

// TestPythonOperator_ConvergesUnderFaults runs two replicas of the example operator, and shows that
// the cluster becomes what the Websites specify: after other clients have changed the same objects,
// after the leader and the service were killed, and when a Website is deleted.
func TestPythonOperator_ConvergesUnderFaults(t *testing.T) {
	t.Parallel()
	ctx := kit.DeadlineAfter(t, 2*kit.FaultPatience)
	service := harness.StartMortalService(t, kit.Cluster(t).Kubeconfig, "127.0.0.1:0")
	w := newWebsites(ctx, t)
	replicas := map[string]program{
		"first":  w.startOperator(service, "first"),
		"second": w.startOperator(service, "second"),
	}
	for i := range siteCount {
		w.create(siteName(i), i%3)
	}
	w.converges("the sites are created")

	w.damage()
	w.converges("other clients have changed the owned objects")

	for round := range 20 {
		for i := range siteCount {
			w.edit(siteName(i), (round+i)%4)
			w.label(siteName(i), round)
		}
	}
	w.converges("the sites have changed many times")

	leader := w.leader()
	replicas[leader].Process.Crash()
	delete(replicas, leader)
	w.edit(siteName(0), 2)
	w.converges("the leader is killed")
	if now := w.leader(); now == leader || now == "" {
		t.Errorf("the leader is %q, after %q was killed", now, leader)
	}

	service.Crash()
	w.edit(siteName(1), 3)
	w.create("new", 1)
	harness.StartMortalService(t, kit.Cluster(t).Kubeconfig, kit.HostPort(service))
	w.converges("the service is killed")

	w.delete(siteName(2))
	w.converges("a site is deleted")

	for identity, replica := range replicas {
		if err := replica.Process.Stop(); err != nil {
			t.Errorf("%s: %v; output:\n%s", identity, err, replica.Process.Output())
		}
	}
	if now := w.leader(); now != "" {
		t.Errorf("the leader is %q after all operators have ended", now)
	}
}

const siteCount = 6

func siteName(i int) string { return fmt.Sprintf("site-%d", i) }

func names[V any](of map[string]V) []string { return slices.Sorted(maps.Keys(of)) }

// websites are the Websites of a namespace, and the numbers of replicas that they specify.
type websites struct {
	ctx       context.Context
	t         *testing.T
	namespace string
	sites     dynamic.ResourceInterface
	want      map[string]int
}

// newWebsites defines the resource of the example.
func newWebsites(ctx context.Context, t *testing.T) *websites {
	t.Helper()
	_, folder := kit.PythonExample(t, "websites.py")
	text, err := os.ReadFile(filepath.Join(folder, "websites.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	definition := new(unstructured.Unstructured)
	if err := yaml.Unmarshal(text, definition); err != nil {
		t.Fatal(err)
	}
	definitions := kit.Cluster(t).Dynamic.Resource(kit.CRDResource)
	if _, err := definitions.Create(ctx, definition, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	resource := schema.GroupVersionResource{Group: "stable.example.com", Version: "v1", Resource: "websites"}
	sites := kit.Cluster(t).Dynamic.Resource(resource).Namespace(namespace)
	kit.Eventually(ctx, t, "websites are served", func() error {
		_, err := sites.List(ctx, metav1.ListOptions{})
		return err
	})
	return &websites{ctx, t, namespace, sites, make(map[string]int)}
}

func (w *websites) startOperator(service *harness.Service, identity string) program {
	w.t.Helper()
	command, _ := kit.PythonExample(w.t, "websites.py")
	return startProgram(w.t, command, service.Address, w.namespace, "--identity", identity, "--lease-duration", "6")
}

func (w *websites) create(name string, replicas int) {
	w.t.Helper()
	site := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "stable.example.com/v1",
		"kind":       "Website",
		"metadata":   map[string]any{"name": name},
		"spec":       map[string]any{"image": "example.com/" + name + ":1", "replicas": int64(replicas)},
	}}
	if _, err := w.sites.Create(w.ctx, site, metav1.CreateOptions{}); err != nil {
		w.t.Fatal(err)
	}
	w.want[name] = replicas
}

func (w *websites) edit(name string, replicas int) {
	w.t.Helper()
	w.patch(name, map[string]any{"spec": map[string]any{"replicas": replicas}})
	w.want[name] = replicas
}

func (w *websites) label(name string, round int) {
	w.t.Helper()
	w.patch(name, map[string]any{"metadata": map[string]any{"labels": map[string]any{"round": fmt.Sprint(round)}}})
}

func (w *websites) patch(name string, change any) {
	w.t.Helper()
	body, err := json.Marshal(change)
	if err == nil {
		_, err = w.sites.Patch(w.ctx, name, types.MergePatchType, body, metav1.PatchOptions{})
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// delete deletes a site, and blocks until its finalizer has been removed.
func (w *websites) delete(name string) {
	w.t.Helper()
	if err := w.sites.Delete(w.ctx, name, metav1.DeleteOptions{}); err != nil {
		w.t.Fatal(err)
	}
	delete(w.want, name)
	kit.Eventually(w.ctx, w.t, name+" is deleted", func() error {
		_, err := w.sites.Get(w.ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("it exists: %w", err)
	})
}

// damage changes and deletes what the operator has written.
func (w *websites) damage() {
	w.t.Helper()
	deployments := kit.Cluster(w.t).Client.AppsV1().Deployments(w.namespace)
	scaled := []byte(`{"spec":{"replicas":7}}`)
	if _, err := deployments.Patch(w.ctx, siteName(0), types.MergePatchType, scaled, metav1.PatchOptions{}); err != nil {
		w.t.Fatal(err)
	}
	if err := deployments.Delete(w.ctx, siteName(1), metav1.DeleteOptions{}); err != nil {
		w.t.Fatal(err)
	}
	kit.ConfigMapsIn(w.ctx, w.t, kit.Cluster(w.t), w.namespace).Delete("website-registry")
}

// converges blocks until the cluster is as the sites specify.
func (w *websites) converges(after string) {
	w.t.Helper()
	kit.Eventually(w.ctx, w.t, "the cluster converges after "+after, func() error {
		for name, replicas := range w.want {
			if err := w.check(name, replicas); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
		return w.checkAll()
	})
}

// check compares one site with its status and its Deployment.
func (w *websites) check(name string, replicas int) error {
	site, err := w.sites.Get(w.ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	deployment, err := kit.Cluster(w.t).Client.AppsV1().Deployments(w.namespace).Get(w.ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if now := *deployment.Spec.Replicas; now != int32(replicas) || !metav1.IsControlledBy(deployment, site) {
		return fmt.Errorf("the deployment has %d replicas, want %d; its owners are %v", now, replicas, deployment.OwnerReferences)
	}
	observed, _, _ := unstructured.NestedInt64(site.Object, "status", "observedGeneration")
	ready, _, _ := unstructured.NestedInt64(site.Object, "status", "readyReplicas")
	conditions, _, _ := unstructured.NestedSlice(site.Object, "status", "conditions")
	if observed != site.GetGeneration() || ready != int64(replicas) || len(conditions) != 1 {
		return fmt.Errorf("the status is %v in generation %d", site.Object["status"], site.GetGeneration())
	}
	if condition, _ := conditions[0].(map[string]any); condition["type"] != "Available" || condition["status"] != "True" {
		return fmt.Errorf("the condition is %v", condition)
	}
	return nil
}

// checkAll compares the names of the Deployments and of the registry with the sites.
func (w *websites) checkAll() error {
	list, err := kit.Cluster(w.t).Client.AppsV1().Deployments(w.namespace).List(w.ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	registry, err := kit.Cluster(w.t).Client.CoreV1().ConfigMaps(w.namespace).Get(w.ctx, "website-registry", metav1.GetOptions{})
	if err != nil {
		return err
	}
	var deployed []string
	for _, deployment := range list.Items {
		deployed = append(deployed, deployment.Name)
	}
	if want := names(w.want); !slices.Equal(slices.Sorted(slices.Values(deployed)), want) || !slices.Equal(names(registry.Data), want) {
		return fmt.Errorf("deployed: %v, registered: %v, want %v", deployed, names(registry.Data), want)
	}
	return nil
}

// leader returns the holder of the operators' lease.
func (w *websites) leader() string {
	w.t.Helper()
	lease, err := kit.Cluster(w.t).Client.CoordinationV1().Leases(w.namespace).Get(w.ctx, "websites", metav1.GetOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	if lease.Spec.HolderIdentity == nil {
		return ""
	}
	return *lease.Spec.HolderIdentity
}
