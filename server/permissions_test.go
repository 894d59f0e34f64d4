package server

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect/v2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kubeconnect/kubeconnect/auth"
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/internal/responses"
	"github.com/kubeconnect/kubeconnect/server/internal/objecttest"
	"github.com/kubeconnect/kubeconnect/server/internal/servertest"
	"github.com/kubeconnect/kubeconnect/server/internal/statustest"
)

// TestPermissions_DeniedReadsReturnTheAPIServersError compares the error with the API server's. The
// fake API server has no snapshot: a read that continued would fail in another way.
func TestPermissions_DeniedReadsReturnTheAPIServersError(t *testing.T) {
	s := withRights(t, &servertest.FakeAPI{Change: http.NotFoundHandler()}, servertest.NewFakeRights(servertest.Some()))
	for name, test := range map[string]struct {
		call func(context.Context) error
		want string
	}{
		"Get": {func(ctx context.Context) error {
			_, err := s.resources.Get(ctx, &kubeconnectv1.GetRequest{Resource: "pods", Namespace: "y", Name: "x"})
			return err
		}, `pods "x" is forbidden: User "jane" cannot get resource "pods" in API group "" in the namespace "y"`},
		"List": {func(ctx context.Context) error {
			_, err := s.resources.List(ctx, &kubeconnectv1.ListRequest{Resource: "pods", Namespace: "y"})
			return err
		}, `pods is forbidden: User "jane" cannot list resource "pods" in API group "" in the namespace "y"`},
		"List of all": {func(ctx context.Context) error {
			_, err := s.resources.List(ctx, &kubeconnectv1.ListRequest{Resource: "widgets"})
			return err
		}, `widgets.example.com is forbidden: User "jane" cannot list resource "widgets" in API group "example.com" at the cluster scope`},
		"Watch": {func(ctx context.Context) error {
			return watchError(ctx, s, &kubeconnectv1.WatchRequest{Resource: "pods", Namespace: "y", Name: "x"})
		}, `pods "x" is forbidden: User "jane" cannot watch resource "pods" in API group "" in the namespace "y"`},
	} {
		t.Run(name, func(t *testing.T) {
			err := test.call(t.Context())
			if connect.CodeOf(err) != connect.CodePermissionDenied || !strings.HasSuffix(err.Error(), test.want) || statustest.Of(t, err).GetReason() != "Forbidden" {
				t.Errorf("returned %v", err)
			}
		})
	}
}

// TestPermissions_PrecedeTheCompilationOfFilters makes each call that has a filter, a regular expression or positions of
// logs, without a permission. They are malformed: if they were parsed, the error would be about them.
func TestPermissions_PrecedeTheCompilationOfFilters(t *testing.T) {
	s := withRights(t, &servertest.FakeAPI{Change: http.NotFoundHandler()}, servertest.NewFakeRights(servertest.Some()))
	const malformed = "object.("
	joined := []*kubeconnectv1.Join{{Name: "j", Type: kubeconnectv1.JoinType_JOIN_TYPE_OWNER_OF, Resource: "widgets", Filter: malformed}}
	for name, call := range map[string]func(context.Context) error{
		"List": func(ctx context.Context) error {
			_, err := s.resources.List(ctx, &kubeconnectv1.ListRequest{Resource: "pods", Filter: malformed})
			return err
		},
		"List with joins": func(ctx context.Context) error {
			_, err := s.resources.List(ctx, &kubeconnectv1.ListRequest{Resource: "pods", Joins: joined})
			return err
		},
		"List of the latest state": func(ctx context.Context) error {
			_, err := s.resources.List(ctx, &kubeconnectv1.ListRequest{Resource: "pods", Filter: malformed, Consistency: kubeconnectv1.Consistency_CONSISTENCY_LATEST})
			return err
		},
		"Count": func(ctx context.Context) error {
			_, err := s.resources.Count(ctx, &kubeconnectv1.CountRequest{Resource: "pods", Filter: malformed})
			return err
		},
		"Watch": func(ctx context.Context) error {
			return watchError(ctx, s, &kubeconnectv1.WatchRequest{Resource: "pods", Filter: malformed})
		},
		"Watch of a page": func(ctx context.Context) error {
			return watchError(ctx, s, &kubeconnectv1.WatchRequest{Resource: "pods", Filter: malformed, Limit: 1, Joins: joined})
		},
		"WatchMany": func(ctx context.Context) error {
			return streamError(s.resources.WatchMany(ctx, &kubeconnectv1.WatchManyRequest{Watches: []*kubeconnectv1.WatchSpec{{Resource: "pods", Filter: malformed}}}))
		},
		"WatchCounts": func(ctx context.Context) error {
			return streamError(s.resources.WatchCounts(ctx, &kubeconnectv1.WatchCountsRequest{Resource: "pods", Filter: malformed}))
		},
		"GetLogLines": func(ctx context.Context) error {
			return streamError(s.pods.GetLogLines(ctx, &kubeconnectv1.GetLogLinesRequest{Filter: malformed}))
		},
		"GetLogLines of containers": func(ctx context.Context) error {
			return streamError(s.pods.GetLogLines(ctx, &kubeconnectv1.GetLogLinesRequest{Container: "a)"}))
		},
		"GetLogLines without containers": func(ctx context.Context) error {
			return streamError(s.pods.GetLogLines(ctx, &kubeconnectv1.GetLogLinesRequest{ExcludeContainer: "a)"}))
		},
		"GetLogLines with a filter of lines": func(ctx context.Context) error {
			return streamError(s.pods.GetLogLines(ctx, &kubeconnectv1.GetLogLinesRequest{LineFilter: &kubeconnectv1.LogLineFilter{Regex: "a)"}}))
		},
		"GetLogLines with positions": func(ctx context.Context) error {
			return streamError(s.pods.GetLogLines(ctx, &kubeconnectv1.GetLogLinesRequest{ResumeAfter: []*kubeconnectv1.LogPosition{{}}}))
		},
	} {
		t.Run(name, func(t *testing.T) {
			if err := call(t.Context()); connect.CodeOf(err) != connect.CodePermissionDenied {
				t.Errorf("returned %v", err)
			}
		})
	}
}

// streamError returns the error that ends a stream.
func streamError[R any](receiver responses.Receiver[R], err error) error {
	stream, err := responses.Of(receiver, err)
	if err != nil {
		return err
	}
	defer func() { _ = stream.Close() }()
	for stream.Receive() {
	}
	return stream.Err()
}

func watchError(ctx context.Context, s *service, request *kubeconnectv1.WatchRequest) error {
	return streamError(s.resources.Watch(ctx, request))
}

// TestWatch_NeedsEachPermissionInEachNamespace watches with the permission to list in all namespaces,
// except that a request for one of them is denied, and the permission to watch in two.
func TestWatch_NeedsEachPermissionInEachNamespace(t *testing.T) {
	rights := servertest.NewFakeRights(auth.Namespaces{All: true})
	rights.OfVerb = map[string]auth.Namespaces{"watch": servertest.Some("default", "other")}
	rights.NotIn = map[string][]string{"list": {"other"}}
	f := followPods(t, withRights(t, servertest.TwoNamespaces(), rights), "")
	f.want("RESET", "ADDED default/a", "ADDED default/b", "SYNCED")

	rights = servertest.NewFakeRights(auth.Namespaces{All: true})
	rights.OfVerb = map[string]auth.Namespaces{"watch": servertest.Some("other")}
	rights.NotIn = map[string][]string{"list": {"other"}}
	err := watchError(t.Context(), withRights(t, servertest.TwoNamespaces(), rights), &kubeconnectv1.WatchRequest{Resource: "pods"})
	if connect.CodeOf(err) != connect.CodePermissionDenied || !strings.Contains(err.Error(), "cannot list") {
		t.Errorf("returned %v", err)
	}
}

func TestPages_NeedPermissionForTheNamespacesOfTheList(t *testing.T) {
	rights := servertest.NewFakeRights(servertest.Some("default", "other"))
	s := withRights(t, servertest.TwoNamespaces(), rights)
	request := &kubeconnectv1.ListRequest{Resource: "pods", PageSize: 1}
	first, err := s.resources.List(t.Context(), request)
	if err != nil || first.GetRemainingItemCount() != 2 {
		t.Fatalf("returned %v, %v", first, err)
	}
	request.PageToken = first.GetNextPageToken()
	next := func(change func()) error {
		rights.Change(change)
		_, err := s.resources.List(t.Context(), request)
		return err
	}
	if err := next(func() { rights.May = servertest.Some("default", "more", "other") }); err != nil {
		t.Errorf("with more permissions it returned %v", err)
	}
	if err := next(func() {
		rights.Who.Extra = map[string][]string{"authentication.kubernetes.io/credential-id": {"JTI=2"}}
	}); err != nil {
		t.Errorf("with a renewed token it returned %v", err)
	}
	if err := next(func() { rights.May = servertest.Some("default") }); connect.CodeOf(err) != connect.CodeOutOfRange {
		t.Errorf("with less it returned %v", err)
	}
	if err := next(func() { rights.May = servertest.Some() }); connect.CodeOf(err) != connect.CodePermissionDenied {
		t.Errorf("without any it returned %v", err)
	}
	if err := next(func() { rights.Who.Username = "joe" }); connect.CodeOf(err) != connect.CodePermissionDenied {
		t.Errorf("another caller without any returned %v", err)
	}
	if err := next(func() { rights.May.All = true }); err != nil {
		t.Errorf("another caller with the same permissions returned %v", err)
	}
}

// follower is a stream with the events that it has received.
type follower struct {
	t      *testing.T
	stream *responses.Stream[kubeconnectv1.WatchResponse]
	token  string
	last   *kubeconnectv1.WatchResponse
}

func followPods(t *testing.T, s *service, token string) *follower {
	t.Helper()
	stream, err := responses.Of(s.resources.Watch(t.Context(), &kubeconnectv1.WatchRequest{Resource: "pods", ResumeToken: token}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = stream.Close() })
	return &follower{t: t, stream: stream}
}

// next returns the events of the next message.
func (f *follower) next() (events []string) {
	f.t.Helper()
	f.last = receive(f.t, f.stream)
	if token := f.last.GetResumeToken(); token != "" {
		f.token = token
	}
	for _, event := range f.last.GetEvents() {
		name := strings.TrimPrefix(event.GetType().String(), "EVENT_TYPE_")
		if object := event.GetObject(); object != nil {
			name += " " + object.GetNamespace() + "/" + object.GetName()
		}
		events = append(events, name)
	}
	return events
}

func (f *follower) want(events ...string) {
	f.t.Helper()
	if got := f.next(); !slices.Equal(got, events) {
		f.t.Fatalf("received %v, want %v", got, events)
	}
}

func TestStream_FollowsPermissions(t *testing.T) {
	rights := servertest.NewFakeRights(servertest.Some("default"))
	f := followPods(t, withRights(t, servertest.TwoNamespaces(), rights), "")
	f.want("RESET", "ADDED default/a", "ADDED default/b", "SYNCED")
	rights.Change(func() { rights.May = servertest.Some("default", "other") })
	f.want("ADDED other/c")
	rights.Change(func() { rights.May = servertest.Some("other") })
	f.want("DELETED default/a", "DELETED default/b")
	for _, event := range f.last.GetEvents() {
		if event.GetObject().GetContent() != nil {
			t.Errorf("%v has content", event)
		}
	}
	rights.Change(func() { rights.May = servertest.Some() })
	if f.stream.Receive() || connect.CodeOf(f.stream.Err()) != connect.CodePermissionDenied || f.token == "" {
		t.Errorf("ends with %v, token %q", f.stream.Err(), f.token)
	}
}

func TestToken_OfOtherPermissionsBeginsWithASnapshot(t *testing.T) {
	rights := servertest.NewFakeRights(servertest.Some("default", "other"))
	s := withRights(t, servertest.TwoNamespaces(), rights)
	f := followPods(t, s, "")
	f.want("RESET", "ADDED default/a", "ADDED default/b", "ADDED other/c", "SYNCED")
	followPods(t, s, f.token).want("BOOKMARK")
	rights.Change(func() { rights.May = servertest.Some("other") })
	followPods(t, s, f.token).want("RESET", "ADDED other/c", "SYNCED")
}

func TestStream_EndsWithItsCredential(t *testing.T) {
	rights := servertest.NewFakeRights(servertest.Some("default"))
	f := followPods(t, withRights(t, servertest.TwoNamespaces(), rights), "")
	f.next()
	rights.Change(func() { rights.Refused = auth.ErrUnauthenticated })
	if f.stream.Receive() || connect.CodeOf(f.stream.Err()) != connect.CodeUnauthenticated {
		t.Errorf("ends with %v", f.stream.Err())
	}
}

func TestStream_EndsWhenItsCredentialExpires(t *testing.T) {
	t.Parallel()
	rights := servertest.NewFakeRights(servertest.Some("default"))
	s := withRights(t, servertest.TwoNamespaces(), rights)
	if _, err := s.resources.List(t.Context(), &kubeconnectv1.ListRequest{Resource: "pods"}); err != nil { // fills the cache
		t.Fatal(err)
	}
	rights.Change(func() { rights.Who.Expires = time.Now().Add(2 * time.Second) })
	f := followPods(t, s, "")
	f.next()
	if f.stream.Receive() || connect.CodeOf(f.stream.Err()) != connect.CodeUnauthenticated {
		t.Errorf("ends with %v", f.stream.Err())
	}
	if _, err := s.resources.List(t.Context(), &kubeconnectv1.ListRequest{Resource: "pods"}); connect.CodeOf(err) != connect.CodeUnauthenticated {
		t.Errorf("a list with it returned %v", err)
	}
}

// TestStream_PausesWhilePermissionsAreUnknown changes a pod while the cluster cannot be asked: the
// event is sent when the cluster can be asked again, and not before.
func TestStream_PausesWhilePermissionsAreUnknown(t *testing.T) {
	t.Parallel()
	for name, unknown := range map[string]func(*servertest.FakeRights){
		"the cluster is away":             func(rights *servertest.FakeRights) { rights.Away = true },
		"there is no turn to be asked in": func(rights *servertest.FakeRights) { rights.Refused = apierrors.NewTooManyRequests("later", 1) },
	} {
		t.Run(name, func(t *testing.T) { standStill(t, unknown) })
	}
}

func standStill(t *testing.T, unknown func(*servertest.FakeRights)) {
	rights, api := servertest.NewFakeRights(servertest.Some("default")), servertest.TwoNamespaces()
	f := followPods(t, withRights(t, api, rights), "")
	f.next()
	complete := f.last.GetFreshness().GetLastContactTime().AsTime()
	rights.Change(func() { unknown(rights) })
	f.want("BOOKMARK")
	api.Events <- servertest.Modified(objecttest.Pod("a", 11))
	f.want("BOOKMARK")
	if fresh := f.last.GetFreshness(); !fresh.GetStale() || !fresh.GetLastContactTime().AsTime().Equal(complete) {
		t.Errorf("reported %v, complete as of %v", fresh, complete)
	}
	rights.Change(func() { rights.Away, rights.Refused = false, nil })
	for {
		if got := f.next(); got[0] != "BOOKMARK" {
			if got[0] != "MODIFIED default/a" {
				t.Errorf("continues with %v", got)
			}
			return
		}
	}
}

// TestStream_IsCurrentAgainWhileItIsBusy changes a pod after each message, so that the stream is never
// quiet: after the cluster can be asked again, a message says that the stream is not stale.
func TestStream_IsCurrentAgainWhileItIsBusy(t *testing.T) {
	for name, request := range map[string]*kubeconnectv1.WatchRequest{
		"of objects": {Resource: "pods"},
		"of a page":  {Resource: "pods", Limit: 10},
	} {
		t.Run(name, func(t *testing.T) {
			rights, api := servertest.NewFakeRights(servertest.Some("default")), servertest.TwoNamespaces()
			stream, err := responses.Of(withRights(t, api, rights).resources.Watch(t.Context(), request))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = stream.Close() })
			f := &follower{t: t, stream: stream}
			f.next()
			rights.Change(func() { rights.Away = true })
			for f.next(); !f.last.GetFreshness().GetStale(); f.next() {
			}
			rights.Change(func() { rights.Away = false })
			for version := 11; version < 41; version++ {
				api.Events <- servertest.Modified(objecttest.Pod("a", version))
				if f.next(); f.last.GetFreshness() != nil && !f.last.GetFreshness().GetStale() {
					return
				}
			}
			t.Errorf("30 messages after the renewal it is still stale: %v", f.last)
		})
	}
}
