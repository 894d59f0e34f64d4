package server

import (
	"net/http"
	"strings"
	"testing"

	"connectrpc.com/connect/v2/connecthttp"

	"github.com/kubeconnect/kubeconnect/auth"
	"github.com/kubeconnect/kubeconnect/server/edge/call"
	"github.com/kubeconnect/kubeconnect/server/edge/gate"
	"github.com/kubeconnect/kubeconnect/server/internal/servertest"
	"github.com/kubeconnect/kubeconnect/server/internal/statustest"
)

// byPod identifies callers by a header: a user, and optionally a pod.
var byPod = authenticatorFunc(func(header http.Header) (auth.Identity, error) {
	name, pod, _ := strings.Cut(header.Get("Who"), "/")
	identity := auth.Identity{Username: name}
	if pod != "" {
		identity.Extra = map[string][]string{"authentication.kubernetes.io/pod-uid": {pod}}
	}
	return identity, nil
})

// TestStreams_AreLimitedByCredentialAndUser has one pod of a service account use its maximum.
func TestStreams_AreLimitedByCredentialAndUser(t *testing.T) {
	s := newLimitedService(t, servertest.PodsAPI(), byPod, gate.Limits{Streams: 5, CredentialStreams: 2})
	clients := namedClientOf(s, connecthttp.WithGRPC())
	open := func(who string) error {
		stream, err := clients.watchPods(t, who)
		if err == nil {
			t.Cleanup(func() { _ = stream.Close() })
		}
		return err
	}
	for _, who := range []string{"agent/a", "agent/a", "agent/b", "agent/b", "agent/c"} {
		if err := open(who); err != nil {
			t.Fatalf("%s is rejected: %v", who, err)
		}
		if who == "agent/b" {
			statustest.WantOverLimit(t, open("agent/a"), "stream limit reached: 2 streams open with this credential")
		}
	}
	statustest.WantOverLimit(t, open("agent/c"), "stream limit reached: 5 streams open")
	for range 2 {
		if err := open("another/a"); err != nil {
			t.Errorf("another user's pod of this name is rejected: %v", err)
		}
	}
	statustest.WantOverLimit(t, open("another/a"), "stream limit reached: 2 streams open with this credential")
}

func TestWatchMany_EachWatchCountsForTheCredential(t *testing.T) {
	s := newLimitedService(t, servertest.PodsAPI(), byPod, gate.Limits{Streams: 100, CredentialStreams: 4})
	end, err := s.watchMany(t.Context(), t, "agent/a", 3)
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.watchMany(t.Context(), t, "agent/a", 2)
	statustest.WantOverLimit(t, err, "stream limit reached: 4 streams open with this credential")
	end()
	for err != nil {
		_, err = s.watchMany(t.Context(), t, "agent/a", 4) // until the service has seen the end
	}
}

func TestCredentialOf_DistinguishesPodsAndTokens(t *testing.T) {
	const pod, id = "authentication.kubernetes.io/pod-uid", "authentication.kubernetes.io/credential-id"
	of := func(name string, extra map[string][]string) string {
		return call.CredentialKey(auth.Identity{Username: name, Extra: extra})
	}
	renewed := of("a", map[string][]string{pod: {"p"}, id: {"JTI=2"}})
	if of("a", map[string][]string{pod: {"p"}, id: {"JTI=1"}}) != renewed {
		t.Error("a pod has another credential when its token is renewed")
	}
	all := []string{renewed, of("a", nil), of("b", nil), of("b", map[string][]string{pod: {"p"}}), of("a", map[string][]string{id: {"JTI=1"}})}
	for i, credential := range all {
		for j, other := range all {
			if i != j && credential == other {
				t.Errorf("credentials %d and %d are the same", i, j)
			}
		}
	}
	if of("a", map[string][]string{pod: {"p", "q"}}) != of("a", nil) || of("a", map[string][]string{id: {""}}) != of("a", nil) {
		t.Error("an identity without a credential has one")
	}
}
