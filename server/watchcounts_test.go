package server

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect/v2"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/kubeconnect/kubeconnect/auth"
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/internal/responses"
	"github.com/kubeconnect/kubeconnect/server/edge"
	"github.com/kubeconnect/kubeconnect/server/edge/callerrors"
	"github.com/kubeconnect/kubeconnect/server/edge/streamlife"
	"github.com/kubeconnect/kubeconnect/server/internal/objecttest"
	"github.com/kubeconnect/kubeconnect/server/internal/servertest"
	"github.com/kubeconnect/kubeconnect/server/internal/statustest"
)

// countsClient is a client of WatchCounts, with the counts that it has.
type countsClient struct {
	t      *testing.T
	stream *responses.Stream[kubeconnectv1.WatchCountsResponse]
	groups map[string]int64
	total  int64
}

// countsOf returns a request for the counts of pods, without a minimum interval that tests notice.
func countsOf(groupBy ...string) *kubeconnectv1.WatchCountsRequest {
	return &kubeconnectv1.WatchCountsRequest{Resource: "pods", GroupBy: groupBy, MinInterval: durationpb.New(100 * time.Millisecond)}
}

func watchCounts(t *testing.T, s *service, request *kubeconnectv1.WatchCountsRequest) *countsClient {
	t.Helper()
	stream, err := responses.Of(s.resources.WatchCounts(t.Context(), request))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = stream.Close() })
	return &countsClient{t: t, stream: stream}
}

// receiveAny returns the next response.
func (c *countsClient) receiveAny() *kubeconnectv1.WatchCountsResponse {
	c.t.Helper()
	if !c.stream.Receive() {
		c.t.Fatalf("the stream has ended: %v", c.stream.Err())
	}
	return c.stream.Msg()
}

// receive applies the next response, apart from those of a stream that waits, and returns it.
func (c *countsClient) receive() *kubeconnectv1.WatchCountsResponse {
	c.t.Helper()
	response := c.receiveAny()
	for response.GetResourceVersion() == "" {
		response = c.receiveAny()
	}
	c.apply(response)
	return response
}

// apply applies a response with counts.
func (c *countsClient) apply(response *kubeconnectv1.WatchCountsResponse) {
	if response.GetReset_() {
		c.groups = map[string]int64{}
	}
	for _, group := range response.GetGroups() {
		key := valuesText(c.t, group)
		if c.groups[key] = group.GetCount(); group.GetCount() == 0 {
			delete(c.groups, key)
		}
	}
	c.total = response.GetTotalCount()
}

// until receives responses until the client has these counts, and returns the last one.
func (c *countsClient) until(want string) *kubeconnectv1.WatchCountsResponse {
	c.t.Helper()
	for {
		if response := c.receive(); c.String() == want {
			return response
		}
	}
}

func (c *countsClient) String() string {
	text := fmt.Sprint(c.total)
	for _, key := range slices.Sorted(maps.Keys(c.groups)) {
		text += fmt.Sprintf(" %s:%d", key, c.groups[key])
	}
	return text
}

func valuesText(t *testing.T, group *kubeconnectv1.ObjectGroup) string {
	t.Helper()
	var texts []string
	for _, value := range group.GetValues() {
		text, err := json.Marshal(value.AsInterface())
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, strings.Trim(string(text), `"`))
	}
	return strings.Join(texts, "/")
}

// changedGroups returns the groups of a response.
func changedGroups(t *testing.T, response *kubeconnectv1.WatchCountsResponse) string {
	t.Helper()
	var texts []string
	for _, group := range response.GetGroups() {
		texts = append(texts, fmt.Sprintf("%s:%d", valuesText(t, group), group.GetCount()))
	}
	slices.Sort(texts)
	return strings.Join(texts, " ")
}

func TestWatchCounts_SendsTheGroupsThatHaveChanged(t *testing.T) {
	api := servertest.PodsAPI()
	s := newService(t, api, auth.KubeconfigAuthenticator{})
	request := countsOf("spec.nodeName")
	request.Aggregates = []*kubeconnectv1.Aggregate{servertest.Aggregate(kubeconnectv1.AggregateFunction_AGGREGATE_FUNCTION_MAX, "metadata.name")}
	c := watchCounts(t, s, request)
	first := c.receive()
	if !first.GetReset_() || c.String() != "2 node-1:2" || first.GetResource().GetKind() != "Pod" || first.GetResourceVersion() != "10" ||
		first.GetSource() != kubeconnectv1.Source_SOURCE_CACHE || first.GetFreshness().GetStale() || servertest.AggregateLine(first.GetAggregates()) != "b/2" {
		t.Errorf("begins with %v", first)
	}
	added := objecttest.Pod("c", 11)
	added.Spec.NodeName = "node-2"
	api.Events <- servertest.Added(added)
	next := c.until("3 node-1:2 node-2:1")
	if next.GetReset_() || next.GetResource() != nil || changedGroups(t, next) != "node-2:1" || next.GetResourceVersion() != "11" || servertest.AggregateLine(next.GetAggregates()) != "c/3" {
		t.Errorf("continues with %v", next)
	}
	moved := objecttest.Pod("a", 12)
	moved.Spec.NodeName = "node-2"
	api.Events <- servertest.Modified(moved)
	if next = c.until("3 node-1:1 node-2:2"); changedGroups(t, next) != "node-1:1 node-2:2" {
		t.Errorf("a moved pod changes %v", next)
	}
	deleted := objecttest.Pod("b", 13)
	api.Events <- servertest.Deleted(deleted)
	if next = c.until("2 node-2:2"); changedGroups(t, next) != "node-1:0" || len(next.GetGroups()[0].GetAggregates()) != 0 {
		t.Errorf("a deleted pod changes %v", next)
	}
}

func TestWatchCounts_WithoutGroupsSendsTheTotal(t *testing.T) {
	api := servertest.PodsAPI()
	s := newService(t, api, auth.KubeconfigAuthenticator{})
	c := watchCounts(t, s, countsOf())
	c.until("2")
	api.Events <- servertest.Added(objecttest.Pod("c", 11))
	if got := c.until("3"); len(got.GetGroups()) != 0 || got.GetResourceVersion() != "11" {
		t.Errorf("continues with %v", got)
	}
}

func TestWatchCounts_FollowsPermissions(t *testing.T) {
	rights := servertest.NewFakeRights(servertest.Some("default", "other"))
	s := withRights(t, servertest.TwoNamespaces(), rights)
	request := countsOf("metadata.namespace")
	request.MinInterval = durationpb.New(time.Minute)
	c := watchCounts(t, s, request)
	first := c.until("3 default:2 other:1")
	wantCoverage(t, "two namespaces", first, watchesTwo, "default", "other")
	rights.Change(func() { rights.May = servertest.Some("other") })
	second := c.until("1 other:1")
	if !second.GetReset_() || second.GetResource().GetKind() != "Pod" {
		t.Errorf("continues with %v", second)
	}
	wantCoverage(t, "one namespace", second, watchesOne, "other")
	rights.Change(func() { rights.May = auth.Namespaces{All: true} })
	wantCoverage(t, "all namespaces", c.until("3 default:2 other:1"), "")
	rights.Change(func() { rights.May = servertest.Some() })
	for c.stream.Receive() {
	}
	if err := c.stream.Err(); connect.CodeOf(err) != connect.CodePermissionDenied {
		t.Errorf("ends with %v", err)
	}
}

func TestWatchCounts_SendsNoChangesWhilePermissionsCannotBeChecked(t *testing.T) {
	t.Parallel()
	api, rights := servertest.PodsAPI(), servertest.NewFakeRights(auth.Namespaces{All: true})
	s := withRights(t, api, rights)
	c := watchCounts(t, s, countsOf("spec.nodeName"))
	c.until("2 node-1:2")
	rights.Change(func() { rights.Away = true })
	stale := c.receive()
	for !stale.GetFreshness().GetStale() {
		stale = c.receive()
	}
	api.Events <- servertest.Added(objecttest.Pod("c", 11))
	for range 2 {
		if stale = c.receive(); !stale.GetFreshness().GetStale() || stale.GetResourceVersion() != "10" || c.String() != "2 node-1:2" || len(stale.GetGroups()) > 0 {
			t.Errorf("while permissions cannot be checked it sends %v", stale)
		}
	}
	rights.Change(func() { rights.Away = false })
	if got := c.until("3 node-1:3"); got.GetReset_() {
		t.Errorf("continues with %v", got)
	}
}

func TestWatchCounts_CombinesChangesWithinTheInterval(t *testing.T) {
	t.Parallel()
	api := servertest.PodsAPI()
	s := newService(t, api, auth.KubeconfigAuthenticator{})
	request := countsOf("spec.nodeName")
	request.MinInterval = durationpb.New(time.Minute)
	c := watchCounts(t, s, request)
	c.until("2 node-1:2")
	api.Events <- servertest.Added(objecttest.Pod("c", 11))
	// It is sent after a minute; until then the stream repeats what the client has.
	if got := c.receive(); got.GetResourceVersion() != "10" || got.GetReset_() || c.String() != "2 node-1:2" || got.GetFreshness() == nil {
		t.Errorf("continues with %v", got)
	}
}

func TestWatchCounts_SaysThatItWaitsForAFirstSnapshot(t *testing.T) {
	api, send := slowAPI()
	s := newService(t, api, auth.KubeconfigAuthenticator{})
	c := watchCounts(t, s, countsOf("spec.nodeName"))
	if waiting := c.receiveAny(); waiting.GetReset_() || waiting.GetResourceVersion() != "" || !waiting.GetFreshness().GetStale() {
		t.Errorf("begins with %v", waiting)
	}
	send()
	c.until("2 node-1:2")
}

func TestWatchCounts_WaitsForAVersion(t *testing.T) {
	api := servertest.PodsAPI()
	s := newService(t, api, auth.KubeconfigAuthenticator{})
	request := countsOf("spec.nodeName")
	request.MinResourceVersion = "11"
	c := watchCounts(t, s, request)
	if waiting := c.receiveAny(); waiting.GetReset_() || waiting.GetFreshness().GetStale() || waiting.GetFreshness() == nil {
		t.Errorf("begins with %v", waiting)
	}
	api.Events <- servertest.Added(objecttest.Pod("c", 11))
	if first := c.receive(); c.String() != "3 node-1:3" || !first.GetReset_() {
		t.Errorf("begins with %v", first)
	}
}

func TestWatchCounts_EndsAtItsMaximumAge(t *testing.T) {
	s := newServiceOf(t, servertest.PodsAPI(), Config{Edge: edge.Config{Authenticator: auth.KubeconfigAuthenticator{}}, Streams: streamlife.NewStreams(time.Nanosecond)})
	c := watchCounts(t, s, countsOf("spec.nodeName"))
	c.until("2 node-1:2")
	for c.stream.Receive() {
	}
	if err := c.stream.Err(); connect.CodeOf(err) != connect.CodeUnavailable || statustest.Of(t, err).GetReason() != string(callerrors.ReasonStreamMoved) {
		t.Errorf("ends with %v", err)
	}
}

func TestWatchCounts_EndsWithTheService(t *testing.T) {
	s := newService(t, servertest.PodsAPI(), auth.KubeconfigAuthenticator{})
	c := watchCounts(t, s, countsOf("spec.nodeName"))
	c.until("2 node-1:2")
	s.stop()
	for c.stream.Receive() {
	}
	if err := c.stream.Err(); connect.CodeOf(err) != connect.CodeUnavailable {
		t.Errorf("ends with %v", err)
	}
}

func TestWatchCounts_ResourcesThatAreNotCachedHaveAPrivateCache(t *testing.T) {
	api := servertest.PodsAPI()
	s := newServiceWithHub(t, api, Config{Edge: edge.Config{Authenticator: auth.KubeconfigAuthenticator{}}, Authorizer: servertest.NewFakeRights(auth.Namespaces{All: true})},
		informerhub.Options{Uncached: []string{"pods"}})
	c := watchCounts(t, s, countsOf("spec.nodeName"))
	if first := c.until("2 node-1:2"); first.GetSource() != kubeconnectv1.Source_SOURCE_API_SERVER {
		t.Errorf("begins with %v", first)
	}
	api.Events <- servertest.Added(objecttest.Pod("c", 11))
	c.until("3 node-1:3")
}

func TestWatchCounts_TooManyGroupsEndTheStream(t *testing.T) {
	api := servertest.PodsAPI()
	api.Objects = nil
	for i := range 10_000 {
		api.Objects = append(api.Objects, objecttest.Pod(fmt.Sprint("pod-", i), i+1))
	}
	api.Version = "20000"
	s := newService(t, api, auth.KubeconfigAuthenticator{})
	c := watchCounts(t, s, countsOf("metadata.name"))
	if first := c.receive(); len(first.GetGroups()) != 10_000 {
		t.Errorf("begins with %d groups", len(first.GetGroups()))
	}
	api.Events <- servertest.Added(objecttest.Pod("one-more", 20_001))
	for c.stream.Receive() {
	}
	if err := c.stream.Err(); connect.CodeOf(err) != connect.CodeResourceExhausted || !strings.Contains(err.Error(), "more than 10000 groups") {
		t.Errorf("ends with %v", err)
	}
}

func TestWatchCounts_InvalidRequestsAreRejected(t *testing.T) {
	s := newService(t, servertest.PodsAPI(), auth.KubeconfigAuthenticator{})
	for name, test := range map[string]struct {
		change func(*kubeconnectv1.WatchCountsRequest)
		code   connect.Code
		says   string
	}{
		"no resource":         {func(r *kubeconnectv1.WatchCountsRequest) { r.Resource = "" }, connect.CodeInvalidArgument, "resource is required"},
		"an unknown resource": {func(r *kubeconnectv1.WatchCountsRequest) { r.Resource = "podz" }, connect.CodeNotFound, "podz"},
		"a short interval":    {func(r *kubeconnectv1.WatchCountsRequest) { r.MinInterval = durationpb.New(99 * time.Millisecond) }, connect.CodeInvalidArgument, "min_interval 99ms"},
		"a long interval":     {func(r *kubeconnectv1.WatchCountsRequest) { r.MinInterval = durationpb.New(61 * time.Second) }, connect.CodeInvalidArgument, "min_interval 1m1s"},
		"no duration":         {func(r *kubeconnectv1.WatchCountsRequest) { r.MinInterval = &durationpb.Duration{Seconds: 1, Nanos: -1} }, connect.CodeInvalidArgument, "min_interval"},
		"transitive owners": {func(r *kubeconnectv1.WatchCountsRequest) {
			r.Related = &kubeconnectv1.Relation{Type: kubeconnectv1.RelationType_RELATION_TYPE_OWNED_BY, Resource: "pods", Namespace: "default", Name: "a", Transitive: true}
		}, connect.CodeInvalidArgument, "related.transitive"},
		"an aggregate without a function": {func(r *kubeconnectv1.WatchCountsRequest) {
			r.Aggregates = []*kubeconnectv1.Aggregate{servertest.Aggregate(0, "a")}
		}, connect.CodeInvalidArgument, "a function is required"},
		"a path to an object":  {func(r *kubeconnectv1.WatchCountsRequest) { r.GroupBy = []string{"spec"} }, connect.CodeInvalidArgument, `"spec" is an object`},
		"a malformed selector": {func(r *kubeconnectv1.WatchCountsRequest) { r.LabelSelector = "(" }, connect.CodeInvalidArgument, "label_selector"},
	} {
		t.Run(name, func(t *testing.T) {
			request := countsOf("spec.nodeName")
			test.change(request)
			stream, err := responses.Of(s.resources.WatchCounts(t.Context(), request))
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = stream.Close() }()
			for stream.Receive() {
			}
			if err := stream.Err(); connect.CodeOf(err) != test.code || !strings.Contains(err.Error(), test.says) {
				t.Errorf("ends with %v", err)
			}
		})
	}
}
