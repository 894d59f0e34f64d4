package streams

import (
	"encoding/base64"
	"slices"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kubeconnect/kubeconnect/server/edge/bounds"
	"github.com/kubeconnect/kubeconnect/server/internal/servertest"
	"github.com/kubeconnect/kubeconnect/server/tokens"
)

// FuzzManyToken verifies that parsing a token of several watches returns the tokens that were
// written.
func FuzzManyToken(f *testing.F) {
	one := tokensOf(servertest.Deployments, watchOf(unchanged)).Write(somePosition())
	f.Add(tokens.Join([]string{one, "", one}), 3)
	f.Add(tokens.Join([]string{""}), 1)
	f.Add(one, 1)
	f.Add("", 2)
	f.Add("00", 20) // of a newer format
	f.Fuzz(func(t *testing.T, token string, watches int) {
		if watches < 1 || watches > maxWatches {
			t.Skip()
		}
		parts, err := tokens.Split(token, watches)
		switch {
		case err != nil && !apierrors.IsBadRequest(err):
			t.Errorf("returned %v", err)
		case err == nil && token != "" && !tokens.IsOfNewerFormat(token) && len(tokens.Join(parts)) > len(token):
			t.Errorf("%q is %q", token, parts)
		}
	})
}

// TestManyToken_FitsIntoARequest is about watches with long tokens, such as those of many namespaces.
func TestManyToken_FitsIntoARequest(t *testing.T) {
	long := base64.RawURLEncoding.EncodeToString(make([]byte, 6<<10))
	short := tokensOf(servertest.Deployments, watchOf(unchanged)).Write(somePosition())
	watches := append(slices.Repeat([]string{long}, maxWatches-1), short)
	token := tokens.Join(watches)
	if len(token) > bounds.MaxRequestBytes/2 {
		t.Errorf("the token has %d bytes", len(token))
	}
	parts, err := tokens.Split(token, maxWatches)
	if err != nil {
		t.Fatal(err)
	}
	kept := 0
	for i, part := range parts {
		switch part {
		case watches[i]:
			kept++
		case "":
		default:
			t.Errorf("watch %d has another token", i)
		}
	}
	if kept < 15 || parts[0] != long || parts[maxWatches-1] != short {
		t.Errorf("%d tokens are kept; the last is %q", kept, parts[maxWatches-1])
	}
}

func TestManyToken_TruncatedOrChangedIsRejected(t *testing.T) {
	one := tokensOf(servertest.Deployments, watchOf(unchanged)).Write(somePosition())
	token := tokens.Join([]string{one, ""})
	if parts, err := tokens.Split(token, 2); err != nil || !slices.Equal(parts, []string{one, ""}) {
		t.Errorf("parsed %q, %v", parts, err)
	}
	for end := 1; end < len(token); end++ {
		if parts, err := tokens.Split(token[:end], 2); !apierrors.IsBadRequest(err) {
			t.Errorf("cut after %d letters it is %q, %v", end, parts, err)
		}
	}
	for _, watches := range []int{1, 3} {
		if parts, err := tokens.Split(token, watches); !apierrors.IsBadRequest(err) {
			t.Errorf("for %d watches it is %q, %v", watches, parts, err)
		}
	}
	if position, err := tokensOf(servertest.Deployments, watchOf(unchanged)).Read(token); !apierrors.IsBadRequest(err) {
		t.Errorf("for a single watch it is %v, %v", position, err)
	}
}
