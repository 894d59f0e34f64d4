package writes_test

import (
	"testing"

	"connectrpc.com/connect/v2"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

// TestUpdate_ReportsWhetherItHasCreated updates a missing lease: as a dry run, then actually, then
// again at its version, then at an old version.
func TestUpdate_ReportsWhetherItHasCreated(t *testing.T) {
	t.Parallel()
	ctx, client := kit.Deadline(t), kit.NewClient(t, kit.Cluster(t))
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	update := func(dryRun bool, version string) (*kubeconnectv1.UpdateResponse, error) {
		return client.Update(ctx, &kubeconnectv1.UpdateRequest{
			Resource: "leases", Namespace: namespace, Name: "absent", DryRun: dryRun, Preconditions: &kubeconnectv1.Preconditions{ResourceVersion: version},
			Body: &kubeconnectv1.UpdateRequest_Data{Data: []byte(`{"metadata":{"name":"absent","labels":{"a":"b"}},"spec":{"holderIdentity":"` + version + `"}}`)},
		})
	}
	tried, err := update(true, "")
	if err != nil || !tried.GetCreated() {
		t.Errorf("dry run: created is %v, %v", tried.GetCreated(), err)
	}
	wantAbsent(ctx, t, namespace)
	first, err := update(false, "")
	if err != nil || !first.GetCreated() {
		t.Fatalf("created is %v, %v", first.GetCreated(), err)
	}
	second, err := update(false, first.GetObject().GetResourceVersion())
	if err != nil || second.GetCreated() {
		t.Errorf("second: created is %v, %v", second.GetCreated(), err)
	}
	_, err = update(false, first.GetObject().GetResourceVersion())
	kit.WantError(t, err, connect.CodeAborted)
}
