package e2e_test

import (
	"testing"
	"time"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
)

func TestScenario12_RareObjectIsOnTheFirstPage(t *testing.T) {
	ctx := deadline(t)
	crowd := crowdOfConfigMaps(t)
	client := newClient(t, crowdedCluster(t))
	request := &kubeconnectv1.ListRequest{
		Resource: "configmaps", Namespace: crowd.namespace, LabelSelector: "rare=yes", PageSize: 1,
	}
	if _, err := client.List(ctx, request); err != nil {
		t.Fatal(err)
	}

	began := time.Now()
	first, err := client.List(ctx, request)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("one of %d by label, page size 1: %v", crowd.count, time.Since(began))
	wantPage(t, first, crowd.rare[0], len(crowd.rare)-1)

	request.PageToken = first.GetNextPageToken()
	second, err := client.List(ctx, request)
	if err != nil {
		t.Fatal(err)
	}
	wantPage(t, second, crowd.rare[1], 0)
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
	if page.GetRemaining() != int64(remaining) {
		t.Errorf("remaining %d, want %d", page.GetRemaining(), remaining)
	}
}
