package permissions_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
	"github.com/kubeconnect/kubeconnect/e2e/record"
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/internal/responses"
)

// TestTokens_ShowNothingToAnotherCaller resumes with the token of a caller who may read more, as a watch
// and as a part of a WatchMany, at the replica that has issued the token and at another one. No response
// may have anything of the namespace that the second caller may not read, not even the name of a deleted
// object.
func TestTokens_ShowNothingToAnotherCaller(t *testing.T) {
	t.Parallel()
	ctx, services := kit.Deadline(t), []*harness.Service{kit.StartForCallers(t), kit.StartForCallers(t)}
	shared, hidden := kit.NewNamespace(ctx, t, kit.Cluster(t)), kit.NewNamespace(ctx, t, kit.Cluster(t))
	write, hide := kit.ConfigMapsIn(ctx, t, kit.Cluster(t), shared), kit.ConfigMapsIn(ctx, t, kit.Cluster(t), hidden)
	labels := kit.Labels{"of": shared}
	write.Create("kept", labels)
	for _, name := range []string{"deleted", "changed", "untouched"} {
		hide.Create(name, labels)
	}
	reader := func(name string, namespaces ...string) kit.RbacAccount {
		account := kit.RbacAccount{Account: kit.NewAccount(ctx, t, shared, name), Resource: "configmaps"}
		for _, namespace := range namespaces {
			account.Grant(namespace)
		}
		for _, service := range services {
			client := account.Calling(service, harness.GRPC).Resources
			kit.Eventually(ctx, t, "the namespaces are listed", func() error { return kit.ListsNamespaces(ctx, client, namespaces...) })
		}
		return account
	}
	more, less := reader("more", shared, hidden), reader("less", shared)
	for name, request := range map[string]*kubeconnectv1.WatchRequest{
		"all":        {LabelSelector: "of=" + shared},
		"a page":     {LabelSelector: "of=" + shared, Limit: 10, OrderBy: "metadata.name"},
		"the hidden": {LabelSelector: "of=" + shared, Namespace: hidden},
	} {
		request.Resource = "configmaps"
		token := tokenOf(ctx, t, more.Calling(services[0], harness.GRPC).Resources, request)
		t.Run(name, func(t *testing.T) {
			hide.Touch("changed", name)
			hide.Delete("deleted")
			last := write.Touch("kept", name)
			hide.Create("deleted", labels)
			resumed := harness.WatchSpecs(request)[0]
			resumed.OwnResumeToken = token
			for _, service := range services {
				client := less.Calling(service, harness.GRPC).Resources
				seen, err := untilVersion(ctx, client, resumed, last.ResourceVersion)
				if slices.Contains(seen, hidden) {
					t.Errorf("another caller receives objects of the namespaces %q", seen)
				}
				if request.Namespace == "" && !slices.Contains(seen, shared) {
					t.Errorf("another caller receives objects of the namespaces %q: %v", seen, err)
				}
			}
		})
	}
}

// tokenOf returns a resume token of a watch with its snapshot.
func tokenOf(ctx context.Context, t *testing.T, client kit.ResourceClient, request *kubeconnectv1.WatchRequest) string {
	t.Helper()
	if request.GetLimit() > 0 {
		page := record.WatchPage(t, client, request, record.PageView{}.Page)
		defer page.Close()
		return page.Until(ctx, "the page is complete", func(view *record.PageView) bool { return len(view.Objects) > 1 && view.Token != "" }).Token
	}
	stream := record.Watch(t, client, request)
	defer stream.Close()
	return kit.LastPoint(t, stream.Synced(ctx)).Token
}

// untilVersion returns the namespaces of all objects of a part, up to the response with the object of
// a version, or until the part ends.
func untilVersion(ctx context.Context, client kit.ResourceClient, part *kubeconnectv1.WatchSpec, version string) (seen []string, err error) {
	stream, err := responses.Of(client.WatchMany(ctx, &kubeconnectv1.WatchManyRequest{Independent: true, Watches: []*kubeconnectv1.WatchSpec{part}}))
	if err != nil {
		return nil, err
	}
	defer stream.Close()
	for arrived := false; !arrived && stream.Receive(); {
		if status := stream.Msg().GetError(); status != nil {
			return seen, errors.New(status.GetMessage())
		}
		for _, event := range stream.Msg().GetResponse().GetEvents() {
			if event.GetObject() == nil {
				continue
			}
			seen = append(seen, event.GetObject().GetNamespace())
			arrived = arrived || event.GetObject().GetResourceVersion() == version
		}
	}
	return seen, stream.Err()
}
