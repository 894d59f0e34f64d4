package server

import (
	"context"
	"slices"
	"strings"
	"testing"

	"connectrpc.com/connect/v2"
	"google.golang.org/protobuf/proto"

	"github.com/kubeconnect/kubeconnect/auth"
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/internal/responses"
	"github.com/kubeconnect/kubeconnect/server/internal/objecttest"
	"github.com/kubeconnect/kubeconnect/server/internal/servertest"
)

// covering is a message that reports the covered namespaces.
type covering interface {
	GetNamespaces() []string
	GetWarnings() []string
}

func wantCoverage(t *testing.T, what string, answer covering, warning string, namespaces ...string) {
	t.Helper()
	var warnings []string
	if warning != "" {
		warnings = []string{warning}
	}
	if !slices.Equal(answer.GetNamespaces(), namespaces) || !slices.Equal(answer.GetWarnings(), warnings) {
		t.Errorf("%s: covers %q and warns %q, want %q and %q", what, answer.GetNamespaces(), answer.GetWarnings(), namespaces, warnings)
	}
}

const (
	listsTwo   = "the answer covers 2 of the cluster's namespaces: default, other; you may not list pods in the others"
	watchesTwo = "the answer covers 2 of the cluster's namespaces: default, other; you may not list and watch pods in the others"
	watchesOne = "the answer covers 1 of the cluster's namespaces: other; you may not list and watch pods in the others"
)

// TestResponse_NamesCoveredNamespaces makes each call for a caller with permissions in two
// namespaces, for each page, from the cache and from the API server.
func TestResponse_NamesCoveredNamespaces(t *testing.T) {
	api := servertest.TwoNamespaces()
	api.List = servertest.ListsByNamespace(api)
	rights := servertest.NewFakeRights(servertest.Some("default", "other"))
	s := withRights(t, api, rights)
	for name, change := range map[string]func(*kubeconnectv1.ListRequest){
		"cached":        func(*kubeconnectv1.ListRequest) {},
		"latest":        func(r *kubeconnectv1.ListRequest) { r.Consistency = kubeconnectv1.Consistency_CONSISTENCY_LATEST },
		"ordered":       func(r *kubeconnectv1.ListRequest) { r.OrderBy = "metadata.name desc" },
		"metadata only": func(r *kubeconnectv1.ListRequest) { r.MetadataOnly = true },
	} {
		request := &kubeconnectv1.ListRequest{Resource: "pods", PageSize: 2}
		change(request)
		first, err := s.resources.List(t.Context(), request)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		wantCoverage(t, name, first, listsTwo, "default", "other")
		request.PageToken = first.GetNextPageToken()
		second, err := s.resources.List(t.Context(), request)
		if err != nil || len(second.GetObjects()) != 1 {
			t.Fatalf("%s: the second page is %v, %v", name, second, err)
		}
		wantCoverage(t, name+", second page", second, listsTwo, "default", "other")
	}
	count, err := s.resources.Count(t.Context(), &kubeconnectv1.CountRequest{Resource: "pods"})
	if err != nil {
		t.Fatal(err)
	}
	wantCoverage(t, "count", count, listsTwo, "default", "other")

	one, err := s.resources.List(t.Context(), &kubeconnectv1.ListRequest{Resource: "pods", Namespace: "other"})
	if err != nil {
		t.Fatal(err)
	}
	wantCoverage(t, "a list of one namespace", one, "")
	rights.Change(func() { rights.May = auth.Namespaces{All: true} })
	all, err := s.resources.List(t.Context(), &kubeconnectv1.ListRequest{Resource: "pods"})
	if err != nil {
		t.Fatal(err)
	}
	wantCoverage(t, "a list with all permissions", all, "")
}

func TestStream_SaysWhichNamespacesItCovers(t *testing.T) {
	rights := servertest.NewFakeRights(servertest.Some("default", "other"))
	s := withRights(t, servertest.TwoNamespaces(), rights)
	f := followPods(t, s, "")
	f.want("RESET", "ADDED default/a", "ADDED default/b", "ADDED other/c", "SYNCED")
	wantCoverage(t, "the snapshot", f.last, watchesTwo, "default", "other")
	token := f.token

	resumed := followPods(t, s, token)
	resumed.want("BOOKMARK")
	wantCoverage(t, "the first response of a resumed stream", resumed.last, watchesTwo, "default", "other")

	rights.Change(func() { rights.May = servertest.Some("other") })
	f.want("DELETED default/a", "DELETED default/b")
	wantCoverage(t, "after a namespace is lost", f.last, watchesOne, "other")
	rights.Change(func() { rights.May = servertest.Some("default", "other") })
	f.want("ADDED default/a", "ADDED default/b")
	wantCoverage(t, "after a namespace is gained", f.last, watchesTwo, "default", "other")
	rights.Change(func() { rights.May = auth.Namespaces{All: true} })
	f.next()
	wantCoverage(t, "after all namespaces are gained", f.last, "")
	if f.last.GetResource().GetKind() != "Pod" {
		t.Errorf("the stream does not report that it is complete: %v", f.last)
	}
}

func TestWatchMany_SaysForEachWatchWhichNamespacesItCovers(t *testing.T) {
	rights := servertest.NewFakeRights(servertest.Some("default", "other"))
	s := withRights(t, servertest.TwoNamespaces(), rights)
	f := followMany(t, s, &kubeconnectv1.WatchManyRequest{Watches: []*kubeconnectv1.WatchSpec{
		{Resource: "pods"}, {Resource: "pods", Namespace: "other"},
	}})
	for said := map[int32]bool{}; len(said) < 2; {
		if !f.stream.Receive() {
			t.Fatal(f.stream.Err())
		}
		message := f.stream.Msg()
		response := message.GetResponse()
		if response.GetResource() == nil {
			continue
		}
		said[message.GetWatchIndex()] = true
		if message.GetWatchIndex() == 0 {
			wantCoverage(t, "the watch of all namespaces", response, watchesTwo, "default", "other")
		} else {
			wantCoverage(t, "the watch of one namespace", response, "")
		}
	}
}

// TestRequireAllNamespaces_IsRefusedUnlessAllAreAllowed compares each error with the API server's.
func TestRequireAllNamespaces_IsRefusedUnlessAllAreAllowed(t *testing.T) {
	rights := servertest.NewFakeRights(servertest.Some("default", "other"))
	api := servertest.TwoNamespaces()
	api.List = servertest.ListsByNamespace(api)
	s := withRights(t, api, rights)
	calls := map[string]func(context.Context) error{
		"list": func(ctx context.Context) error {
			_, err := s.resources.List(ctx, &kubeconnectv1.ListRequest{Resource: "pods", RequireAllNamespaces: true})
			return err
		},
		"list of the latest": func(ctx context.Context) error {
			_, err := s.resources.List(ctx, &kubeconnectv1.ListRequest{Resource: "pods", RequireAllNamespaces: true, Consistency: kubeconnectv1.Consistency_CONSISTENCY_LATEST})
			return err
		},
		"count": func(ctx context.Context) error {
			_, err := s.resources.Count(ctx, &kubeconnectv1.CountRequest{Resource: "pods", RequireAllNamespaces: true})
			return err
		},
		"watch": func(ctx context.Context) error {
			return firstOf(ctx, s, &kubeconnectv1.WatchRequest{Resource: "pods", RequireAllNamespaces: true})
		},
		"list of one namespace": func(ctx context.Context) error {
			_, err := s.resources.List(ctx, &kubeconnectv1.ListRequest{Resource: "pods", Namespace: "other", RequireAllNamespaces: true})
			return err
		},
		"watch of one namespace": func(ctx context.Context) error {
			return firstOf(ctx, s, &kubeconnectv1.WatchRequest{Resource: "pods", Namespace: "other", RequireAllNamespaces: true})
		},
	}
	for name, call := range calls {
		err := call(t.Context())
		switch allowed := strings.HasSuffix(name, "of one namespace"); {
		case allowed && err != nil:
			t.Errorf("%s: %v", name, err)
		case !allowed && (connect.CodeOf(err) != connect.CodePermissionDenied || !strings.HasSuffix(err.Error(),
			`pods is forbidden: User "jane" cannot list resource "pods" in API group "" at the cluster scope`)):
			t.Errorf("%s: returned %v", name, err)
		}
	}
	rights.Change(func() { rights.May = auth.Namespaces{All: true} })
	for name, call := range calls {
		if err := call(t.Context()); err != nil {
			t.Errorf("%s, with all permissions: %v", name, err)
		}
	}
}

// firstOf returns the error, if any, before the first response of a watch.
func firstOf(ctx context.Context, s *service, request *kubeconnectv1.WatchRequest) error {
	stream, err := responses.Of(s.resources.Watch(ctx, request))
	if err != nil {
		return err
	}
	defer func() { _ = stream.Close() }()
	stream.Receive()
	return stream.Err()
}

func TestRequireAllNamespaces_EndsAStreamWithThePermission(t *testing.T) {
	rights := servertest.NewFakeRights(auth.Namespaces{All: true})
	s := withRights(t, servertest.TwoNamespaces(), rights)
	stream, err := responses.Of(s.resources.Watch(t.Context(), &kubeconnectv1.WatchRequest{Resource: "pods", RequireAllNamespaces: true}))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stream.Close() }()
	f := &follower{t: t, stream: stream}
	f.want("RESET", "ADDED default/a", "ADDED default/b", "ADDED other/c", "SYNCED")
	rights.Change(func() { rights.May = servertest.Some("default", "other") })
	if stream.Receive() || connect.CodeOf(stream.Err()) != connect.CodePermissionDenied {
		t.Errorf("ends with %v", stream.Err())
	}
}

// TestRequireAllNamespaces_IsNoPartOfATokensQuery resumes with the flag from tokens that were
// issued without it, and the reverse.
func TestRequireAllNamespaces_IsNoPartOfATokensQuery(t *testing.T) {
	rights := servertest.NewFakeRights(auth.Namespaces{All: true})
	s := withRights(t, servertest.TwoNamespaces(), rights)
	watchWith := func(require bool, token string) *follower {
		stream, err := responses.Of(s.resources.Watch(t.Context(), &kubeconnectv1.WatchRequest{Resource: "pods", RequireAllNamespaces: require, ResumeToken: token}))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = stream.Close() })
		return &follower{t: t, stream: stream}
	}
	for _, required := range []bool{true, false} {
		f := watchWith(required, "")
		f.want("RESET", "ADDED default/a", "ADDED default/b", "ADDED other/c", "SYNCED")
		watchWith(!required, f.token).want("BOOKMARK")
	}

	rights.Change(func() { rights.May = servertest.Some("other") })
	partial := watchWith(false, "")
	partial.want("RESET", "ADDED other/c", "SYNCED")
	rights.Change(func() { rights.May = auth.Namespaces{All: true} })
	watchWith(true, partial.token).want("RESET", "ADDED default/a", "ADDED default/b", "ADDED other/c", "SYNCED")
}

// TestRequireAllNamespaces_ContinuesOnlyCompleteLists starts lists without the flag and
// continues them with it.
func TestRequireAllNamespaces_ContinuesOnlyCompleteLists(t *testing.T) {
	rights := servertest.NewFakeRights(servertest.Some("default"))
	s := withRights(t, servertest.TwoNamespaces(), rights)
	first := func() *kubeconnectv1.ListRequest {
		request := &kubeconnectv1.ListRequest{Resource: "pods", PageSize: 1}
		page, err := s.resources.List(t.Context(), request)
		if err != nil {
			t.Fatal(err)
		}
		next := proto.CloneOf(request)
		next.PageToken, next.RequireAllNamespaces = page.GetNextPageToken(), true
		return next
	}
	partial := first()
	if _, err := s.resources.List(t.Context(), partial); connect.CodeOf(err) != connect.CodePermissionDenied {
		t.Errorf("without the permission the next page returned %v", err)
	}
	rights.Change(func() { rights.May = auth.Namespaces{All: true} })
	if _, err := s.resources.List(t.Context(), partial); connect.CodeOf(err) != connect.CodeOutOfRange {
		t.Errorf("the next page of a list of one namespace returned %v", err)
	}
	if _, err := s.resources.List(t.Context(), first()); err != nil {
		t.Errorf("the next page of a whole list returned %v", err)
	}
}

// TestStream_WarnsOfObjectsThatTheFilterHasNoValueFor filters by a field that no pod has, at first
// in one of the namespaces that the caller can read.
func TestStream_WarnsOfObjectsThatTheFilterHasNoValueFor(t *testing.T) {
	t.Parallel()
	rights := servertest.NewFakeRights(servertest.Some("default"))
	s := withRights(t, servertest.TwoNamespaces(), rights)
	stream, err := responses.Of(s.resources.Watch(t.Context(), &kubeconnectv1.WatchRequest{Resource: "pods", Filter: "object.spec.replicsa > 3"}))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stream.Close() }()
	f := &follower{t: t, stream: stream}
	f.want("RESET", "SYNCED")
	covers := "the answer covers 1 of the cluster's namespaces: default; you may not list and watch pods in the others"
	want := []string{covers, "the filter has no value for 2 of 2 objects, which are left out: no such key: replicsa (default/a, …)"}
	if got := f.last.GetWarnings(); !slices.Equal(got, want) {
		t.Errorf("warns %q, want %q", got, want)
	}
	s.api.Events <- servertest.Modified(objecttest.Pod("b", 11))
	want = []string{"the filter has no value for 1 of 1 objects, which are left out: no such key: replicsa (default/b)"}
	for f.next(); len(f.last.GetWarnings()) == 0; f.next() {
	}
	if got := f.last.GetWarnings(); !slices.Equal(got, want) {
		t.Errorf("warns %q, want %q", got, want)
	}
}
