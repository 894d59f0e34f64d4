package operators_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

// finalizer is the finalizer of the operator.
const finalizer = "operators.example.com/release"

// operator gives each Website a ConfigMap with its color, and notes in another one which Websites it has released.
type operator struct {
	client.Client
	name string
}

// Reconcile implements reconcile.Reconciler.
func (o *operator) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	site := &Website{}
	if err := o.Get(ctx, request.NamespacedName, site); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !site.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, o.release(ctx, site)
	}
	if controllerutil.AddFinalizer(site, finalizer) {
		return ctrl.Result{}, o.Update(ctx, site) // its event is the next request
	}
	page := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: site.Namespace, Name: site.Name}}
	if _, err := controllerutil.CreateOrUpdate(ctx, o.Client, page, func() error {
		page.Data = map[string]string{"color": site.Spec.Color}
		return controllerutil.SetControllerReference(site, page, o.Scheme())
	}); err != nil {
		return ctrl.Result{}, err
	}
	before := site.copied()
	site.Status.Shown, site.Status.ObservedGeneration = page.Data["color"], site.Generation
	apimeta.SetStatusCondition(&site.Status.Conditions, metav1.Condition{
		Type: "Ready", Status: metav1.ConditionTrue, Reason: "Shown", ObservedGeneration: site.Generation,
	})
	return ctrl.Result{}, o.Status().Patch(ctx, site, client.MergeFrom(before))
}

// release notes that a Website is deleted, and removes its finalizer.
func (o *operator) release(ctx context.Context, site *Website) error {
	if !controllerutil.ContainsFinalizer(site, finalizer) {
		return nil
	}
	note := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: site.Namespace, Name: "released-" + site.Name, Labels: kit.Labels{"by": o.name}}}
	if err := o.Create(ctx, note); err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	controllerutil.RemoveFinalizer(site, finalizer)
	return o.Update(ctx, site)
}

// replica is a running manager with the operator.
type replica struct {
	manager manager.Manager
	stop    func()
}

func startReplica(ctx context.Context, t *testing.T, of *rest.Config, namespace, name string) *replica {
	t.Helper()
	lease, renew, retry := 60*time.Second, 40*time.Second, 200*time.Millisecond
	running, err := ctrl.NewManager(rest.CopyConfig(of), ctrl.Options{
		Scheme: newScheme(t), Metrics: metricsserver.Options{BindAddress: "0"},
		Cache:          cache.Options{DefaultNamespaces: map[string]cache.Config{namespace: {}}},
		LeaderElection: true, LeaderElectionID: "websites", LeaderElectionNamespace: namespace, LeaderElectionReleaseOnCancel: true,
		LeaseDuration: &lease, RenewDeadline: &renew, RetryPeriod: &retry,
		Controller: config.Controller{SkipNameValidation: new(true)},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := ctrl.NewControllerManagedBy(running).For(&Website{}).Owns(&corev1.ConfigMap{}).
		Complete(&operator{running.GetClient(), name}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(ctx)
	var ending sync.WaitGroup
	ending.Go(func() {
		if err := running.Start(ctx); err != nil {
			t.Errorf("the replica %s has ended: %v", name, err)
		}
	})
	stop := sync.OnceFunc(func() {
		cancel()
		ending.Wait()
	})
	t.Cleanup(stop)
	return &replica{running, stop}
}

// operate runs two replicas of the operator, of which one leads, and changes what they follow.
func operate(t *testing.T, of *rest.Config) {
	ctx := kit.DeadlineAfter(t, kit.FaultPatience)
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	admin := adminClient(t)
	named := func(name string) *Website {
		return &Website{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: WebsiteSpec{Color: "red"}}
	}
	want := map[string]string{"a": "red", "b": "red", "c": "red"}
	for name := range want {
		succeeds(t, admin.Create(ctx, named(name)))
	}
	first := startReplica(ctx, t, of, namespace, "first")
	converges(ctx, t, admin, namespace, want)
	startReplica(ctx, t, of, namespace, "second")

	changed := named("a")
	succeeds(t, admin.Get(ctx, client.ObjectKeyFromObject(changed), changed))
	changed.Spec.Color, want["a"] = "blue", "blue"
	succeeds(t, admin.Update(ctx, changed))
	succeeds(t, admin.Delete(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "b"}}))
	succeeds(t, admin.Delete(ctx, named("c")))
	delete(want, "c")
	converges(ctx, t, admin, namespace, want)
	wantReleased(ctx, t, admin, namespace, "c", "first")

	first.stop()
	succeeds(t, admin.Create(ctx, named("d")))
	want["d"] = "red"
	succeeds(t, admin.Delete(ctx, named("b")))
	delete(want, "b")
	converges(ctx, t, admin, namespace, want)
	wantReleased(ctx, t, admin, namespace, "b", "second")
}

// converges blocks until the Websites are exactly those with these colors, and their pages too. The garbage collector deletes the pages of
// deleted Websites later: it looks for new kinds every half a minute.
func converges(ctx context.Context, t *testing.T, admin client.Client, namespace string, want map[string]string) {
	t.Helper()
	kit.Eventually(ctx, t, "the operator has done its work", func() error {
		var sites WebsiteList
		if err := admin.List(ctx, &sites, client.InNamespace(namespace)); err != nil {
			return err
		}
		if len(sites.Items) != len(want) {
			return fmt.Errorf("%d Websites, want %d", len(sites.Items), len(want))
		}
		pages := map[string]string{}
		var owned corev1.ConfigMapList
		if err := admin.List(ctx, &owned, client.InNamespace(namespace)); err != nil {
			return err
		}
		for _, page := range owned.Items {
			if owner := metav1.GetControllerOf(&page); owner != nil {
				pages[owner.Name] = page.Data["color"]
			}
		}
		for _, site := range sites.Items {
			ready := apimeta.FindStatusCondition(site.Status.Conditions, "Ready")
			if color := want[site.Name]; color == "" || site.Status.Shown != color || pages[site.Name] != color || ready == nil || ready.ObservedGeneration != site.Generation ||
				!controllerutil.ContainsFinalizer(&site, finalizer) {
				return fmt.Errorf("the Website %s is %+v, and its page %q", site.Name, site.Status, pages[site.Name])
			}
		}
		return nil
	})
}

func wantReleased(ctx context.Context, t *testing.T, admin client.Client, namespace, name, by string) {
	t.Helper()
	note := &corev1.ConfigMap{}
	succeeds(t, admin.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "released-" + name}, note))
	if note.Labels["by"] != by {
		t.Errorf("%s was released by %s, want %s", name, note.Labels["by"], by)
	}
}

func succeeds(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
