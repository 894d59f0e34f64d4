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

const (
	siteCount = 6
	// finalizer is the one of the operators.
	finalizer = "stable.example.com/registry"
)

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

// startOperator starts the example operator. It ends if it cannot renew its lease, so the lease is long
// enough for a machine that is busy.
func (w *websites) startOperator(service *harness.Service, identity string) program {
	w.t.Helper()
	command, _ := kit.PythonExample(w.t, "websites.py")
	return startProgram(w.t, command, service.Address, w.namespace, "--identity", identity, "--lease-duration", "20")
}

func (w *websites) startKopf() program {
	w.t.Helper()
	return startProgram(w.t, kit.KopfExample(w.t, "websites_kopf.py", kit.Cluster(w.t).Kubeconfig, w.namespace))
}

func (w *websites) createAll() {
	w.t.Helper()
	for i := range siteCount {
		w.create(siteName(i), i%3)
	}
}

// editAll changes each site several times.
func (w *websites) editAll(rounds int) {
	w.t.Helper()
	for round := range rounds {
		for _, name := range names(w.want) {
			w.edit(name, (w.want[name]+1)%4)
			w.label(name, round)
		}
	}
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

// wantFinalizedOnce deletes a site that has another finalizer too, and fails the test unless the
// operator removes the site from the registry, and its own finalizer, and neither returns.
func (w *websites) wantFinalizedOnce() {
	w.t.Helper()
	name, other := siteName(2), "example.com/other"
	w.patch(name, map[string]any{"metadata": map[string]any{"finalizers": []string{finalizer, other}}})
	w.delete(name)
	kit.Eventually(w.ctx, w.t, "the deleted site is finalized", func() error { return w.checkFinalized(name, other) })
	w.label(name, 1) // the site changes once more
	w.editAll(1)
	kit.Eventually(w.ctx, w.t, "the other sites converge", w.checkEach)
	if err := w.checkFinalized(name, other); err != nil {
		w.t.Error(err)
	}
	w.patch(name, map[string]any{"metadata": map[string]any{"finalizers": nil}})
	w.untilDeleted(name)
	w.converges("a finalized site was deleted")
}

// checkFinalized returns an error unless the site has only these finalizers, and is not registered.
func (w *websites) checkFinalized(name string, finalizers ...string) error {
	site, err := w.sites.Get(w.ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	registry, err := w.registry()
	if err != nil {
		return err
	}
	if _, registered := registry[name]; registered || !slices.Equal(site.GetFinalizers(), finalizers) {
		return fmt.Errorf("%s has the finalizers %v, and is registered: %t", name, site.GetFinalizers(), registered)
	}
	return nil
}

// createBriefly creates sites, and deletes each as soon as it has the finalizer.
func (w *websites) createBriefly(count int) {
	w.t.Helper()
	for i := range count {
		name := fmt.Sprintf("brief-%d", i)
		w.create(name, 1)
		kit.Eventually(w.ctx, w.t, name+" has the finalizer", func() error {
			site, err := w.sites.Get(w.ctx, name, metav1.GetOptions{})
			if err == nil && !slices.Contains(site.GetFinalizers(), finalizer) {
				err = fmt.Errorf("the finalizers are %v", site.GetFinalizers())
			}
			return err
		})
		w.delete(name)
		w.untilDeleted(name)
	}
}

// recreate deletes a site, and creates another one of the same name.
func (w *websites) recreate(name string) {
	w.t.Helper()
	w.delete(name)
	w.untilDeleted(name)
	w.create(name, 2)
}

// deleteHeld deletes a site while no operator runs, and fails the test unless its finalizer holds it.
func (w *websites) deleteHeld(name string) {
	w.t.Helper()
	w.delete(name)
	site, err := w.sites.Get(w.ctx, name, metav1.GetOptions{})
	if err != nil || !slices.Contains(site.GetFinalizers(), finalizer) {
		w.t.Errorf("%v: a site that was deleted without an operator is %v", err, site)
	}
	if registry, err := w.registry(); err != nil || registry[name] == "" {
		w.t.Errorf("%v: the registry is %v, without %s", err, registry, name)
	}
}

func (w *websites) delete(name string) {
	w.t.Helper()
	if err := w.sites.Delete(w.ctx, name, metav1.DeleteOptions{}); err != nil {
		w.t.Fatal(err)
	}
	delete(w.want, name)
}

func (w *websites) untilDeleted(name string) {
	w.t.Helper()
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
		if err := w.checkEach(); err != nil {
			return err
		}
		return w.checkAll()
	})
}

// checkEach compares each site with its status and its Deployment.
func (w *websites) checkEach() error {
	for name, replicas := range w.want {
		if err := w.check(name, replicas); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
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
	condition, _ := conditions[0].(map[string]any)
	if condition["type"] != "Available" || condition["status"] != "True" || condition["observedGeneration"] != observed {
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
	registry, err := w.registry()
	if err != nil {
		return err
	}
	var deployed []string
	for _, deployment := range list.Items {
		deployed = append(deployed, deployment.Name)
	}
	if want := names(w.want); !slices.Equal(slices.Sorted(slices.Values(deployed)), want) || !slices.Equal(names(registry), want) {
		return fmt.Errorf("deployed: %v, registered: %v, want %v", deployed, names(registry), want)
	}
	return nil
}

// registry returns the registry of the sites.
func (w *websites) registry() (map[string]string, error) {
	registry, err := kit.Cluster(w.t).Client.CoreV1().ConfigMaps(w.namespace).Get(w.ctx, "website-registry", metav1.GetOptions{})
	return registry.Data, err
}

// versions returns the resource versions of all that the operators write.
func (w *websites) versions() map[string]string {
	w.t.Helper()
	deployments, err := kit.Cluster(w.t).Client.AppsV1().Deployments(w.namespace).List(w.ctx, metav1.ListOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	registries, err := kit.Cluster(w.t).Client.CoreV1().ConfigMaps(w.namespace).List(w.ctx, metav1.ListOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	sites, err := w.sites.List(w.ctx, metav1.ListOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	versions := make(map[string]string)
	for _, each := range deployments.Items {
		versions["deployment "+each.Name] = each.ResourceVersion
	}
	for _, each := range registries.Items {
		versions["configmap "+each.Name] = each.ResourceVersion
	}
	for _, each := range sites.Items {
		versions["website "+each.GetName()] = each.GetResourceVersion()
	}
	return versions
}

// takeLease makes an identity the holder of the operators' lease.
func (w *websites) takeLease(identity string) {
	w.t.Helper()
	holder := map[string]any{"holderIdentity": identity, "leaseDurationSeconds": 3600, "renewTime": metav1.NowMicro()}
	body, err := json.Marshal(map[string]any{"spec": holder})
	if err == nil {
		_, err = kit.Cluster(w.t).Client.CoordinationV1().Leases(w.namespace).Patch(w.ctx, "websites", types.MergePatchType, body, metav1.PatchOptions{})
	}
	if err != nil {
		w.t.Fatal(err)
	}
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
