package limits_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

const (
	podCount = 10_000
	// podMemory bounds the service's memory for these pods, as the operating system counts it, in
	// addition to its memory without pods.
	podMemory = 150 << 20
)

func TestMemory_HoldsTenThousandPods(t *testing.T) {
	ctx := kit.DeadlineAfter(t, kit.CrowdPatience)
	namespace := createPods(ctx, t)
	service := harness.StartService(t, kit.CrowdedCluster(t).Kubeconfig)
	client := harness.Dial(harness.HTTP2(t), service.Address, harness.Connect).Resources
	kit.UntilProbe(ctx, t, service, "/readyz", http.StatusOK)
	empty := kit.ResidentMemory(t, service.PID())

	request := &kubeconnectv1.ListRequest{
		Resource: "pods", Namespace: namespace, Encoding: kubeconnectv1.Encoding_ENCODING_PROTOBUF,
	}
	began := time.Now()
	objects := kit.ListAll(ctx, t, client, request)
	cold := time.Since(began)
	if len(objects) != podCount {
		t.Errorf("%d pods, want %d", len(objects), podCount)
	}
	first := kit.ResidentMemory(t, service.PID()) - empty
	request.PageToken, began = "", time.Now()
	kit.ListAll(ctx, t, client, request)
	warm := time.Since(began)

	second := kit.ResidentMemory(t, service.PID()) - empty
	t.Logf("%d pods: the first list %v, the second %v; %s a pod in the response", podCount, cold, warm, averageSize(objects))
	t.Logf("memory: %d MiB without pods; %d MiB more after the first list, %d MiB after the second", empty>>20, first>>20, second>>20)
	if second > podMemory {
		t.Errorf("%d MiB for %d pods, want at most %d", second>>20, podCount, podMemory>>20)
	}
}

func averageSize(objects []*kubeconnectv1.Object) string {
	total := 0
	for _, object := range objects {
		total += len(object.GetProtobuf())
	}
	return fmt.Sprintf("%d bytes", total/max(1, len(objects)))
}

// createPods creates the pods in a new namespace, without nodes.
func createPods(ctx context.Context, t *testing.T) string {
	t.Helper()
	began, namespace := time.Now(), kit.NewNamespace(ctx, t, kit.CrowdedCluster(t))
	api := kit.CrowdedCluster(t).Client.CoreV1().Pods(namespace)
	err := kit.CreateMany(ctx, podCount, func(ctx context.Context, i int) error {
		_, err := api.Create(ctx, kit.BusyPod(i), metav1.CreateOptions{})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	one, err := api.Get(ctx, kit.BusyPod(0).Name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(one)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("created %d pods of %d bytes (%d as JSON) in %v", podCount, one.Size(), len(text), time.Since(began))
	return namespace
}
