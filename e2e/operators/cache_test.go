package operators_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

// followAll reads objects of several kinds from a cache of controller-runtime, in all forms that it has: types, unstructured objects, and
// metadata alone; of selected objects, and by an index.
func followAll(t *testing.T, of *rest.Config) {
	ctx := kit.Deadline(t)
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	admin := adminClient(t)
	createAll(ctx, t, admin, namespace, "before")
	followed, err := cache.New(of, cache.Options{
		Scheme: newScheme(t), DefaultNamespaces: map[string]cache.Config{namespace: {}},
		ByObject: map[client.Object]cache.ByObject{&corev1.Secret{}: {Label: labels.SelectorFromSet(labels.Set{"color": "red"})}},
	})
	succeeds(t, err)
	succeeds(t, followed.IndexField(ctx, &corev1.ConfigMap{}, "color", func(object client.Object) []string {
		return []string{object.(*corev1.ConfigMap).Data["color"]}
	}))
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	running.Go(func() {
		if err := followed.Start(ctx); err != nil {
			t.Error(err)
		}
	})
	deleted := notesDeletions(ctx, t, followed)
	wantCached(ctx, t, followed, "before")

	createAll(ctx, t, admin, namespace, "later")
	page := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "before"}}
	succeeds(t, admin.Delete(ctx, page))
	succeeds(t, admin.Delete(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "before"}}))
	succeeds(t, admin.Delete(ctx, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "before"}}))
	succeeds(t, admin.Delete(ctx, &Website{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "before"}}))
	wantCached(ctx, t, followed, "later")
	select {
	case name := <-deleted:
		if name != "before" {
			t.Errorf("%s was deleted, want before", name)
		}
	case <-ctx.Done():
		t.Error("no deletion: ", context.Cause(ctx))
	}
	watchOne(ctx, t, of, namespace)
}

// createAll creates an object of each kind, with a name.
func createAll(ctx context.Context, t *testing.T, admin client.Client, namespace, name string) {
	t.Helper()
	meta := func(color string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: kit.Labels{"color": color}}
	}
	hidden := meta("blue")
	hidden.Name += "-hidden"
	for _, object := range []client.Object{
		&corev1.ConfigMap{ObjectMeta: meta("red"), Data: map[string]string{"color": "red"}},
		&corev1.Secret{ObjectMeta: meta("red")}, &corev1.Secret{ObjectMeta: hidden},
		&corev1.Service{ObjectMeta: meta("red"), Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}},
		&Website{ObjectMeta: meta("red"), Spec: WebsiteSpec{Color: "red"}},
	} {
		succeeds(t, admin.Create(ctx, object))
	}
}

// notesDeletions returns the names of Websites that are deleted.
func notesDeletions(ctx context.Context, t *testing.T, followed cache.Cache) <-chan string {
	t.Helper()
	names := make(chan string, 10)
	informer, err := followed.GetInformer(ctx, &Website{})
	succeeds(t, err)
	_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{DeleteFunc: func(object any) {
		if site, ok := object.(*Website); ok {
			names <- site.Name
		}
	}})
	succeeds(t, err)
	return names
}

// wantCached blocks until the cache has exactly the objects of a name, in each form.
func wantCached(ctx context.Context, t *testing.T, followed cache.Cache, name string) {
	t.Helper()
	sites := &unstructured.UnstructuredList{}
	sites.SetGroupVersionKind(websites.WithKind("WebsiteList"))
	services := &metav1.PartialObjectMetadataList{}
	services.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ServiceList"))
	for form, list := range map[string]struct {
		into   client.ObjectList
		option []client.ListOption
	}{
		"types, by an index":    {&corev1.ConfigMapList{}, []client.ListOption{client.MatchingFields{"color": "red"}}},
		"types, selected":       {&corev1.SecretList{}, nil},
		"types, by a label":     {&WebsiteList{}, []client.ListOption{client.MatchingLabels{"color": "red"}}},
		"unstructured objects":  {sites, nil},
		"the metadata of kinds": {services, nil},
	} {
		kit.Eventually(ctx, t, "the cache has the objects as "+form, func() error {
			if err := followed.List(ctx, list.into, list.option...); err != nil {
				return err
			}
			if names := namesOf(t, list.into); !slices.Equal(names, []string{name}) {
				return fmt.Errorf("it has %q, want %q", names, name)
			}
			return nil
		})
	}
}

// namesOf returns the names of the objects of tests in a list, in order.
func namesOf(t *testing.T, list client.ObjectList) (names []string) {
	t.Helper()
	objects, err := apimeta.ExtractList(list)
	succeeds(t, err)
	for _, object := range objects {
		names = append(names, object.(client.Object).GetName())
	}
	slices.Sort(names)
	return names
}

// watchOne watches metadata by the client of controller-runtime, and changes an object by the client itself.
func watchOne(ctx context.Context, t *testing.T, of *rest.Config, namespace string) {
	t.Helper()
	watching, err := client.NewWithWatch(of, client.Options{Scheme: newScheme(t)})
	succeeds(t, err)
	metadata := &metav1.PartialObjectMetadataList{}
	metadata.SetGroupVersionKind(websites.WithKind("WebsiteList"))
	events, err := watching.Watch(ctx, metadata, client.InNamespace(namespace), client.MatchingLabels{"color": "red"})
	succeeds(t, err)
	defer func() {
		events.Stop()
		for range events.ResultChan() { // which blocks the watch otherwise
		}
	}()
	site := &Website{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "later"}}
	succeeds(t, watching.Get(ctx, client.ObjectKeyFromObject(site), site))
	site.Labels["color"] = "blue" // it leaves the selection
	succeeds(t, watching.Update(ctx, site))
	for _, want := range []watch.EventType{watch.Added, watch.Deleted} {
		select {
		case event := <-events.ResultChan():
			if object, ok := event.Object.(*metav1.PartialObjectMetadata); event.Type != want || !ok || object.Name != "later" {
				t.Errorf("event %s of %v, want %s of the metadata of later", event.Type, event.Object, want)
			}
		case <-ctx.Done():
			t.Fatal("no event ", want, ": ", context.Cause(ctx))
		}
	}
	outdated := site.copied()
	outdated.ResourceVersion = "1"
	if err := watching.Update(ctx, outdated); !apierrors.IsConflict(err) {
		t.Errorf("an update of an outdated object: %v, want a conflict", err)
	}
	if err := watching.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "missing"}, site); !apierrors.IsNotFound(err) {
		t.Errorf("an object that does not exist: %v, want NotFound", err)
	}
}
