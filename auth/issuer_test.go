package auth

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"maps"
	"testing"
	"time"

	jose "github.com/go-jose/go-jose/v4"
	josejwt "github.com/go-jose/go-jose/v4/jwt"

	"github.com/kubeconnect/kubeconnect/internal/faketime"
)

const testIssuer = "https://kubernetes.example"

// agent is a service account, as the API server identifies its tokens.
var agent = Identity{Username: "system:serviceaccount:a:agent", UID: "account-uid"}

// signing is a key that an issuer signs tokens with.
type signing struct {
	id  string
	alg jose.SignatureAlgorithm
	key crypto.Signer
}

func newSigning(t *testing.T, id string) *signing {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	return &signing{id, jose.ES256, key}
}

func newRSASigning(t *testing.T, id string) *signing {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	must(t, err)
	return &signing{id, jose.RS256, key}
}

func (s *signing) public() jose.JSONWebKey {
	return jose.JSONWebKey{Key: s.key.Public(), KeyID: s.id, Algorithm: string(s.alg), Use: "sig"}
}

// sign returns a token of the key, or a token with the header of another key and algorithm.
func (s *signing) sign(t *testing.T, alg jose.SignatureAlgorithm, key any, said map[string]any) string {
	t.Helper()
	options := (&jose.SignerOptions{}).WithHeader("kid", s.id)
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: alg, Key: key}, options)
	must(t, err)
	token, err := josejwt.Signed(signer).Claims(said).Serialize()
	must(t, err)
	return token
}

// token returns a token of agent with other claims changed.
func (s *signing) token(t *testing.T, changed map[string]any) string {
	t.Helper()
	return s.sign(t, s.alg, s.key, claimsWith(changed))
}

// claimsWith returns the claims of a token of agent's pod, with some changed, or removed by nil.
func claimsWith(changed map[string]any) map[string]any {
	said := map[string]any{
		"iss": testIssuer, "sub": agent.Username, "aud": []string{"kubeconnect"}, "exp": time.Now().Add(time.Hour).Unix(),
		"kubernetes.io": boundClaim("pod", "node"),
	}
	maps.Copy(said, changed)
	maps.DeleteFunc(said, func(_ string, value any) bool { return value == nil })
	return said
}

// boundClaim returns a claim that binds a token to agent, and to other objects, whose UIDs end in
// "-uid".
func boundClaim(objects ...string) map[string]any {
	claim := map[string]any{"namespace": "a", "serviceaccount": map[string]any{"name": "agent", "uid": "account-uid"}}
	for _, object := range objects {
		claim[object] = map[string]any{"name": object, "uid": object + "-uid"}
	}
	return claim
}

// publish has the API server publish keys.
func (api *fakeAPI) publish(keys ...jose.JSONWebKey) {
	api.set(func() {
		api.documents = map[string]any{
			"/.well-known/openid-configuration": map[string]string{"issuer": testIssuer, "jwks_uri": "https://evil.example/"},
			"/openid/v1/jwks":                   jose.JSONWebKeySet{Keys: keys},
		}
	})
}

// issuerOf returns the issuer with the keys that the API server currently publishes.
func issuerOf(t *testing.T, api *fakeAPI) *issuer {
	t.Helper()
	i := newIssuer(api.client(t).Discovery().RESTClient())
	if !i.refresh(t.Context()) {
		t.Fatalf("cannot read the keys: %s", i.lastLogged)
	}
	return i
}

func TestIssuer_VerifyReturnsTheDependenciesOfAToken(t *testing.T) {
	ec, other := newSigning(t, "ec"), newRSASigning(t, "rsa")
	api := &fakeAPI{}
	api.publish(ec.public(), other.public())
	i := issuerOf(t, api)
	for name, test := range map[string]struct {
		token string
		pod   string
	}{
		"a pod's token":             {ec.token(t, nil), "pod-uid"},
		"a pod's token by RSA":      {other.token(t, nil), "pod-uid"},
		"a token for no pod":        {ec.token(t, map[string]any{"kubernetes.io": boundClaim()}), ""},
		"a pod's, of an older node": {ec.token(t, map[string]any{"kubernetes.io": boundClaim("pod")}), "pod-uid"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := i.verify(test.token, agent)
			if err != nil || got.account != "account-uid" || got.pod != test.pod || !i.has(got.key) || time.Until(got.expires) < 59*time.Minute {
				t.Errorf("the dependencies are %+v, %v", got, err)
			}
		})
	}
}

func TestIssuer_RejectsOtherTokens(t *testing.T) {
	key, other := newSigning(t, "a"), newSigning(t, "a")
	rsaKey := newRSASigning(t, "rsa")
	api := &fakeAPI{}
	api.publish(key.public(), rsaKey.public())
	i := issuerOf(t, api)
	hmacKey := rsaKey.key.Public().(*rsa.PublicKey).N.Bytes()
	unsigned := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none","kid":"a"}`)) + "." + key.token(t, nil)[len("x"):]
	with := func(claim string, value any) string { return key.token(t, map[string]any{claim: value}) }
	for name, token := range map[string]string{
		"another key of the same ID":   other.token(t, nil),
		"a key that is not known":      newSigning(t, "b").token(t, nil),
		"a key without an ID":          newSigning(t, "").token(t, nil),
		"the public key as a secret":   rsaKey.sign(t, jose.HS256, hmacKey, claimsWith(nil)),
		"another algorithm of the key": rsaKey.sign(t, jose.PS256, rsaKey.key, claimsWith(nil)),
		"a longer hash than the key's": rsaKey.sign(t, jose.RS512, rsaKey.key, claimsWith(nil)),
		"another key's algorithm":      (&signing{id: "a"}).sign(t, jose.RS256, rsaKey.key, claimsWith(nil)),
		"no signature":                 unsigned,
		"another issuer":               with("iss", "https://evil.example"),
		"no issuer":                    with("iss", nil),
		"another subject":              with("sub", "system:serviceaccount:a:other"),
		"no end":                       with("exp", nil),
		"a Secret's":                   with("kubernetes.io", boundClaim("secret")),
		"a node's":                     with("kubernetes.io", boundClaim("node")),
		"another service account":      with("kubernetes.io", map[string]any{"namespace": "a", "serviceaccount": map[string]any{"name": "agent", "uid": "x"}}),
		"no service account":           with("kubernetes.io", nil),
		"a pod without a UID":          with("kubernetes.io", map[string]any{"namespace": "a", "serviceaccount": boundClaim()["serviceaccount"], "pod": map[string]any{"name": "x"}}),
		"no JWT":                       "abc",
		"nothing":                      "",
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := i.verify(token, agent); err == nil {
				t.Errorf("the dependencies are %+v", got)
			}
		})
	}
	changed := agent
	changed.UID = "another"
	if _, err := i.verify(key.token(t, nil), changed); err == nil {
		t.Error("the identity from the API server is ignored")
	}
}

func TestUsableKeys_RejectDuplicateIDsAndSkipOtherKeys(t *testing.T) {
	a, again, none := newSigning(t, "a"), newSigning(t, "a"), newSigning(t, "")
	if _, err := usableKeys(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{a.public(), again.public()}}); err == nil {
		t.Error("one of two keys with the same ID is used")
	}
	private, secret, encrypting := a.public(), a.public(), a.public()
	private.Key, secret.Key, encrypting.Use = a.key, []byte("secret"), "enc"
	keys, err := usableKeys(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{none.public(), private, secret, encrypting}})
	if err != nil || len(keys) != 0 {
		t.Errorf("the usable keys are %v, %v", keys, err)
	}
}

func TestIssuer_UsesOnlyPublishedKeys(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		old, next := newSigning(t, "a"), newSigning(t, "b")
		api := &fakeAPI{}
		api.publish(old.public())
		i := newIssuer(api.client(t).Discovery().RESTClient())
		running(t, i.run)
		time.Sleep(time.Second)
		bound, err := i.verify(old.token(t, nil), agent)
		must(t, err)
		api.publish(next.public())
		if _, err := i.verify(next.token(t, nil), agent); err == nil || !i.has(bound.key) {
			t.Fatal("the keys were read although no key was unknown")
		}
		time.Sleep(keysRetry) // a token with an unknown key has them read
		if _, err := i.verify(next.token(t, nil), agent); err != nil || i.has(bound.key) {
			t.Errorf("new keys are not used: %v", err)
		}
		replaced := newSigning(t, "b")
		bound, err = i.verify(next.token(t, nil), agent)
		must(t, err)
		api.publish(replaced.public())
		time.Sleep(keysInterval)
		if i.has(bound.key) {
			t.Error("another key with the same ID is accepted")
		}
	})
}

func TestIssuer_KeysExpireWhenTheyCannotBeReloaded(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		key := newSigning(t, "a")
		api := &fakeAPI{}
		api.publish(key.public())
		i := newIssuer(api.client(t).Discovery().RESTClient())
		running(t, i.run)
		time.Sleep(time.Second)
		bound, err := i.verify(key.token(t, nil), agent)
		must(t, err)
		api.set(func() { api.documents = nil })
		time.Sleep(keysMaxAge - 2*time.Second)
		if !i.has(bound.key) {
			t.Error("the keys expire at once")
		}
		time.Sleep(2 * time.Second)
		if i.has(bound.key) {
			t.Error("the keys do not expire")
		}
		api.publish(key.public())
		time.Sleep(keysRetry)
		if !i.has(bound.key) {
			t.Error("the keys are not read again")
		}
	})
}
