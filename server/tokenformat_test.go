package server

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"os"
	"slices"
	"testing"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/kubeconnect/kubeconnect/auth"
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/server/internal/statustest"
)

// recordedToken is a line of testdata/tokens.jsonl: a token that an earlier version has written, and the
// request that it belongs to. One of the requests is set.
type recordedToken struct {
	Of    string          `json:"of"`
	Watch json.RawMessage `json:"watch"`
	Many  json.RawMessage `json:"many"`
	List  json.RawMessage `json:"list"`
	Token string          `json:"token"`
}

func recordedTokens(t *testing.T) (tokens []recordedToken) {
	t.Helper()
	file, err := os.Open("testdata/tokens.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var token recordedToken
		if err := json.Unmarshal(lines.Bytes(), &token); err != nil {
			t.Fatal(err)
		}
		tokens = append(tokens, token)
	}
	return tokens
}

// TestRecordedTokens_AreReadAndWrittenAsBefore reads tokens of an earlier version. It fails if another
// normal form of a request is hashed, or the layout changes, under the number of a format that exists:
// see newestFormat. An older version would reject the tokens of such a version, and end its callers.
func TestRecordedTokens_AreReadAndWrittenAsBefore(t *testing.T) {
	read := map[string]int{}
	for _, recorded := range recordedTokens(t) {
		switch {
		case recorded.Watch != nil:
			var request kubeconnectv1.WatchRequest
			if err := protojson.Unmarshal(recorded.Watch, &request); err != nil {
				t.Fatal(err)
			}
			own := tokensOf(deployments, &request)
			position, page, err := own.readPage(recorded.Token)
			if err != nil || position == nil || *position != somePosition() {
				t.Errorf("a watch of %s: resumes at %v, %v", recorded.Of, position, err)
				continue
			}
			if own.page = page; own.Write(*position) != recorded.Token {
				t.Errorf("a watch of %s: writes %s", recorded.Of, own.Write(*position))
			}
			read["watch"]++
		case recorded.Many != nil:
			tokens, err := splitToken(recorded.Token, 2)
			if err != nil || joinTokens(tokens) != recorded.Token {
				t.Errorf("%s: is read as %q, %v", recorded.Of, tokens, err)
			}
			read["many"]++
		case recorded.List != nil:
			var request kubeconnectv1.ListRequest
			if err := protojson.Unmarshal(recorded.List, &request); err != nil {
				t.Fatal(err)
			}
			if token, err := readPageToken(recorded.Token, queryOf(&request)); err != nil || token.write() != recorded.Token {
				t.Errorf("%s: is read as %v, %v", recorded.Of, token, err)
			}
			read["list"]++
		}
	}
	if read["watch"] < 8 || read["many"] < 1 || read["list"] < 2 {
		t.Errorf("read %v", read)
	}
}

// TestRecordedTokens_OfStatesOfAWatch is about what a token contains in addition to its request: the state of a
// relation, the operator's generation, and the namespaces that the caller can read.
func TestRecordedTokens_OfStatesOfAWatch(t *testing.T) {
	plain := tokensOf(deployments, &kubeconnectv1.WatchRequest{Resource: "deployments.apps"})
	for token, own := range map[string]tokens{
		"ATjmV5YF3KxFG3YxL3JlbGF0ZWQvkRj_epzf7QHq5lfDkyCRkh4xMjM0NTY3ODkwMTIzNDU2Nzg5MDEyMzQ1Njc4OTCAAAAAAAAABwAAAABqsTuAg4LPig": plain.relatedBy(relation{
			requested:     &relationParams{relation: kubeconnectv1.RelationType_RELATION_TYPE_OWNED_BY, namespace: "shop", name: "web", uid: "u1"},
			otherResource: deployments, related: informerhub.Related{Namespace: "shop", Owner: "u1"},
		}.texts()),
		"AU82LB6JyDdfG3YxL3JlbGF0ZWQvPtPPaG67ifeMZ9qB5ETmtR4xMjM0NTY3ODkwMTIzNDU2Nzg5MDEyMzQ1Njc4OTCAAAAAAAAABwAAAABqsTuAzoxsfw": plain.relatedBy(relation{
			requested:     &relationParams{relation: kubeconnectv1.RelationType_RELATION_TYPE_ABOUT, name: "n"},
			otherResource: informerhub.Resource{Version: "v1", Name: "nodes"},
			related:       informerhub.Related{Fields: []informerhub.FieldValues{{Field: "regarding.uid", Values: []string{"u1", "n"}}}},
		}.texts()),
		"AQiIiT8YW2zlG3YxL3JlbGF0ZWQvNcdbe_bjvYEJGaulcV2XVx4xMjM0NTY3ODkwMTIzNDU2Nzg5MDEyMzQ1Njc4OTCAAAAAAAAABwAAAABqsTuA8jdZFw": plain.relatedBy(relation{
			requested:     &relationParams{relation: kubeconnectv1.RelationType_RELATION_TYPE_OWNER_OF, namespace: "shop", name: "web"},
			otherResource: informerhub.Resource{Version: "v1", Name: "pods"},
			related:       informerhub.Related{Among: []informerhub.ObjectName{{Namespace: "shop", Name: "x", UID: "u2"}}},
		}.texts()),
		"AXUyn_XXt7_YMC9nZW5lcmF0aW9uLxZHdojA4AaZxs-kSXo2EtcvdjEvwUzdwDP2S53qgOpnXPKAoB4xMjM0NTY3ODkwMTIzNDU2Nzg5MDEyMzQ1Njc4OTCAAAAAAAAABwAAAABqsTuAUmHjHg": plain.inGeneration("blue").withScope(auth.Namespaces{Names: []string{"a", "b"}}),
	} {
		if own.Write(somePosition()) != token {
			t.Errorf("%s is written as %s", token, own.Write(somePosition()))
		}
		if position, err := own.read(token); err != nil || position == nil {
			t.Errorf("%s is read as %v, %v", token, position, err)
		}
	}
}

// ofNextVersion are the ways in which a later version can write a token that this one wrote. The content
// of the format is not known here: it may have another layout, or another normal form of the request.
var ofNextVersion = map[string]func(content []byte) []byte{
	"another layout": func([]byte) []byte { return []byte{newestFormat + 1} },
	"another normal form": func(content []byte) []byte {
		next := slices.Clone(content)
		next[0], next[1] = newestFormat+1, ^next[1] // the selection, or the query, has another hash
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
	s := newService(t, podsAPI(), auth.KubeconfigAuthenticator{})
	for name, write := range ofNextVersion {
		t.Run(name, func(t *testing.T) {
			watch := func(request *kubeconnectv1.WatchRequest) *follower {
				stream, err := s.resources.Watch(t.Context(), request)
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
	s := newService(t, podsAPI(), auth.KubeconfigAuthenticator{})
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
