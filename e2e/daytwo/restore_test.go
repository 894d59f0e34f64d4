package daytwo_test

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"connectrpc.com/connect/v2"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
	"github.com/kubeconnect/kubeconnect/e2e/record"
)

// bump exceeds the number of changes between the backup and the restore.
const bump = 2000

// etcd is restored from a backup with higher versions, as docs/operations.md recommends. No replica is
// restarted and no token generation is changed: open streams, resumed ones and programs get a snapshot,
// and nothing of the history that was undone.
func TestRestore_WithHigherVersionsIsFollowed(t *testing.T) {
	t.Parallel()
	ctx := kit.DeadlineAfter(t, kit.FaultPatience)
	controlPlane := startCluster(t)
	namespace := kit.NewNamespace(ctx, t, controlPlane)
	write, with := kit.ConfigMapsIn(ctx, t, controlPlane, namespace), kit.Labels{"test": "restore"}
	request := &kubeconnectv1.WatchRequest{Resource: "configmaps", Namespace: namespace, LabelSelector: "test=restore"}
	kept := write.Create("kept", with)
	write.Create("deleted-later", with)
	service := harness.StartService(t, controlPlane.Kubeconfig)
	programs := startCallers(ctx, t, service, write, namespace)
	backup := filepath.Join(t.TempDir(), "backup")
	if err := controlPlane.Offline(func(etcd string) error { return os.CopyFS(backup, os.DirFS(etcd)) }); err != nil {
		t.Fatal(err)
	}
	client := harness.Dial(harness.HTTP2(t), service.Address, harness.GRPC).Resources
	open := record.Watch(t, client, request)
	open.Synced(ctx)
	write.Create("undone", with)
	write.Delete("deleted-later")
	programs.change(ctx, "followed", "undone")
	last := write.Touch("kept", "undone")
	point := kit.LastPoint(t, open.Reaches(ctx, last.ResourceVersion))
	page, err := client.List(ctx, &kubeconnectv1.ListRequest{Resource: "configmaps", Namespace: namespace, PageSize: 1})
	if err != nil || page.GetNextPageToken() == "" {
		t.Fatalf("the first page has the token %q (%v)", page.GetNextPageToken(), err)
	}

	if err := controlPlane.Offline(func(etcd string) error {
		return errors.Join(os.RemoveAll(etcd), os.CopyFS(etcd, os.DirFS(backup)), controlPlane.RaiseVersions(ctx, bump))
	}); err != nil {
		t.Fatal(err)
	}
	created := write.Create("made", with)
	if !kit.IsNewer(t, created.ResourceVersion, last.ResourceVersion) {
		t.Fatalf("the first version after the restore is %s, which is not higher than %s before", created.ResourceVersion, last.ResourceVersion)
	}
	want := kit.VersionsOf(kept, write.Get("deleted-later"), created)
	starting := harness.Dial(harness.HTTP2(t), harness.StartService(t, controlPlane.Kubeconfig).Address, harness.GRPC).Resources
	for name, stream := range map[string]*record.Stream{
		"the open stream":                        open,
		"the stream resumed at the same replica": record.Resume(t, client, request, point),
		"the stream resumed at a new replica":    record.Resume(t, starting, request, point),
	} {
		view := stream.Reaches(ctx, created.ResourceVersion)
		if got := kit.HeldVersions(view.Model); !maps.Equal(got, want) || view.Model.Resets != 2 {
			t.Errorf("%s has %v after %d snapshots, want %v after two", name, got, view.Model.Resets, want)
		}
	}
	_, err = client.List(ctx, &kubeconnectv1.ListRequest{Resource: "configmaps", Namespace: namespace, PageSize: 1, PageToken: page.GetNextPageToken()})
	kit.WantError(t, err, connect.CodeOutOfRange)
	kit.WantStatus(t, err, "Expired")
	programs.change(ctx, "followed", "restored")
}
