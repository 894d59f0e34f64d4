package informer_test

import (
	"context"
	"math"
	"os"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
)

// lookInterval is the interval at which readers read the store of client-go, and at which its
// blocked handlers look for their release. The programs have the same one.
const lookInterval = 50 * time.Millisecond

// startClientGo starts client-go's SharedInformer in this process.
func startClientGo(t *testing.T, follows settings, record *recorder) func() {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", follows.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	informer := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace(follows.Namespace),
		informers.WithTweakListOptions(func(options *metav1.ListOptions) { options.LabelSelector = follows.LabelSelector }),
	).Core().V1().ConfigMaps().Informer()

	ctx, cancel := context.WithCancel(t.Context())
	subscribe(t, informer, reporting("quick", record, func() {}))
	subscribe(t, informer, reporting("slow", record, func() { untilReleased(ctx, follows.Release) }))
	var running sync.WaitGroup
	running.Go(func() { informer.RunWithContext(ctx) })
	running.Go(func() { look(ctx, informer.GetStore(), record) })
	return func() {
		cancel()
		running.Wait()
	}
}

func subscribe(t *testing.T, informer cache.SharedIndexInformer, handlers cache.ResourceEventHandler) {
	t.Helper()
	if _, err := informer.AddEventHandler(handlers); err != nil {
		t.Fatal(err)
	}
}

// reporting returns handlers that record their calls. Updates are recorded after block returns.
func reporting(name string, record *recorder, block func()) cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		AddFunc: func(object any) {
			record.call(call{Handlers: name, Call: "add", Name: nameOf(object), New: versionOf(object)})
		},
		UpdateFunc: func(before, object any) {
			block()
			record.call(call{Handlers: name, Call: "update", Name: nameOf(object), Old: versionOf(before), New: versionOf(object)})
		},
		DeleteFunc: func(object any) {
			if last, ok := object.(cache.DeletedFinalStateUnknown); ok {
				object = last.Obj
			}
			record.call(call{Handlers: name, Call: "delete", Name: nameOf(object), Old: versionOf(object)})
		},
	}
}

func nameOf(object any) string { return object.(*corev1.ConfigMap).Name }

func versionOf(object any) *version {
	of := object.(*corev1.ConfigMap)
	return &version{string(of.UID), of.ResourceVersion}
}

// untilReleased blocks until a file exists.
func untilReleased(ctx context.Context, file string) {
	if file == "" {
		return
	}
	ticks := time.NewTicker(lookInterval)
	defer ticks.Stop()
	for {
		if _, err := os.Stat(file); err == nil {
			return
		}
		select {
		case <-ticks.C:
		case <-ctx.Done():
			return
		}
	}
}

// look records the content of the store again and again.
func look(ctx context.Context, store cache.Store, record *recorder) {
	ticks := time.NewTicker(lookInterval)
	defer ticks.Stop()
	for fewest := math.MaxInt; ; {
		objects := make(map[string]version)
		for _, object := range store.List() {
			objects[nameOf(object)] = *versionOf(object)
		}
		if len(objects) > 0 || fewest < math.MaxInt {
			fewest = min(fewest, len(objects))
		}
		record.store(objects, fewest)
		select {
		case <-ticks.C:
		case <-ctx.Done():
			return
		}
	}
}
