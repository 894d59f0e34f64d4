package main

import (
	"context"
	"fmt"
	"runtime/debug"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
)

// The bench starts its own binary as a process with only an informer of all pods:
// bench informer KIND KUBECONFIG.
const (
	informerCommand = "informer"

	informerNone    = "none"
	informerTyped   = "typed"
	informerLean    = "lean" // typed, with a transform that many programs use
	informerDynamic = "dynamic"

	// The process prints informerFull when its informer has synced, and informerSettled when it has
	// also returned free memory to the operating system.
	informerFull    = "full"
	informerSettled = "settled"
)

func runInformer(ctx context.Context, kind, kubeconfig string) error {
	informer, err := newInformer(kind, kubeconfig)
	if err != nil {
		return err
	}
	if kind != informerNone {
		go informer.RunWithContext(ctx)
		if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
			return context.Cause(ctx)
		}
	}
	fmt.Println(informerFull)
	debug.FreeOSMemory() // so that the memory of the informer remains, without garbage
	fmt.Println(informerSettled)
	<-ctx.Done()
	return nil
}

// newInformer creates an informer as client-go's documentation does.
func newInformer(kind, kubeconfig string) (cache.SharedIndexInformer, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	if kind == informerDynamic {
		client, err := dynamic.NewForConfig(config)
		if err != nil {
			return nil, err
		}
		pods := corev1.SchemeGroupVersion.WithResource("pods")
		return dynamicinformer.NewDynamicSharedInformerFactory(client, 0).ForResource(pods).Informer(), nil
	}
	config.ContentType = asProtobuf
	config.AcceptContentTypes = asProtobuf + "," + asJSON
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	informer := informers.NewSharedInformerFactory(client, 0).Core().V1().Pods().Informer()
	if kind == informerLean {
		return informer, informer.SetTransform(dropManagedFields)
	}
	return informer, nil
}

func dropManagedFields(object any) (any, error) {
	if pod, ok := object.(*corev1.Pod); ok {
		pod.ManagedFields = nil
	}
	return object, nil
}
