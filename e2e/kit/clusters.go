package kit

import (
	"sync"
	"testing"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
)

// The control planes that tests share. Each starts when the first test needs it and ends with the
// test binary.
var (
	// Cluster is for tests that use only a namespace of their own.
	Cluster = Shared("--nodes", "5")
	// CrowdedCluster holds tens of thousands of objects, which would slow down all other tests.
	CrowdedCluster = Shared()
)

var started struct {
	mu       sync.Mutex // guards clusters
	clusters []*harness.Cluster
}

// Shared returns a function that starts a control plane with the first call and returns it with
// each call.
func Shared(args ...string) func(*testing.T) *harness.Cluster {
	start := sync.OnceValues(func() (*harness.Cluster, error) { return StartCluster(args...) })
	return func(t *testing.T) *harness.Cluster {
		t.Helper()
		started, err := start()
		if err != nil {
			t.Fatal(err)
		}
		return started
	}
}

// StartCluster starts a control plane that ends with the test binary.
func StartCluster(args ...string) (*harness.Cluster, error) {
	cluster, err := harness.StartCluster(args...)
	if err != nil {
		return nil, err
	}
	started.mu.Lock()
	defer started.mu.Unlock()
	started.clusters = append(started.clusters, cluster)
	return cluster, nil
}

func stopClusters() {
	started.mu.Lock()
	defer started.mu.Unlock()
	for _, cluster := range started.clusters {
		cluster.Stop()
	}
}
