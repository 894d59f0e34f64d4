package auth

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"
)

func TestIdentity_KeyCoversNameUIDGroupsAndExtra(t *testing.T) {
	alice := Identity{Username: "alice", UID: "1", Groups: []string{"a", "b"}, Extra: map[string][]string{"x": {"1", "2"}}}
	with := func(change func(*Identity)) Identity { i := alice; change(&i); return i }
	for name, test := range map[string]struct {
		other Identity
		same  bool
	}{
		"itself":               {alice, true},
		"groups in any order":  {with(func(i *Identity) { i.Groups = []string{"b", "a", "b"} }), true},
		"another credential":   {with(func(i *Identity) { i.token, i.Expires = func() string { return "x" }, time.Now() }), true},
		"another name":         {with(func(i *Identity) { i.Username = "alicf" }), false},
		"another UID":          {with(func(i *Identity) { i.UID = "2" }), false},
		"no UID":               {with(func(i *Identity) { i.UID = "" }), false},
		"a group more":         {with(func(i *Identity) { i.Groups = []string{"a", "b", "c"} }), false},
		"groups run together":  {with(func(i *Identity) { i.Groups = []string{"ab"} }), false},
		"a group as UID":       {with(func(i *Identity) { i.UID, i.Groups = "1a", []string{"b"} }), false},
		"no extra":             {with(func(i *Identity) { i.Extra = nil }), false},
		"another extra":        {with(func(i *Identity) { i.Extra = map[string][]string{"y": {"1", "2"}} }), false},
		"extra split":          {with(func(i *Identity) { i.Extra = map[string][]string{"x": {"12"}} }), false},
		"the kubeconfig's own": {with(func(i *Identity) { i.own = true }), false},
	} {
		t.Run(name, func(t *testing.T) {
			if (alice.Key() == test.other.Key()) != test.same {
				t.Errorf("same is %v", !test.same)
			}
		})
	}
}

// TestIdentity_UserKeyIsTheSameForARenewedCredential renews a service account's token: the API
// server stores the token's ID in the user's extra.
func TestIdentity_UserKeyIsTheSameForARenewedCredential(t *testing.T) {
	of := func(credential string) Identity {
		return Identity{Username: "system:serviceaccount:a:b", UID: "1", Groups: []string{"x"}, Extra: map[string][]string{extraCredentialID: {credential}}}
	}
	before, after, other := of("JTI=1"), of("JTI=2"), of("JTI=1")
	other.UID = "2"
	if before.userKey() != after.userKey() {
		t.Error("a new token changes the user key")
	}
	if before.Key() == after.Key() {
		t.Error("identities that an authorizer can distinguish have the same key")
	}
	if before.userKey() == other.userKey() || before.userKey() == (Identity{own: true}).userKey() {
		t.Error("another user has the same key")
	}
	if (Identity{}).userKey() == (Identity{own: true}).userKey() {
		t.Error("the kubeconfig's user has the key of an empty identity")
	}
}

// TestIdentity_PrintsNoCredential prints an identity, also where its methods are not called.
func TestIdentity_PrintsNoCredential(t *testing.T) {
	identity := Identity{Username: "alice", token: func() string { return "secret" }}
	nested := struct {
		identity Identity
		Pointer  *Identity
	}{identity, &identity}
	var printed bytes.Buffer
	for _, verb := range "vTsdqxXtbcopeEfFgGU" {
		for _, flag := range []string{"", "+", "#", "-", " "} {
			fmt.Fprintf(&printed, "%"+flag+string(verb)+"\n", identity)
			fmt.Fprintf(&printed, "%"+flag+string(verb)+"\n", &identity)
			fmt.Fprintf(&printed, "%"+flag+string(verb)+"\n", nested)
		}
	}
	for _, handler := range []slog.Handler{slog.NewTextHandler(&printed, nil), slog.NewJSONHandler(&printed, nil)} {
		slog.New(handler).Info("x", "identity", identity, "nested", nested)
	}
	_ = json.NewEncoder(&printed).Encode([]any{identity, nested})
	for _, form := range []string{"secret", "736563726574", "[115 101"} {
		if strings.Contains(strings.ToLower(printed.String()), form) {
			t.Errorf("%s contains the credential:\n%s", form, printed.String())
		}
	}
}

func TestIdentity_PrintsTheNameOfTheUser(t *testing.T) {
	for want, identity := range map[string]Identity{
		"alice":                 {Username: "alice", Groups: []string{"a"}},
		"the kubeconfig's user": {own: true},
		"nobody":                {},
	} {
		if got := fmt.Sprintf("%v %s", identity, identity.LogValue()); got != want+" "+want {
			t.Errorf("the name is %q, want %q", got, want)
		}
	}
}

var header = http.Header{"Authorization": {"Bearer secret-token"}}

func TestKubeconfigAuthenticator_AuthenticatesEveryRequest(t *testing.T) {
	identity, err := KubeconfigAuthenticator{}.Authenticate(t.Context(), header)
	if err != nil || identity.Username != "" || !identity.IsKubeconfigUser() {
		t.Errorf("got %+v, %v", identity, err)
	}
}

func TestClusterAuthenticator_ZeroValueRejectsEveryToken(t *testing.T) {
	identity, err := (&ClusterAuthenticator{}).Authenticate(t.Context(), header)
	if !errors.Is(err, ErrUnauthenticated) || identity.Key() != (Identity{}).Key() {
		t.Errorf("got %+v, %v", identity, err)
	}
	if text := err.Error(); strings.Contains(text, "secret") {
		t.Errorf("error is %s", text)
	}
}
