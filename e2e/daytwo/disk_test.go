package daytwo_test

import (
	"errors"
	"net/http"
	"os"
	"testing"

	"connectrpc.com/connect/v2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
	"github.com/kubeconnect/kubeconnect/e2e/record"
	"github.com/kubeconnect/kubeconnect/e2e/validate"
)

// etcd has no space left. Changes get the API server's error, reads and streams continue and are
// current, callers are still authenticated, and nothing needs a restart when there is space again.
func TestFullDisk_OfEtcdFailsOnlyChanges(t *testing.T) {
	t.Parallel()
	ctx := kit.DeadlineAfter(t, kit.FaultPatience)
	controlPlane := startCluster(t)
	namespace := kit.NewNamespace(ctx, t, controlPlane)
	write := kit.ConfigMapsIn(ctx, t, controlPlane, namespace)
	one := write.Create("one", nil)
	doomed := write.Create("doomed", nil)
	service := harness.StartService(t, controlPlane.Kubeconfig)
	programs := startCallers(ctx, t, service, write, namespace)
	client := harness.Dial(harness.HTTP2(t), service.Address, harness.GRPC).Resources
	stream := record.Watch(t, client, kit.InNamespace("configmaps", namespace))
	stream.Reaches(ctx, doomed.ResourceVersion)
	change := `{"data":{"key":"changed"}}`
	patch := kit.WithData(&kubeconnectv1.PatchRequest{Resource: "configmaps", Namespace: namespace, Name: "one", Type: kit.MergePatch}, change)

	if err := controlPlane.SetNoSpace(ctx, true); err != nil {
		t.Fatal(err)
	}
	_, err := write.API.Patch(ctx, "one", types.MergePatchType, []byte(change), metav1.PatchOptions{})
	var direct apierrors.APIStatus
	if !errors.As(err, &direct) {
		t.Fatalf("the API server returns %v for a change", err)
	}
	_, err = client.Patch(ctx, patch)
	kit.WantError(t, err, connect.CodeInternal, "database space exceeded")
	kit.WantSameStatus(t, err, direct.Status())
	for name, consistency := range map[string]kubeconnectv1.Consistency{"cached": 0, "latest": kit.Latest} {
		got, err := client.Get(ctx, &kubeconnectv1.GetRequest{Resource: "configmaps", Namespace: namespace, Name: "one", Consistency: consistency})
		if err != nil || got.GetObject().GetResourceVersion() != one.ResourceVersion || got.GetFreshness().GetStale() {
			t.Errorf("the %s object is %v (%v), want version %s", name, got, err, one.ResourceVersion)
		}
	}
	late := record.Watch(t, client, kit.InNamespace("configmaps", namespace))
	late.Synced(ctx)
	write.Delete("doomed") // deletions need no space
	for name, stream := range map[string]*record.Stream{"the open stream": stream, "the late stream": late} {
		stream.Until(ctx, name+" has the deletion", func(view *record.View) bool {
			_, has := view.Model.Objects[validate.Key{Namespace: namespace, Name: "doomed"}]
			return !has
		})
		stream.Until(ctx, name+" is current", func(view *record.View) bool { return !view.Freshness.GetStale() })
	}

	if err := controlPlane.SetNoSpace(ctx, false); err != nil {
		t.Fatal(err)
	}
	patched := kit.Patch(ctx, t, client, patch)
	if view := stream.Reaches(ctx, patched.GetObject().GetResourceVersion()); view.Model.Resets != 1 {
		t.Errorf("the stream had %d snapshots, want only the first", view.Model.Resets)
	}
	programs.change(ctx, "followed", "with-space")
}

// The service's log is on a full disk.
func TestFullDisk_OfTheLogIsNotNoticed(t *testing.T) {
	t.Parallel()
	const full = "/dev/full"
	if _, err := os.Stat(full); err != nil {
		t.Skip("this system has no device that is always full: ", err)
	}
	ctx := kit.Deadline(t)
	path, err := harness.Binary("KUBECONNECT_BIN", "kubeconnect")
	if err != nil {
		t.Fatal(err)
	}
	address := harness.ReserveAddress(t)
	process := kit.StartProcess(t, "/bin/sh", "-c", `exec "$0" "$@" 2>`+full, path,
		"--kubeconfig", kit.Cluster(t).Kubeconfig, "--auth", "none", "--listen", address, "--log-level", "debug")
	service := &harness.Service{Process: process, Address: "http://" + address}
	kit.UntilProbe(ctx, t, service, "/readyz", http.StatusOK)
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	write := kit.ConfigMapsIn(ctx, t, kit.Cluster(t), namespace)
	write.Create("one", nil)
	client := harness.Dial(harness.HTTP2(t), service.Address, harness.GRPC).Resources
	stream := record.Watch(t, client, kit.InNamespace("configmaps", namespace))
	stream.Synced(ctx)
	patched := kit.Patch(ctx, t, client, kit.WithData(&kubeconnectv1.PatchRequest{
		Resource: "configmaps", Namespace: namespace, Name: "one", Type: kit.MergePatch,
	}, `{"data":{"key":"changed"}}`))
	stream.Reaches(ctx, patched.GetObject().GetResourceVersion())
	stream.Close()
	if err := process.Stop(); err != nil {
		t.Errorf("the service exited: %v", err)
	}
}
