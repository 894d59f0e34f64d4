package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
)

const (
	podCount = 10_000
	// podMemory bounds the service's memory for these pods, as the operating system counts it, in
	// addition to its memory without pods.
	podMemory = 150 << 20
)

func TestMemory_HoldsTenThousandPods(t *testing.T) {
	ctx := deadlineAfter(t, crowdPatience)
	namespace := createPods(ctx, t)
	service := harness.StartService(t, crowdedCluster(t).Kubeconfig)
	client := harness.Dial(harness.HTTP2(t), service.Address, harness.Connect).Resources
	untilProbe(ctx, t, service, "/readyz", http.StatusOK)
	empty := residentMemory(t, service.PID())

	request := &kubeconnectv1.ListRequest{
		Resource: "pods", Namespace: namespace, Encoding: kubeconnectv1.Encoding_ENCODING_PROTOBUF,
	}
	began := time.Now()
	objects := listAll(ctx, t, client, request)
	cold := time.Since(began)
	if len(objects) != podCount {
		t.Errorf("%d pods, want %d", len(objects), podCount)
	}
	first := residentMemory(t, service.PID()) - empty
	request.PageToken, began = "", time.Now()
	listAll(ctx, t, client, request)
	warm := time.Since(began)

	second := residentMemory(t, service.PID()) - empty
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

// residentMemory returns the memory of a process as the operating system counts it, in bytes.
func residentMemory(t *testing.T, pid int) int {
	t.Helper()
	text, err := exec.Command("ps", "-o", "rss=", "-p", strconv.Itoa(pid)).Output()
	if err != nil {
		t.Fatal(err)
	}
	kibibytes, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	return kibibytes << 10
}

// createPods creates the pods in a new namespace, without nodes.
func createPods(ctx context.Context, t *testing.T) string {
	t.Helper()
	began, namespace := time.Now(), newNamespace(ctx, t, crowdedCluster(t))
	api := crowdedCluster(t).Client.CoreV1().Pods(namespace)
	err := createMany(ctx, podCount, func(ctx context.Context, i int) error {
		_, err := api.Create(ctx, busyPod(i), metav1.CreateOptions{})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	one, err := api.Get(ctx, busyPod(0).Name, metav1.GetOptions{})
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
