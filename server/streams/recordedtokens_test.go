package streams

import (
	"bufio"
	"encoding/json"
	"os"
	"reflect"
	"testing"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/server/internal/servertest"
	"github.com/kubeconnect/kubeconnect/server/reads"
	"github.com/kubeconnect/kubeconnect/server/tokens"

	"google.golang.org/protobuf/encoding/protojson"

	"github.com/kubeconnect/kubeconnect/auth"
	"github.com/kubeconnect/kubeconnect/informerhub"
)

// recordedToken is a line of testdata/tokens.jsonl: a token that an earlier version has written, and the
// request that it belongs to. One of the requests is set.
type recordedToken struct {
	Of    string          `json:"of"`
	Watch json.RawMessage `json:"watch"`
	Many  json.RawMessage `json:"many"`
	List  json.RawMessage `json:"list"`
	// InNamespaces reports that the token has positions in several namespaces.
	InNamespaces bool   `json:"inNamespaces"`
	Token        string `json:"token"`
}

func recordedTokens(t *testing.T) (tokens []recordedToken) {
	t.Helper()
	file, err := os.Open("testdata/tokens.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
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
// see NewestFormat. An older version would reject the tokens of such a version, and end its callers.
func TestRecordedTokens_AreReadAndWrittenAsBefore(t *testing.T) {
	read := map[string]int{}
	for _, recorded := range recordedTokens(t) {
		switch {
		case recorded.Watch != nil:
			var request kubeconnectv1.WatchRequest
			if err := protojson.Unmarshal(recorded.Watch, &request); err != nil {
				t.Fatal(err)
			}
			own := tokensOf(servertest.Deployments, &request)
			position, page, err := own.ReadPage(recorded.Token)
			want := somePosition()
			if recorded.InNamespaces {
				want = somePositionInNamespaces()
			}
			if err != nil || position == nil || !reflect.DeepEqual(*position, want) {
				t.Errorf("a watch of %s: resumes at %v, %v", recorded.Of, position, err)
				continue
			}
			if written := own.WithHeld(page).Write(*position); written != recorded.Token {
				t.Errorf("a watch of %s: writes %s", recorded.Of, written)
			}
			read["watch"]++
		case recorded.Many != nil:
			parts, err := tokens.Split(recorded.Token, 2)
			if err != nil || tokens.Join(parts) != recorded.Token {
				t.Errorf("%s: is read as %q, %v", recorded.Of, parts, err)
			}
			read["many"]++
		case recorded.List != nil:
			var request kubeconnectv1.ListRequest
			if err := protojson.Unmarshal(recorded.List, &request); err != nil {
				t.Fatal(err)
			}
			if token, err := tokens.ReadPage(recorded.Token, tokens.QueryOf(&request)); err != nil || token.Write() != recorded.Token {
				t.Errorf("%s: is read as %v, %v", recorded.Of, token, err)
			}
			read["list"]++
		}
	}
	if read["watch"] < 10 || read["many"] < 1 || read["list"] < 4 {
		t.Errorf("read %v", read)
	}
}

// TestRecordedTokens_OfStatesOfAWatch is about what a token contains in addition to its request: the state of a
// relation, the operator's generation, and the namespaces that the caller can read.
func TestRecordedTokens_OfStatesOfAWatch(t *testing.T) {
	plain := tokensOf(servertest.Deployments, &kubeconnectv1.WatchRequest{Resource: "deployments.apps"})
	for token, own := range map[string]tokens.Watch{
		"ATjmV5YF3KxFG3YxL3JlbGF0ZWQvkRj_epzf7QHq5lfDkyCRkh4xMjM0NTY3ODkwMTIzNDU2Nzg5MDEyMzQ1Njc4OTCAAAAAAAAABwAAAABqsTuAg4LPig": plain.RelatedBy(reads.Relation{
			Requested:     &reads.RelationParams{Relation: kubeconnectv1.RelationType_RELATION_TYPE_OWNED_BY, Namespace: "shop", Name: "web", Uid: "u1"},
			OtherResource: servertest.Deployments, Related: informerhub.Related{Namespace: "shop", Owner: "u1"},
		}.Texts()),
		"AU82LB6JyDdfG3YxL3JlbGF0ZWQvPtPPaG67ifeMZ9qB5ETmtR4xMjM0NTY3ODkwMTIzNDU2Nzg5MDEyMzQ1Njc4OTCAAAAAAAAABwAAAABqsTuAzoxsfw": plain.RelatedBy(reads.Relation{
			Requested:     &reads.RelationParams{Relation: kubeconnectv1.RelationType_RELATION_TYPE_ABOUT, Name: "n"},
			OtherResource: informerhub.Resource{Version: "v1", Name: "nodes"},
			Related:       informerhub.Related{Fields: []informerhub.FieldValues{{Field: "regarding.uid", Values: []string{"u1", "n"}}}},
		}.Texts()),
		"AQiIiT8YW2zlG3YxL3JlbGF0ZWQvNcdbe_bjvYEJGaulcV2XVx4xMjM0NTY3ODkwMTIzNDU2Nzg5MDEyMzQ1Njc4OTCAAAAAAAAABwAAAABqsTuA8jdZFw": plain.RelatedBy(reads.Relation{
			Requested:     &reads.RelationParams{Relation: kubeconnectv1.RelationType_RELATION_TYPE_OWNER_OF, Namespace: "shop", Name: "web"},
			OtherResource: informerhub.Resource{Version: "v1", Name: "pods"},
			Related:       informerhub.Related{Among: []informerhub.ObjectName{{Namespace: "shop", Name: "x", UID: "u2"}}},
		}.Texts()),
		"AXUyn_XXt7_YMC9nZW5lcmF0aW9uLxZHdojA4AaZxs-kSXo2EtcvdjEvwUzdwDP2S53qgOpnXPKAoB4xMjM0NTY3ODkwMTIzNDU2Nzg5MDEyMzQ1Njc4OTCAAAAAAAAABwAAAABqsTuAUmHjHg": plain.InGeneration("blue").WithScope(auth.Namespaces{Names: []string{"a", "b"}}),
	} {
		if own.Write(somePosition()) != token {
			t.Errorf("%s is written as %s", token, own.Write(somePosition()))
		}
		if position, err := own.Read(token); err != nil || position == nil {
			t.Errorf("%s is read as %v, %v", token, position, err)
		}
	}
}
