package kubeapi_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

// configOf returns the configuration of client-go for a service: only the address is another one.
func configOf(service *harness.Service) *rest.Config {
	return &rest.Config{Host: service.Address, QPS: -1}
}

// TestClientGo_InformersOfAllKindsHaveTheObjects follows ConfigMaps with typed informers, in JSON and in protobuf, with dynamic ones and
// with ones of the metadata, while objects change.
func TestClientGo_InformersOfAllKindsHaveTheObjects(t *testing.T) {
	t.Parallel()
	ctx := kit.Deadline(t)
	w := &world{t: t, namespaces: []string{kit.NewNamespace(ctx, t, kit.Cluster(t))}}
	namespace := w.namespaces[0]
	service := harness.StartService(t, kit.Cluster(t).Kubeconfig)
	asJSON := configOf(service)
	asProtobuf := configOf(service)
	asProtobuf.ContentType, asProtobuf.AcceptContentTypes = runtime.ContentTypeProtobuf, runtime.ContentTypeProtobuf+","+runtime.ContentTypeJSON
	configMaps := schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	followed := map[string]cache.SharedInformer{
		"typed, JSON":     typedInformer(t, asJSON, namespace),
		"typed, protobuf": typedInformer(t, asProtobuf, namespace),
		"dynamic":         dynamicInformer(t, asJSON, configMaps, namespace),
		"metadata":        metadataInformer(t, asProtobuf, configMaps, namespace),
	}
	var running sync.WaitGroup
	defer running.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for name, informer := range followed {
		running.Go(func() { informer.RunWithContext(ctx) })
		if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
			t.Fatalf("%s: no snapshot", name)
		}
	}
	w.write(ctx, newRandom(t))
	list, err := kit.Cluster(t).Client.CoreV1().ConfigMaps(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, object := range list.Items {
		want = append(want, object.Name+"@"+object.ResourceVersion)
	}
	slices.Sort(want)
	for name, informer := range followed {
		kit.Eventually(ctx, t, name+" has the objects", func() error {
			if got := storeOf(informer); !slices.Equal(got, want) {
				return fmt.Errorf("it has %q, want %q", got, want)
			}
			return nil
		})
	}
}

func storeOf(informer cache.SharedInformer) (names []string) {
	for _, item := range informer.GetStore().List() {
		object := item.(metav1.Object)
		names = append(names, object.GetName()+"@"+object.GetResourceVersion())
	}
	slices.Sort(names)
	return names
}

func typedInformer(t *testing.T, config *rest.Config, namespace string) cache.SharedInformer {
	t.Helper()
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace(namespace)).Core().V1().ConfigMaps().Informer()
}

func dynamicInformer(t *testing.T, config *rest.Config, resource schema.GroupVersionResource, namespace string) cache.SharedInformer {
	t.Helper()
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return dynamicinformer.NewFilteredDynamicInformer(client, resource, namespace, 0, cache.Indexers{}, nil).Informer()
}

func metadataInformer(t *testing.T, config *rest.Config, resource schema.GroupVersionResource, namespace string) cache.SharedInformer {
	t.Helper()
	client, err := metadata.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return metadatainformer.NewFilteredMetadataInformer(client, resource, namespace, 0, cache.Indexers{}, nil).Informer()
}

// killedInformers is the number of informers of a replica that is killed.
const killedInformers = 100

// TestClientGo_AKilledReplicaCausesNoLists kills a replica under many informers, and starts another one at its address. The informers
// continue where they were: none of them receives that its version has expired, and the API server gets no more lists than the one
// of the new replica.
func TestClientGo_AKilledReplicaCausesNoLists(t *testing.T) {
	t.Parallel()
	ctx := kit.DeadlineAfter(t, kit.FaultPatience)
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	gadgets := kit.NewCustomResource(ctx, t, kit.Cluster(t), namespace)
	gadgets.Define("v1")
	for i := range 20 {
		kit.CreateGadget(t, gadgets, namespace, fmt.Sprint("before-", i), nil, "1")
	}
	service := harness.StartMortalService(t, kit.Cluster(t).Kubeconfig, "127.0.0.1:0")
	resource := schema.GroupVersionResource{Group: gadgets.Group, Version: "v1", Resource: "gadgets"}
	var expired atomic.Int64
	var running sync.WaitGroup
	defer running.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	followed := make([]cache.SharedInformer, killedInformers)
	for i := range followed {
		followed[i] = dynamicInformer(t, configOf(service), resource, namespace)
		if err := followed[i].SetWatchErrorHandlerWithContext(func(_ context.Context, _ *cache.Reflector, err error) {
			if apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
				expired.Add(1)
			}
		}); err != nil {
			t.Fatal(err)
		}
		running.Go(func() { followed[i].RunWithContext(ctx) })
	}
	for _, informer := range followed {
		if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
			t.Fatal("no snapshot")
		}
	}
	before := listsOf(ctx, t, gadgets.Group)
	service.Crash()
	for i := range 10 {
		kit.CreateGadget(t, gadgets, namespace, fmt.Sprint("meanwhile-", i), nil, "1")
	}
	if err := gadgets.Objects("v1", namespace).Delete(ctx, "before-0", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	harness.StartMortalService(t, kit.Cluster(t).Kubeconfig, kit.HostPort(service))
	kit.CreateGadget(t, gadgets, namespace, "after", nil, "1")
	list, err := gadgets.Objects("v1", namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, object := range list.Items {
		want = append(want, object.GetName()+"@"+object.GetResourceVersion())
	}
	slices.Sort(want)
	for i, informer := range followed {
		kit.Eventually(ctx, t, fmt.Sprintf("informer %d has the objects", i), func() error {
			if got := storeOf(informer); !slices.Equal(got, want) {
				return fmt.Errorf("it has %d objects, want %d", len(got), len(want))
			}
			return nil
		})
	}
	// One list is this test's, and the new replica lists once, or asks for the current version.
	if more := listsOf(ctx, t, gadgets.Group) - before; more > 6 {
		t.Errorf("the API server got %d lists for %d informers", more, killedInformers)
	}
	if count := expired.Load(); count > 0 {
		t.Errorf("%d informers received that their version has expired", count)
	}
}

// listsOf returns the number of lists of a group that the API server has served.
func listsOf(ctx context.Context, t *testing.T, group string) (lists int) {
	t.Helper()
	text, err := kit.Cluster(t).Client.RESTClient().Get().AbsPath("/metrics").DoRaw(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, "apiserver_request_total{") || !strings.Contains(line, `group="`+group+`"`) || !strings.Contains(line, `verb="LIST"`) {
			continue
		}
		var count int
		if _, err := fmt.Sscan(line[strings.LastIndexByte(strings.TrimSpace(line), ' ')+1:], &count); err != nil {
			t.Fatal(err)
		}
		lists += count
	}
	return lists
}

// TestClientGo_ElectsALeader has two candidates, of which one gives up.
func TestClientGo_ElectsALeader(t *testing.T) {
	t.Parallel()
	ctx := kit.Deadline(t)
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	service := harness.StartService(t, kit.Cluster(t).Kubeconfig)
	leading := make(chan string, 2)
	var running sync.WaitGroup
	defer running.Wait()
	ctx, cancelAll := context.WithCancel(ctx)
	defer cancelAll()
	cancels := map[string]context.CancelFunc{}
	for _, name := range []string{"a", "b"} {
		client, err := kubernetes.NewForConfig(configOf(service))
		if err != nil {
			t.Fatal(err)
		}
		candidate, cancel := context.WithCancel(ctx)
		cancels[name] = cancel
		running.Go(func() {
			leaderelection.RunOrDie(candidate, leaderelection.LeaderElectionConfig{
				Lock: &resourcelock.LeaseLock{
					LeaseMeta: metav1.ObjectMeta{Namespace: namespace, Name: "leader"}, Client: client.CoordinationV1(),
					LockConfig: resourcelock.ResourceLockConfig{Identity: name},
				},
				ReleaseOnCancel: true, LeaseDuration: 60 * time.Second, RenewDeadline: 40 * time.Second, RetryPeriod: 200 * time.Millisecond,
				Callbacks: leaderelection.LeaderCallbacks{
					OnStartedLeading: func(context.Context) { leading <- name }, OnStoppedLeading: func() {},
				},
			})
		})
	}
	first := <-leading
	cancels[first]()
	select {
	case second := <-leading:
		if second == first {
			t.Errorf("%s leads again", second)
		}
	case <-ctx.Done():
		t.Fatal(context.Cause(ctx))
	}
}

// TestClientGo_UpdatesKeepTheManagersOfFields reads an object from the cache, which has no managedFields, and updates it.
func TestClientGo_UpdatesKeepTheManagersOfFields(t *testing.T) {
	t.Parallel()
	ctx := kit.Deadline(t)
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	service := harness.StartService(t, kit.Cluster(t).Kubeconfig)
	client, err := kubernetes.NewForConfig(configOf(service))
	if err != nil {
		t.Fatal(err)
	}
	created := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "managed"}, Data: map[string]string{"a": "1"}}
	if _, err := client.CoreV1().ConfigMaps(namespace).Create(ctx, created, metav1.CreateOptions{FieldManager: "first"}); err != nil {
		t.Fatal(err)
	}
	var cached *corev1.ConfigMap
	kit.Eventually(ctx, t, "the object is in the cache", func() (err error) {
		cached, err = client.CoreV1().ConfigMaps(namespace).Get(ctx, "managed", metav1.GetOptions{ResourceVersion: "0"})
		if err == nil && len(cached.ManagedFields) > 0 {
			err = errors.New("the object is not from the cache")
		}
		return err
	})
	cached.Data["b"] = "2"
	if _, err := client.CoreV1().ConfigMaps(namespace).Update(ctx, cached, metav1.UpdateOptions{FieldManager: "second"}); err != nil {
		t.Fatal(err)
	}
	now, err := kit.Cluster(t).Client.CoreV1().ConfigMaps(namespace).Get(ctx, "managed", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	managers := map[string]string{}
	for _, entry := range now.ManagedFields {
		managers[entry.Manager] = string(entry.FieldsV1.GetRawBytes())
	}
	if !strings.Contains(managers["first"], `"f:a"`) || !strings.Contains(managers["second"], `"f:b"`) || strings.Contains(managers["second"], `"f:a"`) {
		t.Errorf("the managers are %v", managers)
	}
}
