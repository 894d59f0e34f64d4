package kit

import (
	"context"
	"fmt"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
)

// CompactingCluster is a control plane whose API server loses its history within seconds: etcd is
// compacted every second, and there is no watch cache.
var CompactingCluster = Shared("--apiserver-arg", "etcd-compaction-interval=1s", "--apiserver-arg", "watch-cache=false")

const (
	// bigSize is close to the size limit of a ConfigMap.
	bigSize = 1_000_000
	// beyondWindow is a number of changes of such large objects that exceeds the service's window:
	// 16 MiB of objects before and after a change.
	beyondWindow = 20
)

// ExceedWindow makes enough changes for the window of the service to lose the earlier ones.
func ExceedWindow(ctx context.Context, t *testing.T, client ResourceClient, write ConfigMaps) {
	t.Helper()
	last := write.CreateBig("pushes-out", nil)
	for i := range beyondWindow {
		last = write.Touch("pushes-out", fmt.Sprint(i))
	}
	UntilRead(ctx, t, client, "configmaps", last)
}

// UntilCompacted blocks until the API server has lost the history since a version.
func UntilCompacted(ctx context.Context, t *testing.T, controlPlane *harness.Cluster, version string) {
	t.Helper()
	seconds := int64(1)
	Eventually(ctx, t, "the history is compacted", func() error {
		events, err := controlPlane.Client.CoreV1().ConfigMaps("").Watch(ctx, metav1.ListOptions{ResourceVersion: version, TimeoutSeconds: &seconds})
		if err != nil {
			return ignoreExpired(err)
		}
		defer events.Stop()
		for event := range events.ResultChan() {
			if status, ok := event.Object.(*metav1.Status); ok {
				return ignoreExpired(apierrors.FromObject(status))
			}
		}
		return fmt.Errorf("the API server still has the history since %s", version)
	})
}

func ignoreExpired(err error) error {
	if apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
		return nil
	}
	return err
}
