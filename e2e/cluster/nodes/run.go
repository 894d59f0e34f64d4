package nodes

import (
	"context"
	"fmt"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

// The agent's client rate limits, so high that a thousand pods become Running within seconds.
const (
	requestsPerSecond = 1000
	requestBurst      = 2000
)

// Run creates the nodes node-0 to node-(count-1) where they are missing, and simulates every node
// and pod until ctx is done.
func Run(ctx context.Context, config *rest.Config, count int) error {
	config = rest.CopyConfig(config)
	config.QPS, config.Burst = requestsPerSecond, requestBurst
	client, err := kubernetes.NewForConfig(rest.AddUserAgent(config, "nodes"))
	if err != nil {
		return err
	}
	a := newAgent(client)
	ctx, cancel := context.WithCancel(ctx)
	defer a.group.Wait()
	defer cancel()
	return a.run(ctx, count)
}

// agent simulates all nodes and pods. Its goroutines end with run's context.
type agent struct {
	// Set once.
	client   kubernetes.Interface
	nodes    cache.SharedIndexInformer
	pods     cache.SharedIndexInformer // the pods that are bound to a node
	nodeKeys *queue
	podKeys  *queue

	addresses addresses
	group     sync.WaitGroup
}

func newAgent(client kubernetes.Interface) *agent {
	a := &agent{
		client: client,
		nodes:  coreinformers.NewNodeInformer(client, 0, nil),
		pods:   coreinformers.NewFilteredPodInformer(client, metav1.NamespaceAll, 0, nil, onlyBound),
	}
	a.nodeKeys = newQueue(a.playNode)
	a.podKeys = newQueue(a.playPod)
	return a
}

func onlyBound(options *metav1.ListOptions) {
	options.FieldSelector = fields.OneTermNotEqualSelector("spec.nodeName", "").String()
}

func (a *agent) run(ctx context.Context, count int) error {
	if err := a.fillCaches(ctx); err != nil {
		return err
	}
	for _, pod := range a.pods.GetStore().List() {
		a.addresses.skip(podOf(pod).Status.PodIP)
	}
	for index := range count {
		if err := a.makeNode(ctx, index); err != nil {
			return fmt.Errorf("create node %d: %w", index, err)
		}
	}
	a.group.Go(func() { a.nodeKeys.run(ctx) })
	a.group.Go(func() { a.podKeys.run(ctx) })
	a.keepLeases(ctx)
	return nil
}

// fillCaches blocks until every node and pod is cached. Their keys are in the queues from then on.
func (a *agent) fillCaches(ctx context.Context) error {
	if err := a.nodeKeys.follow(a.nodes); err != nil {
		return err
	}
	if err := a.podKeys.follow(a.pods); err != nil {
		return err
	}
	a.group.Go(func() { a.nodes.RunWithContext(ctx) })
	a.group.Go(func() { a.pods.RunWithContext(ctx) })
	cache.WaitForCacheSync(ctx.Done(), a.nodes.HasSynced, a.pods.HasSynced)
	return ctx.Err()
}
