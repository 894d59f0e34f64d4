package scenarios_test

import (
	"testing"
	"time"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

func TestScenario12_RareObjectIsOnTheFirstPage(t *testing.T) {
	ctx := kit.Deadline(t)
	crowd := kit.CrowdOfConfigMaps(t)
	client := kit.NewClient(t, kit.CrowdedCluster(t))
	request := &kubeconnectv1.ListRequest{
		Resource: "configmaps", Namespace: crowd.Namespace, LabelSelector: "rare=yes", PageSize: 1,
	}
	if _, err := client.List(ctx, request); err != nil {
		t.Fatal(err)
	}

	began := time.Now()
	first, err := client.List(ctx, request)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("one of %d by label, page size 1: %v", crowd.Count, time.Since(began))
	wantPage(t, first, crowd.Rare[0], len(crowd.Rare)-1)

	request.PageToken = first.GetNextPageToken()
	second, err := client.List(ctx, request)
	if err != nil {
		t.Fatal(err)
	}
	wantPage(t, second, crowd.Rare[1], 0)
	if second.GetNextPageToken() != "" {
		t.Error("the last page has a token")
	}
}

// wantPage fails the test unless a page has one object with this name and the given number
// remaining.
func wantPage(t *testing.T, page *kubeconnectv1.ListResponse, name string, remaining int) {
	t.Helper()
	if len(page.GetObjects()) != 1 || page.GetObjects()[0].GetName() != name {
		t.Errorf("a page of %d objects, want only %s", len(page.GetObjects()), name)
	}
	if page.GetRemainingItemCount() != int64(remaining) {
		t.Errorf("remaining %d, want %d", page.GetRemainingItemCount(), remaining)
	}
}
