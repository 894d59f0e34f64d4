package server

import (
	"sync"
	"testing"

	"connectrpc.com/connect/v2"

	"github.com/kubeconnect/kubeconnect/auth"
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/internal/responses"
	"github.com/kubeconnect/kubeconnect/server/internal/objecttest"
	"github.com/kubeconnect/kubeconnect/server/internal/servertest"
)

// slowAPI sends no snapshot before the returned function is called.
func slowAPI() (api *servertest.FakeAPI, send func()) {
	api = servertest.PodsAPI()
	api.Slow = make(chan struct{})
	return api, func() { close(api.Slow) }
}

func TestWatch_SaysThatItWaitsForAFirstSnapshot(t *testing.T) {
	api, send := slowAPI()
	s := newService(t, api, auth.KubeconfigAuthenticator{})
	stream, err := responses.Of(s.resources.Watch(t.Context(), &kubeconnectv1.WatchRequest{Resource: "pods", Encoding: asJSON}))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stream.Close() }()
	waiting := receiveAny(t, stream)
	if eventsOf(waiting) != "BOOKMARK" || waiting.GetEvents()[0].GetResourceVersion() != "" || waiting.GetResumeToken() != "" {
		t.Errorf("it starts with %v", waiting)
	}
	if freshness := waiting.GetFreshness(); !freshness.GetStale() || freshness.LastContactTime != nil {
		t.Errorf("it reported %v", freshness)
	}
	if waiting.GetResource().GetKind() != "Pod" || waiting.GetSource() != kubeconnectv1.Source_SOURCE_CACHE {
		t.Errorf("it starts with kind %v from %v", waiting.GetResource(), waiting.GetSource())
	}
	send()
	if got := receive(t, stream); eventsOf(got) != "RESET ADDED:a ADDED:b SYNCED" || got.GetResource().GetKind() != "Pod" {
		t.Errorf("it continues with %v", got)
	}
}

func TestWatch_KeepsTheTokenOfAStreamThatWaits(t *testing.T) {
	first := newService(t, servertest.PodsAPI(), auth.KubeconfigAuthenticator{})
	request := &kubeconnectv1.WatchRequest{Resource: "pods", Encoding: asJSON}
	stream, err := responses.Of(first.resources.Watch(t.Context(), request))
	if err != nil {
		t.Fatal(err)
	}
	request.ResumeToken = receive(t, stream).GetResumeToken()
	_ = stream.Close()

	api, send := slowAPI()
	second := newService(t, api, auth.KubeconfigAuthenticator{})
	if stream, err = responses.Of(second.resources.Watch(t.Context(), request)); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stream.Close() }()
	if waiting := receiveAny(t, stream); eventsOf(waiting) != "BOOKMARK" || waiting.GetResumeToken() != request.GetResumeToken() || request.GetResumeToken() == "" {
		t.Errorf("it starts with %v", waiting)
	}
	send()
	if resumed := receive(t, stream); eventsOf(resumed) != "BOOKMARK" || resumed.GetResource() != nil || resumed.GetSource() != 0 {
		t.Errorf("it continues with %v: the first response has named the resource", resumed)
	}
}

func TestWatch_ThatWaitsForAVersionIsAsFreshAsItsCache(t *testing.T) {
	s := newService(t, servertest.PodsAPI(), auth.KubeconfigAuthenticator{})
	stream, err := responses.Of(s.resources.Watch(t.Context(), &kubeconnectv1.WatchRequest{Resource: "pods", Encoding: asJSON, MinResourceVersion: "1000000"}))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stream.Close() }()
	waiting := receiveAny(t, stream)
	if eventsOf(waiting) != "BOOKMARK" || waiting.GetEvents()[0].GetResourceVersion() != "" {
		t.Errorf("it starts with %v", waiting)
	}
	if freshness := waiting.GetFreshness(); freshness.GetStale() || freshness.LastContactTime == nil {
		t.Errorf("it reported %v", freshness)
	}
}

func TestWatchMany_SaysWhichWatchWaits(t *testing.T) {
	api, send := slowAPI()
	defer send()
	s := newService(t, api, auth.KubeconfigAuthenticator{})
	stream, err := responses.Of(s.resources.WatchMany(t.Context(), &kubeconnectv1.WatchManyRequest{Watches: []*kubeconnectv1.WatchSpec{{Resource: "pods"}, {Resource: "pods"}}}))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stream.Close() }()
	seen := make(map[int32]bool)
	for len(seen) < 2 && stream.Receive() {
		seen[stream.Msg().GetWatchIndex()] = eventsOf(stream.Msg().GetResponse()) == "BOOKMARK"
	}
	if !seen[0] || !seen[1] {
		t.Errorf("these report that they wait: %v (%v)", seen, stream.Err())
	}
}

// TestWatchMany_WaitingWatchesDelayNoOthers watches a resource that has no snapshot yet together
// with one that is cached.
func TestWatchMany_WaitingWatchesDelayNoOthers(t *testing.T) {
	api := servertest.PodsAPI()
	s := newService(t, api, auth.KubeconfigAuthenticator{})
	if _, err := s.resources.List(t.Context(), &kubeconnectv1.ListRequest{Resource: "pods"}); err != nil {
		t.Fatal(err)
	}
	api.Slow = make(chan struct{})
	send := sync.OnceFunc(func() { close(api.Slow) })
	defer send()
	both := followMany(t, s, &kubeconnectv1.WatchManyRequest{Watches: []*kubeconnectv1.WatchSpec{{Resource: "widgets"}, {Resource: "pods"}}})
	both.want(1, "RESET ADDED:a ADDED:b SYNCED")
	api.Events <- servertest.Modified(objecttest.Pod("b", 11))
	both.want(1, "MODIFIED:b")
	send()
	both.want(0, "RESET")
}

func TestReads_AreUnavailableWithoutTheServicesPermission(t *testing.T) {
	api := servertest.PodsAPI()
	api.Forbidden = true
	s := newService(t, api, auth.KubeconfigAuthenticator{})
	_, listed := s.resources.List(t.Context(), &kubeconnectv1.ListRequest{Resource: "pods"})
	_, got := s.resources.Get(t.Context(), &kubeconnectv1.GetRequest{Resource: "pods", Namespace: "default", Name: "a"})
	stream, err := responses.Of(s.resources.Watch(t.Context(), &kubeconnectv1.WatchRequest{Resource: "pods"}))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stream.Close() }()
	stream.Receive()
	for what, err := range map[string]error{"List": listed, "Get": got, "Watch": stream.Err()} {
		if connect.CodeOf(err) != connect.CodeUnavailable || err.Error() != "unavailable: the service is not allowed to list pods: its operator can grant it, by the commands that kubeconnect check prints" {
			t.Errorf("%s returned %v", what, err)
		}
	}
}
