package server

import (
	"context"
	"slices"
	"strings"
	"testing"

	"connectrpc.com/connect/v2"
	"connectrpc.com/connect/v2/connecthttp"

	"github.com/kubeconnect/kubeconnect/auth"
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/internal/responses"
	"github.com/kubeconnect/kubeconnect/server/edge/gate"
	"github.com/kubeconnect/kubeconnect/server/internal/objecttest"
	"github.com/kubeconnect/kubeconnect/server/internal/servertest"
	"github.com/kubeconnect/kubeconnect/server/internal/statustest"
)

// podsTwice watches all pods, and one of them.
func podsTwice() *kubeconnectv1.WatchManyRequest {
	return &kubeconnectv1.WatchManyRequest{Watches: []*kubeconnectv1.WatchSpec{
		{Resource: "pods"},
		{Resource: "pod", Namespace: "default", Name: "b", Encoding: asJSON},
	}}
}

// manyFollower is a stream of several watches, with the events of each.
type manyFollower struct {
	t        *testing.T
	stream   *responses.Stream[kubeconnectv1.WatchManyResponse]
	received map[int32][]string
	counts   map[int32]*countsClient
	token    string
}

func followMany(t *testing.T, s *service, request *kubeconnectv1.WatchManyRequest) *manyFollower {
	t.Helper()
	stream, err := responses.Of(s.resources.WatchMany(t.Context(), request))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = stream.Close() })
	return &manyFollower{t: t, stream: stream, received: map[int32][]string{}, counts: map[int32]*countsClient{}}
}

// want reads messages until a watch has sent these events, which must be its first.
func (f *manyFollower) want(watch int32, events string) {
	f.t.Helper()
	want := strings.Fields(events)
	for len(f.received[watch]) < len(want) {
		if !f.stream.Receive() {
			f.t.Fatalf("watch %d: waits for %s; the stream ends with %v", watch, events, f.stream.Err())
		}
		f.take(f.stream.Msg())
	}
	if got := f.received[watch][:len(want)]; !slices.Equal(got, want) {
		f.t.Errorf("watch %d sent %v, not %s", watch, got, events)
	}
	f.received[watch] = f.received[watch][len(want):]
}

func (f *manyFollower) take(message *kubeconnectv1.WatchManyResponse) {
	watch := message.GetWatchIndex()
	if message.GetResumeToken() == "" || message.GetResponse().GetResumeToken() != "" {
		f.t.Errorf("the token of all is %q, that of watch %d alone %q", message.GetResumeToken(), watch, message.GetResponse().GetResumeToken())
	}
	f.token = message.GetResumeToken()
	if message.GetCounts().GetResourceVersion() != "" {
		if f.counts[watch] == nil {
			f.counts[watch] = &countsClient{t: f.t}
		}
		f.counts[watch].apply(message.GetCounts())
	}
	if isWaiting(message.GetResponse()) {
		return
	}
	f.received[watch] = append(f.received[watch], strings.Fields(eventsOf(message.GetResponse()))...)
}

// wantCounts reads messages until counts are as described.
func (f *manyFollower) wantCounts(index int32, want string) {
	f.t.Helper()
	for f.counts[index] == nil || f.counts[index].String() != want {
		if !f.stream.Receive() {
			f.t.Fatalf("counts %d: waits for %s; the stream ends with %v", index, want, f.stream.Err())
		}
		f.take(f.stream.Msg())
	}
}

func TestWatchMany_ResumesAllWatchesWithOneToken(t *testing.T) {
	for name, options := range map[string][]connecthttp.Option{
		"Connect": nil, "Connect in JSON": {connecthttp.WithProtoJSON()}, "gRPC": {connecthttp.WithGRPC()}, "gRPC-Web": {connecthttp.WithGRPCWeb()},
	} {
		t.Run(name, func(t *testing.T) {
			s := newService(t, servertest.PodsAPI(), auth.KubeconfigAuthenticator{}, options...)
			first := followMany(t, s, podsTwice())
			first.want(0, "RESET ADDED:a ADDED:b SYNCED")
			first.want(1, "RESET ADDED:b SYNCED")
			s.api.Events <- servertest.Modified(objecttest.Pod("b", 11))
			first.want(0, "MODIFIED:b")
			first.want(1, "MODIFIED:b")
			if err := first.stream.Close(); err != nil {
				t.Error(err)
			}
			s.api.Events <- servertest.Modified(objecttest.Pod("a", 12))
			s.api.Events <- servertest.Modified(objecttest.Pod("b", 13))
			again := podsTwice()
			again.ResumeToken = first.token
			for _, watch := range again.GetWatches() {
				watch.MinResourceVersion = "13"
			}
			second := followMany(t, s, again)
			second.want(0, "MODIFIED:a MODIFIED:b")
			second.want(1, "MODIFIED:b")
		})
	}
}

// The token of the first message has the position of one watch, and none for the other.
func TestWatchMany_WatchWithoutPositionBeginsWithASnapshot(t *testing.T) {
	s := newService(t, servertest.PodsAPI(), auth.KubeconfigAuthenticator{})
	first := followMany(t, s, podsTwice())
	if !first.stream.Receive() {
		t.Fatal(first.stream.Err())
	}
	first.take(first.stream.Msg())
	index := first.stream.Msg().GetWatchIndex()
	again := podsTwice()
	again.ResumeToken = first.token
	second := followMany(t, s, again)
	second.want(index, "BOOKMARK")
	second.want(1-index, []string{"RESET ADDED:a ADDED:b SYNCED", "RESET ADDED:b SYNCED"}[1-index])
}

func TestWatchMany_OneRejectedWatchRejectsAll(t *testing.T) {
	s := newService(t, servertest.PodsAPI(), auth.KubeconfigAuthenticator{})
	token := followMany(t, s, podsTwice())
	token.want(0, "RESET ADDED:a ADDED:b SYNCED")
	with := func(change func(*kubeconnectv1.WatchManyRequest)) *kubeconnectv1.WatchManyRequest {
		request := podsTwice()
		change(request)
		return request
	}
	for name, test := range map[string]struct {
		request *kubeconnectv1.WatchManyRequest
		code    connect.Code
		words   string
	}{
		"no watch":         {&kubeconnectv1.WatchManyRequest{}, connect.CodeInvalidArgument, "0 watches"},
		"too many watches": {&kubeconnectv1.WatchManyRequest{Watches: make([]*kubeconnectv1.WatchSpec, 101)}, connect.CodeInvalidArgument, "101 watches"},
		"too many together": {&kubeconnectv1.WatchManyRequest{
			Watches: make([]*kubeconnectv1.WatchSpec, 60), Counts: make([]*kubeconnectv1.WatchCountsRequest, 41),
		}, connect.CodeInvalidArgument, "101 watches and counts"},
		"a token of all watches for independent ones": {with(func(r *kubeconnectv1.WatchManyRequest) {
			r.Independent, r.ResumeToken = true, token.token
		}), connect.CodeInvalidArgument, "resume_token is not allowed together with independent"},
		"an own token of a watch that is not independent": {with(func(r *kubeconnectv1.WatchManyRequest) {
			r.Watches[1].OwnResumeToken = "x"
		}), connect.CodeInvalidArgument, "watch 1 has an own_resume_token, which needs independent"},
		"malformed counts": {with(func(r *kubeconnectv1.WatchManyRequest) {
			r.Counts = []*kubeconnectv1.WatchCountsRequest{countsOf("spec")}
		}), connect.CodeInvalidArgument, `counts 2 (pods): `},
		"counts of an unknown resource": {with(func(r *kubeconnectv1.WatchManyRequest) {
			r.Counts = []*kubeconnectv1.WatchCountsRequest{{Resource: "podz"}}
		}), connect.CodeNotFound, "counts 2 (podz): "},
		"large pages of independent watches": {&kubeconnectv1.WatchManyRequest{Independent: true, Watches: []*kubeconnectv1.WatchSpec{
			{Resource: "pods", Limit: 500}, {Resource: "pods", Limit: 500}, {Resource: "pods", Limit: 1},
		}}, connect.CodeInvalidArgument, "the pages have 1001 objects together"},
		"an unknown resource":  {with(func(r *kubeconnectv1.WatchManyRequest) { r.Watches[1].Resource = "podz" }), connect.CodeNotFound, "watch 1 (podz): "},
		"a malformed selector": {with(func(r *kubeconnectv1.WatchManyRequest) { r.Watches[0].LabelSelector = "(" }), connect.CodeInvalidArgument, "watch 0 (pods): "},
		"a token of other watches": {with(func(r *kubeconnectv1.WatchManyRequest) {
			r.Watches[0].LabelSelector, r.ResumeToken = "a=b", token.token
		}), connect.CodeInvalidArgument, "watch 0 (pods): resume_token belongs to another watch"},
		"a token of more watches": {with(func(r *kubeconnectv1.WatchManyRequest) {
			r.Watches, r.ResumeToken = r.Watches[:1], token.token
		}), connect.CodeInvalidArgument, "invalid resume_token for 1 watches"},
	} {
		t.Run(name, func(t *testing.T) {
			stream, err := responses.Of(s.resources.WatchMany(t.Context(), test.request))
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = stream.Close() }()
			if stream.Receive() {
				t.Fatalf("sent %v", stream.Msg())
			}
			if err := stream.Err(); connect.CodeOf(err) != test.code || !strings.Contains(err.Error(), test.words) || statustest.Of(t, err).GetReason() == "" {
				t.Errorf("returned %v, want %s with %q", err, test.code, test.words)
			}
		})
	}
}

func TestWatchMany_EndsWithTheService(t *testing.T) {
	s := newService(t, servertest.PodsAPI(), auth.KubeconfigAuthenticator{})
	f := followMany(t, s, podsTwice())
	f.want(1, "RESET ADDED:b SYNCED")
	s.stop()
	for f.stream.Receive() {
	}
	if err := f.stream.Err(); connect.CodeOf(err) != connect.CodeUnavailable || statustest.Of(t, err).GetReason() != "ServiceUnavailable" {
		t.Errorf("ends with %v", err)
	}
}

func TestWatchMany_EndsWhenOneWatchLosesPermission(t *testing.T) {
	rights := servertest.NewFakeRights(servertest.Some("default", "other"))
	s := withRights(t, servertest.TwoNamespaces(), rights)
	f := followMany(t, s, &kubeconnectv1.WatchManyRequest{Watches: []*kubeconnectv1.WatchSpec{{Resource: "pods"}, {Resource: "pods", Namespace: "other"}}})
	f.want(0, "RESET ADDED:a ADDED:b ADDED:c SYNCED")
	f.want(1, "RESET ADDED:c SYNCED")
	rights.Change(func() { rights.May = servertest.Some("other") })
	f.want(0, "DELETED:a DELETED:b")
	rights.Change(func() { rights.May = servertest.Some("default") })
	for f.stream.Receive() {
	}
	err := f.stream.Err()
	if connect.CodeOf(err) != connect.CodePermissionDenied || !strings.Contains(err.Error(), "watch 1 (pods): ") || statustest.Of(t, err).GetReason() != "Forbidden" {
		t.Errorf("ends with %v", err)
	}
}

// watchMany opens a stream of the given number of watches and reads its first response.
func (s *service) watchMany(ctx context.Context, t *testing.T, who string, watches int) (end func(), err error) {
	request := &kubeconnectv1.WatchManyRequest{}
	for range watches {
		request.Watches = append(request.Watches, &kubeconnectv1.WatchSpec{Resource: "pods"})
	}
	stream, err := responses.Of(s.resources.WatchMany(as(ctx, who), request))
	if err != nil {
		t.Fatal(err)
	}
	stream.Receive()
	return func() { _ = stream.Close() }, stream.Err()
}

func TestWatchMany_EachWatchCountsAsAStream(t *testing.T) {
	s := newLimitedService(t, servertest.PodsAPI(), byName, gate.Limits{Streams: 5})
	end, err := s.watchMany(t.Context(), t, "jane", 4)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.watchMany(t.Context(), t, "jane", 2); err == nil {
		t.Error("six are open")
	} else {
		statustest.WantOverLimit(t, err, "6 streams would be open")
	}
	if _, err := s.watchMany(t.Context(), t, "joe", 5); err != nil {
		t.Errorf("another caller is rejected: %v", err)
	}
	if _, err := s.watchMany(t.Context(), t, "jane", 1); err != nil {
		t.Errorf("a fifth is rejected: %v", err)
	}
	end()
	_, err = s.watchMany(t.Context(), t, "jane", 4)
	for connect.CodeOf(err) == connect.CodeResourceExhausted { // until the service sees the end
		_, err = s.watchMany(t.Context(), t, "jane", 4)
	}
	if err != nil {
		t.Error(err)
	}
}
