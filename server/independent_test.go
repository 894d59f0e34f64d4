package server

import (
	"slices"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect/v2"
	"connectrpc.com/connect/v2/connecthttp"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/kubeconnect/kubeconnect/auth"
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/internal/responses"
	"github.com/kubeconnect/kubeconnect/server/edge"
	"github.com/kubeconnect/kubeconnect/server/edge/callerrors"
	"github.com/kubeconnect/kubeconnect/server/edge/gate"
	"github.com/kubeconnect/kubeconnect/server/edge/streamlife"
	"github.com/kubeconnect/kubeconnect/server/internal/objecttest"
	"github.com/kubeconnect/kubeconnect/server/internal/servertest"
	"github.com/kubeconnect/kubeconnect/server/internal/statustest"
)

// partsFollower is a stream of independent watches and counts, with what each of them has sent.
type partsFollower struct {
	t      *testing.T
	stream *responses.Stream[kubeconnectv1.WatchManyResponse]
	events map[int32][]string
	tokens map[int32]string
	counts map[int32]*countsClient
	errors map[int32]*kubeconnectv1.Status
}

func followParts(t *testing.T, s *service, request *kubeconnectv1.WatchManyRequest) *partsFollower {
	t.Helper()
	request.Independent = true
	stream, err := responses.Of(s.resources.WatchMany(t.Context(), request))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = stream.Close() })
	return &partsFollower{t, stream, map[int32][]string{}, map[int32]string{}, map[int32]*countsClient{}, map[int32]*kubeconnectv1.Status{}}
}

// receive receives a message; false if the stream has ended.
func (f *partsFollower) receive() bool {
	if !f.stream.Receive() {
		return false
	}
	message := f.stream.Msg()
	index := message.GetWatchIndex()
	if message.GetResumeToken() != "" || f.errors[index] != nil {
		f.t.Errorf("after the error %v it sends %v", f.errors[index], message)
	}
	switch {
	case message.GetError() != nil:
		f.errors[index] = proto.CloneOf(message.GetError())
	case message.GetCounts().GetResourceVersion() != "":
		if f.counts[index] == nil {
			f.counts[index] = &countsClient{t: f.t}
		}
		f.counts[index].apply(message.GetCounts())
	case message.GetResponse() != nil && !isWaiting(message.GetResponse()):
		f.events[index] = append(f.events[index], strings.Fields(eventsOf(message.GetResponse()))...)
		f.tokens[index] = message.GetResponse().GetResumeToken()
	}
	return true
}

// until receives messages until a condition holds.
func (f *partsFollower) until(description string, holds func() bool) {
	f.t.Helper()
	for !holds() {
		if !f.receive() {
			f.t.Fatalf("the stream ends before %s: %v", description, f.stream.Err())
		}
	}
}

// want receives messages until a watch has sent these events, which must be its next.
func (f *partsFollower) want(index int32, events string) {
	f.t.Helper()
	want := strings.Fields(events)
	f.until(events, func() bool { return len(f.events[index]) >= len(want) })
	if got := f.events[index][:len(want)]; !slices.Equal(got, want) {
		f.t.Errorf("watch %d sent %v, not %s", index, got, events)
	}
	f.events[index] = f.events[index][len(want):]
}

// wantCounts receives messages until counts are as described.
func (f *partsFollower) wantCounts(index int32, want string) {
	f.t.Helper()
	f.until(want, func() bool { return f.counts[index] != nil && f.counts[index].String() == want })
}

// wantError receives messages until a part has ended with an error.
func (f *partsFollower) wantError(index int32, reason string) {
	f.t.Helper()
	f.until(reason, func() bool { return f.errors[index] != nil })
	if got := f.errors[index]; got.GetReason() != reason {
		f.t.Errorf("part %d ends with %v, not %s", index, got, reason)
	}
}

// wantEnd receives messages until the stream ends with a code, and no other part has ended with an
// error.
func (f *partsFollower) wantEnd(code connect.Code, reason string) {
	f.t.Helper()
	failed := len(f.errors)
	for f.receive() {
	}
	if err := f.stream.Err(); connect.CodeOf(err) != code || statustest.Of(f.t, err).GetReason() != reason || len(f.errors) > failed {
		f.t.Errorf("ends with %v, and parts with %v", err, f.errors)
	}
}

// wantSameError verifies that a part was rejected as in a stream of its own.
func wantSameError[R any](f *partsFollower, index int32, alone *responses.Stream[R]) {
	f.t.Helper()
	defer func() { _ = alone.Close() }()
	for alone.Receive() {
	}
	f.until("the part is rejected", func() bool { return f.errors[index] != nil })
	if want := statustest.Of(f.t, alone.Err()); !proto.Equal(f.errors[index], want) {
		f.t.Errorf("part %d was rejected with %v, alone with %v", index, f.errors[index], want)
	}
}

func TestIndependent_RejectedPartsDoNotEndTheOthers(t *testing.T) {
	for name, options := range map[string][]connecthttp.Option{
		"Connect": nil, "Connect in JSON": {connecthttp.WithProtoJSON()}, "gRPC": {connecthttp.WithGRPC()}, "gRPC-Web": {connecthttp.WithGRPCWeb()},
	} {
		t.Run(name, func(t *testing.T) {
			api := servertest.PodsAPI()
			s := newService(t, api, auth.KubeconfigAuthenticator{}, options...)
			request := &kubeconnectv1.WatchManyRequest{
				Watches: []*kubeconnectv1.WatchSpec{
					{Resource: "pods"},
					{Resource: "podz"},
					{Resource: "pods", LabelSelector: "("},
					{Resource: "pods", Filter: "object."},
					{Resource: "pods", OwnResumeToken: "x"},
					{Resource: "pods", Limit: -1},
				},
				Counts: []*kubeconnectv1.WatchCountsRequest{countsOf("spec.nodeName"), countsOf("a..b"), {Resource: "podz"}},
			}
			f := followParts(t, s, request)
			f.want(0, "RESET ADDED:a ADDED:b SYNCED")
			f.wantCounts(6, "2 node-1:2")
			for i, spec := range request.GetWatches()[1:] {
				alone, err := responses.Of(s.resources.Watch(t.Context(), requestAlone(t, spec)))
				if err != nil {
					t.Fatal(err)
				}
				wantSameError(f, int32(i+1), alone)
			}
			for i, counts := range request.GetCounts()[1:] {
				alone, err := responses.Of(s.resources.WatchCounts(t.Context(), counts))
				if err != nil {
					t.Fatal(err)
				}
				wantSameError(f, int32(i+7), alone)
			}
			api.Events <- servertest.Added(objecttest.Pod("c", 11))
			f.want(0, "ADDED:c")
			f.wantCounts(6, "3 node-1:3")
		})
	}
}

func TestIndependent_StreamEndsAfterTheLastPart(t *testing.T) {
	s := newService(t, servertest.PodsAPI(), auth.KubeconfigAuthenticator{})
	f := followParts(t, s, &kubeconnectv1.WatchManyRequest{
		Watches: []*kubeconnectv1.WatchSpec{{Resource: "podz"}, {Resource: "pods", LabelSelector: "("}},
		Counts:  []*kubeconnectv1.WatchCountsRequest{countsOf("spec")},
	})
	for f.receive() {
	}
	if err := f.stream.Err(); err != nil || len(f.errors) != 3 {
		t.Errorf("ends with %v after the errors %v", err, f.errors)
	}
}

func TestIndependent_TokensAreThoseOfAWatch(t *testing.T) {
	api := servertest.PodsAPI()
	s := newService(t, api, auth.KubeconfigAuthenticator{})
	watch := func(token, version string) *follower {
		stream, err := responses.Of(s.resources.Watch(t.Context(), &kubeconnectv1.WatchRequest{Resource: "pods", ResumeToken: token, MinResourceVersion: version}))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = stream.Close() })
		return &follower{t: t, stream: stream}
	}
	first := watch("", "")
	first.want("RESET", "ADDED default/a", "ADDED default/b", "SYNCED")
	api.Events <- servertest.Modified(objecttest.Pod("b", 11))
	second := followParts(t, s, &kubeconnectv1.WatchManyRequest{Watches: []*kubeconnectv1.WatchSpec{
		{Resource: "pods", OwnResumeToken: first.token, MinResourceVersion: "11"},
	}})
	second.want(0, "MODIFIED:b BOOKMARK")
	api.Events <- servertest.Modified(objecttest.Pod("a", 12))
	second.want(0, "MODIFIED:a")
	api.Events <- servertest.Added(objecttest.Pod("c", 13))
	third := watch(second.tokens[0], "13")
	third.want("ADDED default/c")
}

// TestIndependent_AnotherSetOfWatchesResumesEachOfThem opens a second stream with the watches in
// another order, without one of them, and with a new one.
func TestIndependent_AnotherSetOfWatchesResumesEachOfThem(t *testing.T) {
	api := servertest.PodsAPI()
	s := newService(t, api, auth.KubeconfigAuthenticator{})
	all, one := &kubeconnectv1.WatchSpec{Resource: "pods"}, &kubeconnectv1.WatchSpec{Resource: "pods", Namespace: "default", Name: "b"}
	first := followParts(t, s, &kubeconnectv1.WatchManyRequest{Watches: []*kubeconnectv1.WatchSpec{all, {Resource: "pods", Namespace: "default"}, one}})
	first.want(0, "RESET ADDED:a ADDED:b SYNCED")
	first.want(2, "RESET ADDED:b SYNCED")
	if err := first.stream.Close(); err != nil {
		t.Error(err)
	}
	api.Events <- servertest.Modified(objecttest.Pod("a", 11))
	api.Events <- servertest.Deleted(objecttest.Pod("b", 12))
	api.Events <- servertest.Added(objecttest.Pod("c", 13))
	all.OwnResumeToken, one.OwnResumeToken = first.tokens[0], first.tokens[2]
	added := &kubeconnectv1.WatchSpec{Resource: "pods", Namespace: "default", Name: "c"}
	for _, spec := range []*kubeconnectv1.WatchSpec{all, one, added} {
		spec.MinResourceVersion = "13"
	}
	second := followParts(t, s, &kubeconnectv1.WatchManyRequest{
		Watches: []*kubeconnectv1.WatchSpec{one, added, all}, Counts: []*kubeconnectv1.WatchCountsRequest{countsOf()},
	})
	second.want(0, "DELETED:b")
	second.want(1, "RESET ADDED:c SYNCED")
	second.want(2, "MODIFIED:a DELETED:b ADDED:c")
	second.wantCounts(3, "2")
}

func TestIndependent_PermissionsConcernTheirPart(t *testing.T) {
	rights, api := servertest.NewFakeRights(servertest.Some("default", "other")), servertest.TwoNamespaces()
	s := withRights(t, api, rights)
	f := followParts(t, s, &kubeconnectv1.WatchManyRequest{
		Watches: []*kubeconnectv1.WatchSpec{
			{Resource: "pods", Namespace: "default"}, {Resource: "pods", Namespace: "other"}, {Resource: "pods"}, {Resource: "pods", Namespace: "third"},
		},
		Counts: []*kubeconnectv1.WatchCountsRequest{countsOf("metadata.namespace"), {Resource: "pods", Namespace: "other"}},
	})
	f.wantError(3, "Forbidden")
	f.want(0, "RESET ADDED:a ADDED:b SYNCED")
	f.want(1, "RESET ADDED:c SYNCED")
	f.want(2, "RESET ADDED:a ADDED:b ADDED:c SYNCED")
	f.wantCounts(4, "3 default:2 other:1")
	f.wantCounts(5, "1")
	rights.Change(func() { rights.May = servertest.Some("default") })
	f.wantError(1, "Forbidden")
	f.want(2, "DELETED:c")
	f.wantCounts(4, "2 default:2")
	f.wantError(5, "Forbidden")
	rights.Change(func() { rights.May = servertest.Some("default", "other") })
	f.want(2, "ADDED:c")
	f.wantCounts(4, "3 default:2 other:1")
	api.Events <- servertest.Modified(objecttest.Pod("a", 11))
	f.want(0, "MODIFIED:a")
	f.want(2, "MODIFIED:a")
}

func TestIndependent_WhatConcernsTheCallerEndsTheStream(t *testing.T) {
	rights := servertest.NewFakeRights(auth.Namespaces{All: true})
	s := withRights(t, servertest.PodsAPI(), rights)
	f := followParts(t, s, podsTwice())
	f.want(0, "RESET ADDED:a ADDED:b SYNCED")
	f.want(1, "RESET ADDED:b SYNCED")
	rights.Change(func() { rights.Refused = auth.ErrUnauthenticated })
	f.wantEnd(connect.CodeUnauthenticated, "Unauthorized")
}

func TestIndependent_EndsWithTheService(t *testing.T) {
	s := newService(t, servertest.PodsAPI(), auth.KubeconfigAuthenticator{})
	f := followParts(t, s, podsTwice())
	f.want(0, "RESET ADDED:a ADDED:b SYNCED")
	s.stop()
	f.wantEnd(connect.CodeUnavailable, "ServiceUnavailable")
}

// TestIndependent_RejectedPartsDoNotDelayTheMaximumAge has a part that never sends what the client can
// resume.
func TestIndependent_RejectedPartsDoNotDelayTheMaximumAge(t *testing.T) {
	s := newServiceOf(t, servertest.PodsAPI(), Config{Edge: edge.Config{Authenticator: auth.KubeconfigAuthenticator{}}, Streams: streamlife.NewStreams(time.Nanosecond)})
	f := followParts(t, s, &kubeconnectv1.WatchManyRequest{
		Watches: []*kubeconnectv1.WatchSpec{{Resource: "pods"}, {Resource: "podz"}}, Counts: []*kubeconnectv1.WatchCountsRequest{countsOf()},
	})
	f.want(0, "RESET ADDED:a ADDED:b SYNCED")
	f.wantError(1, "NotFound")
	f.wantCounts(2, "2")
	f.wantEnd(connect.CodeUnavailable, string(callerrors.ReasonStreamMoved))
	if f.tokens[0] == "" {
		t.Error("the watch cannot be resumed")
	}
}

func TestWatchMany_CountsShareTheStream(t *testing.T) {
	rights, api := servertest.NewFakeRights(servertest.Some("default", "other")), servertest.TwoNamespaces()
	s := withRights(t, api, rights)
	request := &kubeconnectv1.WatchManyRequest{
		Watches: []*kubeconnectv1.WatchSpec{{Resource: "pods"}}, Counts: []*kubeconnectv1.WatchCountsRequest{countsOf("metadata.namespace"), {Resource: "pods", Namespace: "other"}},
	}
	f := followMany(t, s, request)
	f.want(0, "RESET ADDED:a ADDED:b ADDED:c SYNCED")
	f.wantCounts(1, "3 default:2 other:1")
	f.wantCounts(2, "1")
	if err := f.stream.Close(); err != nil {
		t.Error(err)
	}
	api.Events <- servertest.Added(objecttest.Pod("d", 11))
	request.ResumeToken, request.Watches[0].MinResourceVersion, request.Counts[0].MinResourceVersion = f.token, "11", "11"
	again := followMany(t, s, request)
	again.want(0, "ADDED:d")
	again.wantCounts(1, "4 default:3 other:1")
	again.wantCounts(2, "1")
	rights.Change(func() { rights.May = servertest.Some("default") })
	for again.stream.Receive() {
	}
	err := again.stream.Err()
	if connect.CodeOf(err) != connect.CodePermissionDenied || !strings.Contains(err.Error(), "counts 2 (pods): ") || statustest.Of(t, err).GetReason() != "Forbidden" {
		t.Errorf("ends with %v", err)
	}
}

func TestWatchMany_CountsAloneNeedNoWatch(t *testing.T) {
	api := servertest.PodsAPI()
	s := newService(t, api, auth.KubeconfigAuthenticator{})
	request := &kubeconnectv1.WatchManyRequest{Counts: []*kubeconnectv1.WatchCountsRequest{countsOf(), countsOf("spec.nodeName")}}
	f := followMany(t, s, request)
	f.wantCounts(0, "2")
	f.wantCounts(1, "2 node-1:2")
	request.ResumeToken = f.token
	followMany(t, s, request).wantCounts(1, "2 node-1:2")
}

func TestWatchMany_AllCountsCountAsAStream(t *testing.T) {
	s := newLimitedService(t, servertest.PodsAPI(), byName, gate.Limits{Streams: 5})
	open := func(independent bool) error {
		request := &kubeconnectv1.WatchManyRequest{
			Watches: []*kubeconnectv1.WatchSpec{{Resource: "pods"}}, Independent: independent,
			Counts: []*kubeconnectv1.WatchCountsRequest{countsOf(), countsOf()},
		}
		stream, err := responses.Of(s.resources.WatchMany(as(t.Context(), "jane"), request))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = stream.Close() })
		stream.Receive()
		return stream.Err()
	}
	if err := open(true); err != nil {
		t.Fatal(err)
	}
	statustest.WantOverLimit(t, open(true), "6 streams would be open")
	statustest.WantOverLimit(t, open(false), "6 streams would be open")
}

// requestAlone returns a watch of a WatchMany as a request of its own.
func requestAlone(t *testing.T, spec *kubeconnectv1.WatchSpec) *kubeconnectv1.WatchRequest {
	t.Helper()
	text, err := protojson.Marshal(spec)
	if err != nil {
		t.Fatal(err)
	}
	request := &kubeconnectv1.WatchRequest{}
	if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(text, request); err != nil {
		t.Fatal(err)
	}
	request.ResumeToken = spec.GetOwnResumeToken()
	return request
}
