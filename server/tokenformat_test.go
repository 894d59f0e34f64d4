package server

import (
	"encoding/base64"
	"slices"
	"testing"

	"connectrpc.com/connect/v2"

	"github.com/kubeconnect/kubeconnect/auth"
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/internal/responses"
	"github.com/kubeconnect/kubeconnect/server/internal/servertest"
	"github.com/kubeconnect/kubeconnect/server/internal/statustest"
	"github.com/kubeconnect/kubeconnect/server/tokens"
)

// ofNextVersion are the ways in which a later version can write a token that this one wrote. The content
// of the format is not known here: it may have another layout, or another normal form of the request.
var ofNextVersion = map[string]func(content []byte) []byte{
	"another layout": func([]byte) []byte { return []byte{tokens.NewestFormat + 1} },
	"another normal form": func(content []byte) []byte {
		next := slices.Clone(content)
		next[0], next[1] = tokens.NewestFormat+1, ^next[1] // the selection, or the query, has another hash
		return next
	},
	"a much later format": func(content []byte) []byte { return append([]byte{0xff}, content...) },
}

// nextVersionOf returns a token as a later version writes it.
func nextVersionOf(t *testing.T, write func([]byte) []byte, token string) string {
	t.Helper()
	content, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil || len(content) == 0 {
		t.Fatalf("the token is %q (%v)", token, err)
	}
	return base64.RawURLEncoding.EncodeToString(write(content))
}

// TestToken_OfANewerVersionMeansReset resumes with tokens that a newer version has written, as during an
// upgrade and after a downgrade: each stream begins with RESET, whatever the kind of watch, and a list
// expires.
func TestToken_OfANewerVersionMeansReset(t *testing.T) {
	s := newService(t, servertest.PodsAPI(), auth.KubeconfigAuthenticator{})
	for name, write := range ofNextVersion {
		t.Run(name, func(t *testing.T) {
			watch := func(request *kubeconnectv1.WatchRequest) *follower {
				stream, err := responses.Of(s.resources.Watch(t.Context(), request))
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = stream.Close() })
				return &follower{t: t, stream: stream}
			}
			request := &kubeconnectv1.WatchRequest{Resource: "pods"}
			first := watch(request)
			first.next()
			request.ResumeToken = nextVersionOf(t, write, first.token)
			watch(request).want("RESET", "ADDED default/a", "ADDED default/b", "SYNCED")

			several := followMany(t, s, podsTwice())
			several.want(0, "RESET ADDED:a ADDED:b SYNCED")
			several.want(1, "RESET ADDED:b SYNCED")
			many := podsTwice()
			many.ResumeToken = nextVersionOf(t, write, several.token)
			again := followMany(t, s, many)
			again.want(0, "RESET ADDED:a ADDED:b SYNCED")
			again.want(1, "RESET ADDED:b SYNCED")

			page := &kubeconnectv1.WatchRequest{Resource: "pods", Limit: 1, After: &kubeconnectv1.ObjectName{Namespace: "default", Name: "a"}}
			onPage := watch(page)
			onPage.next()
			page.ResumeToken = nextVersionOf(t, write, onPage.token)
			watch(page).want("RESET", "ADDED default/b", "SYNCED")
			page.After.Name = "gone" // the place of the page is in the token
			watch(page).want("RESET", "ADDED default/a", "SYNCED")

			list := &kubeconnectv1.ListRequest{Resource: "pods", PageSize: 1}
			listed, err := s.resources.List(t.Context(), list)
			if err != nil {
				t.Fatal(err)
			}
			list.PageToken = nextVersionOf(t, write, listed.GetNextPageToken())
			_, err = s.resources.List(t.Context(), list)
			if status := statustest.Of(t, err); connect.CodeOf(err) != connect.CodeOutOfRange || status.GetReason() != "Expired" {
				t.Errorf("the list fails with %v, with the reason %s", err, status.GetReason())
			}
		})
	}
}

// TestIndependentWatches_TokenOfANewerVersionMeansReset has two independent watches, of which one has a
// token of a newer version.
func TestIndependentWatches_TokenOfANewerVersionMeansReset(t *testing.T) {
	s := newService(t, servertest.PodsAPI(), auth.KubeconfigAuthenticator{})
	first := followParts(t, s, podsTwice())
	for first.tokens[0] == "" || first.tokens[1] == "" {
		if !first.receive() {
			t.Fatal(first.stream.Err())
		}
	}
	request := podsTwice()
	request.Watches[0].OwnResumeToken = nextVersionOf(t, ofNextVersion["another normal form"], first.tokens[0])
	request.Watches[1].OwnResumeToken = first.tokens[1]
	second := followParts(t, s, request)
	for len(second.events[0]) < 4 || len(second.events[1]) < 1 {
		if !second.receive() {
			t.Fatal(second.stream.Err())
		}
	}
	if got := second.events; got[0][0] != "RESET" || got[1][0] != "BOOKMARK" {
		t.Errorf("the watches begin with %v", got)
	}
}
