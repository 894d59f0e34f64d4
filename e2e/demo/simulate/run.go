package simulate

import (
	"context"
	"fmt"
	"os"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
)

const (
	faultPeriod   = time.Second
	backupPeriod  = 5 * time.Second
	nodePeriod    = 10 * time.Second
	releasePeriod = time.Minute
)

// The rate limits of the client, so high that no write waits.
const (
	requestsPerSecond = 100
	requestBurst      = 200
)

// Simulation writes to one cluster.
type Simulation struct {
	client  kubernetes.Interface
	dynamic dynamic.Interface
	pods    cache.SharedIndexInformer
	events  record.EventBroadcaster
	// kubeletPort is the port of the kubelets of all nodes.
	kubeletPort int32
	containers  *containers
}

// New returns a simulation that does nothing until Run is called.
func New(config *rest.Config) (*Simulation, error) {
	config = rest.AddUserAgent(rest.CopyConfig(config), "demo")
	config.QPS, config.Burst = requestsPerSecond, requestBurst
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	objects, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	pods := coreinformers.NewPodInformer(client, metav1.NamespaceAll, 0, nil)
	return &Simulation{client: client, dynamic: objects, pods: pods, containers: newContainers()}, nil
}

// Run simulates incidents until ctx is done, and then waits for its goroutines. It is called once.
// Errors of single writes are printed to the standard error output, and the writes are repeated
// later.
func (s *Simulation) Run(ctx context.Context) {
	s.startEvents(ctx)
	defer s.events.Shutdown()
	defer s.startKubelets()()

	var group sync.WaitGroup
	defer group.Wait()
	group.Go(func() { s.pods.RunWithContext(ctx) })
	if !cache.WaitForCacheSync(ctx.Done(), s.pods.HasSynced) {
		return
	}
	group.Go(func() { every(ctx, nodePeriod, newNodeKeeper(s).keep) })
	group.Go(func() { every(ctx, faultPeriod, newFaults(s).play) })
	group.Go(func() { every(ctx, backupPeriod, s.keepBackups) })
	group.Go(func() { every(ctx, releasePeriod, s.release) })
}

// startEvents starts the writer of events, which counts repeated events instead of dropping them.
func (s *Simulation) startEvents(ctx context.Context) {
	s.events = record.NewBroadcaster(record.WithContext(ctx), record.WithCorrelatorOptions(record.CorrelatorOptions{BurstSize: 1000, QPS: 1}))
	s.events.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: s.client.CoreV1().Events(metav1.NamespaceAll)})
}

// recorder returns a recorder of events that a component of a node reports.
func (s *Simulation) recorder(component, node string) record.EventRecorder {
	return s.events.NewRecorder(scheme.Scheme, corev1.EventSource{Component: component, Host: node})
}

// every calls act at once, and then periodically until ctx is done.
func every(ctx context.Context, period time.Duration, act func(ctx context.Context) error) {
	ticker := time.NewTicker(period)
	defer ticker.Stop()
	for {
		if err := act(ctx); err != nil && ctx.Err() == nil && !isExpected(err) {
			fmt.Fprintln(os.Stderr, "demo:", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// isExpected reports whether an error is of an object that another writer has changed or deleted, or
// that does not exist yet.
func isExpected(err error) bool { return apierrors.IsConflict(err) || apierrors.IsNotFound(err) }
