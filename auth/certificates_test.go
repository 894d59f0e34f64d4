package auth

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/asn1"
)

// crafted returns n invented authorities of one name.
func crafted(t *testing.T, many int) (issuers []*x509.Certificate) {
	t.Helper()
	var none *signer
	for range many {
		issuers = append(issuers, none.issue(t, authority("ca")).certificate)
	}
	return issuers
}

// withKey returns a certificate of an authority with a given key.
func withKey(t *testing.T, name string, key crypto.Signer) *x509.Certificate {
	t.Helper()
	template := authority(name)
	template.SerialNumber = big.NewInt(1)
	template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	der, err := x509.CreateCertificate(rand.Reader, &template, &template, key.Public(), key)
	must(t, err)
	certificate, err := x509.ParseCertificate(der)
	must(t, err)
	return certificate
}

func TestBoundedChain_HasFewIssuersWithCheapKeys(t *testing.T) {
	var none *signer
	leaf := none.issue(t, client(alice)).certificate
	ec := func(curve elliptic.Curve) crypto.Signer {
		key, err := ecdsa.GenerateKey(curve, rand.Reader)
		must(t, err)
		return key
	}
	ofRSA := func(bits int) *x509.Certificate {
		key := &rsa.PublicKey{N: new(big.Int).Lsh(big.NewInt(1), uint(bits-1)), E: 65537}
		return &x509.Certificate{PublicKey: key, RawSubjectPublicKeyInfo: []byte(fmt.Sprint(bits))}
	}
	_, edwards, err := ed25519.GenerateKey(rand.Reader)
	must(t, err)
	same := ec(elliptic.P256())
	for name, test := range map[string]struct {
		issuers []*x509.Certificate
		want    int
	}{
		"none":                       {nil, 0},
		"99 of one name":             {crafted(t, 99), maxIntermediates},
		"P-256":                      {[]*x509.Certificate{withKey(t, "a", ec(elliptic.P256()))}, 1},
		"P-384":                      {[]*x509.Certificate{withKey(t, "a", ec(elliptic.P384()))}, 1},
		"Ed25519":                    {[]*x509.Certificate{withKey(t, "a", edwards)}, 1},
		"RSA of 4096 bits":           {[]*x509.Certificate{ofRSA(4096)}, 1},
		"RSA of 4097 bits":           {[]*x509.Certificate{ofRSA(4097)}, 0},
		"P-521":                      {[]*x509.Certificate{withKey(t, "a", ec(elliptic.P521()))}, 0},
		"one after a P-521":          {append([]*x509.Certificate{withKey(t, "a", ec(elliptic.P521()))}, crafted(t, 1)...), 1},
		"the same names and key":     {[]*x509.Certificate{withKey(t, "a", same), withKey(t, "a", same)}, 1},
		"the same key, another name": {[]*x509.Certificate{withKey(t, "a", same), withKey(t, "b", same)}, 2},
		"more bytes than are read":   {[]*x509.Certificate{{Raw: make([]byte, maxChainBytes), PublicKey: same.Public()}}, 0},
		"a key that is not known":    {[]*x509.Certificate{{PublicKey: "x"}}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			bounded, err := boundedChain(append([]*x509.Certificate{leaf}, test.issuers...))
			if err != nil || bounded[0] != leaf || len(bounded)-1 != test.want {
				t.Errorf("%d issuers are examined, want %d; %v", len(bounded)-1, test.want, err)
			}
		})
	}
	if _, err := boundedChain([]*x509.Certificate{{Raw: make([]byte, maxChainBytes+1)}}); err == nil {
		t.Error("a certificate of any length is accepted")
	}
}

// verifying returns an authenticator that trusts an authority, and counts the verifications and the
// certificates that each examines.
type verifying struct {
	*ClusterAuthenticator
	verifications, most atomic.Int64
}

func newVerifying(t *testing.T, ca *signer) *verifying {
	t.Helper()
	v := &verifying{ClusterAuthenticator: NewClusterAuthenticator((&fakeAPI{}).client(t), ClusterAuthenticatorOptions{})}
	must(t, v.clientCA.set(ca.pem()))
	verify := v.certificates.verify
	v.certificates.verify = func(chain []*x509.Certificate, pool *x509.CertPool) (Identity, error) {
		v.verifications.Add(1)
		v.most.Store(max(v.most.Load(), int64(len(chain))))
		return verify(chain, pool)
	}
	return v
}

func (v *verifying) call(ctx context.Context, chain ...*x509.Certificate) (Identity, error) {
	return v.Authenticate(contextWithPeer(ctx, peer{certificates: chain, address: peerFrom(ctx).address}), http.Header{})
}

func (v *verifying) wantVerifications(t *testing.T, want int64) {
	t.Helper()
	if got := v.verifications.Load(); got != want {
		t.Errorf("%d verifications, want %d", got, want)
	}
}

// TestClusterAuthenticator_VerifiesAChainOfCraftedIssuersOnce makes many calls on one connection,
// with a chain of as many issuers as TLS accepts.
func TestClusterAuthenticator_VerifiesAChainOfCraftedIssuersOnce(t *testing.T) {
	var none *signer
	v := newVerifying(t, none.issue(t, authority("ca")))
	chain := append([]*x509.Certificate{none.issue(t, authority("ca")).issue(t, client(alice)).certificate}, crafted(t, 99)...)
	for range 1000 {
		if _, err := v.call(t.Context(), chain...); !errors.Is(err, ErrUnauthenticated) || !strings.Contains(err.Error(), "5 of the 99") {
			t.Fatalf("got %v", err)
		}
	}
	v.wantVerifications(t, 1)
	if most := v.most.Load(); most != 1+maxIntermediates {
		t.Errorf("%d certificates were examined", most)
	}
}

func TestClusterAuthenticator_VerifiesAGoodChainOnce(t *testing.T) {
	var none *signer
	ca := none.issue(t, authority("ca"))
	v := newVerifying(t, ca)
	chains := [][]*x509.Certificate{{ca.issue(t, client(alice)).certificate}, {ca.issue(t, client(pkix.Name{CommonName: "bob"})).certificate}}
	for range 100 {
		for i, name := range []string{"alice", "bob"} {
			if identity, err := v.call(t.Context(), chains[i]...); err != nil || identity.Username != name {
				t.Fatalf("got %+v, %v", identity, err)
			}
		}
	}
	v.wantVerifications(t, 2)
	must(t, v.clientCA.set(ca.pem()))
	_, _ = v.call(t.Context(), chains[0]...)
	v.wantVerifications(t, 2)
	must(t, v.clientCA.set(none.issue(t, authority("other")).pem()))
	if _, err := v.call(t.Context(), chains[0]...); !errors.Is(err, ErrUnauthenticated) {
		t.Errorf("by an earlier authority, got %v", err)
	}
	v.wantVerifications(t, 3)
}

// TestClusterAuthenticator_CachesVerificationsUntilValidityChanges has certificates that become
// valid and expire while the connection stays open.
func TestClusterAuthenticator_CachesVerificationsUntilValidityChanges(t *testing.T) {
	withCluster(t, &fakeAPI{}, ClusterAuthenticatorOptions{}, func(t *testing.T, _ *ClusterAuthenticator) {
		var none *signer
		ca := authority("ca")
		ca.NotBefore, ca.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(24*time.Hour)
		signs := none.issue(t, ca)
		v := newVerifying(t, signs)
		late := client(alice)
		late.NotBefore, late.NotAfter = time.Now().Add(time.Minute), time.Now().Add(time.Hour)
		leaf := signs.issue(t, late).certificate
		for _, step := range []struct {
			wait time.Duration
			good bool
		}{{0, false}, {30 * time.Second, false}, {time.Minute, true}, {30 * time.Minute, true}, {time.Hour, false}} {
			time.Sleep(step.wait)
			if _, err := v.call(t.Context(), leaf); (err == nil) != step.good {
				t.Errorf("after %s more, got %v", step.wait, err)
			}
		}
		v.wantVerifications(t, 3)
	})
}

func TestClusterAuthenticator_InvalidChainsDoNotEvictGoodOnes(t *testing.T) {
	var none *signer
	ca := none.issue(t, authority("ca"))
	v := newVerifying(t, ca)
	good := ca.issue(t, client(alice)).certificate
	_, _ = v.call(t.Context(), good)
	bad := none.issue(t, client(alice)).certificate
	for i := range maxUnverified + 10 {
		v.certificates.cacheResult([32]byte{byte(i), byte(i >> 8)}, []*x509.Certificate{bad}, verification{rejected: errNoUser})
	}
	_, _ = v.call(t.Context(), good)
	v.wantVerifications(t, 1)
	if kept := len(v.certificates.rejected.Keys()); kept != maxUnverified {
		t.Errorf("%d entries are cached", kept)
	}
}

// TestClusterAuthenticator_VerificationsAreFairByAddress has one address connect with many chains,
// each of which takes a second.
func TestClusterAuthenticator_VerificationsAreFairByAddress(t *testing.T) {
	withCluster(t, &fakeAPI{}, ClusterAuthenticatorOptions{}, func(t *testing.T, _ *ClusterAuthenticator) {
		var none *signer
		ca := none.issue(t, authority("ca"))
		v := newVerifying(t, ca)
		good := ca.issue(t, client(alice)).certificate
		verify := v.certificates.verify
		v.certificates.verify = func(chain []*x509.Certificate, pool *x509.CertPool) (Identity, error) {
			time.Sleep(time.Second)
			return verify(chain, pool)
		}
		issuers := crafted(t, 300)
		turnedAway := make(chan error, len(issuers))
		for _, issuer := range issuers {
			go func() {
				if _, err := v.call(calledFrom(t, 1), issuer); apierrors.IsTooManyRequests(err) {
					turnedAway <- err
				}
			}()
		}
		synctest.Wait()
		if got, want := len(turnedAway), len(issuers)-maxUnverifiedOfPeer-int(v.certificates.slots.Held()); got != want {
			t.Errorf("%d are rejected at once, want %d", got, want)
		}
		began := time.Now()
		if _, err := v.call(calledFrom(t, 2), good); err != nil || time.Since(began) != time.Second {
			t.Errorf("another address got %v after %s", err, time.Since(began))
		}
		time.Sleep(slotTimeout + time.Second)
		synctest.Wait()
		if held := v.certificates.slots.Held(); held != 0 {
			t.Errorf("%d slots are left", held)
		}
	})
}

// TestClusterAuthenticator_CallsOfOneConnectionWaitForOneVerification makes concurrent calls.
func TestClusterAuthenticator_CallsOfOneConnectionWaitForOneVerification(t *testing.T) {
	withCluster(t, &fakeAPI{}, ClusterAuthenticatorOptions{}, func(t *testing.T, _ *ClusterAuthenticator) {
		var none *signer
		ca := none.issue(t, authority("ca"))
		v := newVerifying(t, ca)
		v.certificates.verify = func([]*x509.Certificate, *x509.CertPool) (Identity, error) {
			v.verifications.Add(1)
			time.Sleep(time.Second)
			return Identity{}, errNoUser
		}
		leaf := ca.issue(t, client(alice)).certificate
		for range 50 {
			go func() { _, _ = v.call(calledFrom(t, 1), leaf) }()
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		v.wantVerifications(t, 1)
	})
}

// signer issues certificates.
type signer struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

// issue returns a certificate; without a signer it is self-signed.
func (s *signer) issue(t *testing.T, template x509.Certificate) *signer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	template.SerialNumber = big.NewInt(1)
	if template.NotAfter.IsZero() {
		template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	}
	by := s
	if by == nil {
		by = &signer{&template, key}
	}
	der, err := x509.CreateCertificate(rand.Reader, &template, by.certificate, key.Public(), by.key)
	must(t, err)
	certificate, err := x509.ParseCertificate(der)
	must(t, err)
	return &signer{certificate, key}
}

func authority(name string) x509.Certificate {
	return x509.Certificate{
		Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
}

func client(subject pkix.Name) x509.Certificate {
	return x509.Certificate{Subject: subject, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
}

func (s *signer) pem() string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.certificate.Raw}))
}

func (s *signer) keyPEM(t *testing.T) string {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(s.key)
	must(t, err)
	return string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
}

var alice = pkix.Name{CommonName: "alice", Organization: []string{"devs"}}

func uidAttributes(values ...string) (attributes []pkix.AttributeTypeAndValue) {
	for _, value := range values {
		attributes = append(attributes, pkix.AttributeTypeAndValue{Type: asn1.X509UID(), Value: value})
	}
	return attributes
}

func TestCertificateIdentity_HasNameAndGroupsOfTheSubject(t *testing.T) {
	var none *signer
	ca := none.issue(t, authority("ca"))
	between := ca.issue(t, authority("between"))
	between.certificate.NotAfter = between.certificate.NotAfter.Add(-time.Minute)
	for name, chain := range map[string][]*x509.Certificate{
		"from the authority":          {ca.issue(t, client(alice)).certificate},
		"through another one between": {between.issue(t, client(alice)).certificate, between.certificate},
	} {
		t.Run(name, func(t *testing.T) {
			identity, err := certificateIdentity(chain, poolOf([]*x509.Certificate{ca.certificate}))
			if err != nil || identity.Username != "alice" || identity.UID != "" || !slices.Equal(identity.Groups, []string{"devs", groupAuthenticated}) {
				t.Errorf("got %+v, %v", identity, err)
			}
			if identity.Expires.After(chain[len(chain)-1].NotAfter) {
				t.Errorf("expires %s", identity.Expires)
			}
		})
	}
}

func TestCertificateIdentity_RejectsInvalidCertificates(t *testing.T) {
	var none *signer
	ca, other := none.issue(t, authority("ca")), none.issue(t, authority("ca"))
	server, both, ended, early := client(alice), client(alice), client(alice), client(alice)
	server.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	both.ExtKeyUsage = nil
	ended.NotBefore, ended.NotAfter = time.Now().Add(-2*time.Hour), time.Now().Add(-time.Hour)
	early.NotBefore, early.NotAfter = time.Now().Add(time.Hour), time.Now().Add(2*time.Hour)
	leaf := ca.issue(t, client(alice))
	named := func(name pkix.Name) *x509.Certificate { return ca.issue(t, client(name)).certificate }
	for name, chain := range map[string][]*x509.Certificate{
		"no certificate":                {},
		"of another authority":          {other.issue(t, client(alice)).certificate},
		"of another, which comes along": {other.issue(t, client(alice)).certificate, other.certificate},
		"of nobody":                     {none.issue(t, client(alice)).certificate},
		"of a user":                     {leaf.issue(t, client(alice)).certificate, leaf.certificate},
		"for a server":                  {ca.issue(t, server).certificate},
		"that has ended":                {ca.issue(t, ended).certificate},
		"that has not begun":            {ca.issue(t, early).certificate},
		"with two UIDs":                 {named(pkix.Name{CommonName: "alice", ExtraNames: uidAttributes("1", "2")})},
		"with an empty UID":             {named(pkix.Name{CommonName: "alice", ExtraNames: uidAttributes("")})},
	} {
		t.Run(name, func(t *testing.T) {
			if identity, err := certificateIdentity(chain, poolOf([]*x509.Certificate{ca.certificate})); err == nil || identity.Username != "" {
				t.Errorf("got %+v, %v", identity, err)
			}
		})
	}
}

// TestClusterAuthenticator_AcceptsCertificatesOfTheCurrentAuthorities changes the published
// authorities while the authenticator runs.
func TestClusterAuthenticator_AcceptsCertificatesOfTheCurrentAuthorities(t *testing.T) {
	var none *signer
	ca, next := none.issue(t, authority("ca")), none.issue(t, authority("next"))
	before, after := ca.issue(t, client(alice)), next.issue(t, client(alice))
	nameless := ca.issue(t, client(pkix.Name{Organization: []string{"devs"}}))
	anonymous := ca.issue(t, client(pkix.Name{CommonName: userAnonymous}))
	cluster := NewClusterAuthenticator((&fakeAPI{}).client(t), ClusterAuthenticatorOptions{})
	ask := func(who *signer) error {
		ctx := contextWithPeer(t.Context(), peer{certificates: []*x509.Certificate{who.certificate}})
		_, err := cluster.Authenticate(ctx, http.Header{})
		return err
	}
	wantRefused := func(what string, err error, says string) {
		t.Helper()
		if !errors.Is(err, ErrUnauthenticated) || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := ask(before); !apierrors.IsServiceUnavailable(err) || errors.Is(err, ErrUnauthenticated) {
		t.Errorf("before the authorities are read: %v", err)
	}
	must(t, cluster.clientCA.set(""))
	wantRefused("a cluster without an authority", ask(before), "no client certificates")
	must(t, cluster.clientCA.set(ca.pem()))
	must(t, ask(before))
	wantRefused("no name", ask(nameless), "names no user")
	wantRefused("anonymous", ask(anonymous), "anonymous")
	wantRefused("another authority", ask(after), "unknown authority")
	must(t, cluster.clientCA.set(ca.pem()+next.pem()))
	must(t, ask(before))
	must(t, ask(after))
	must(t, cluster.clientCA.set(next.pem()))
	wantRefused("an authority of before", ask(before), "unknown authority")
	if err := cluster.clientCA.set("nonsense"); err == nil {
		t.Error("invalid data is accepted")
	}
	must(t, ask(after))
}

func TestClientCA_ReloadsAndKeepsTheLastOneOnFailure(t *testing.T) {
	var none *signer
	first, second := none.issue(t, authority("first")).pem(), none.issue(t, authority("second")).pem()
	api := &fakeAPI{clientCA: first}
	withCluster(t, api, ClusterAuthenticatorOptions{}, func(t *testing.T, cluster *ClusterAuthenticator) {
		holds := func(want string) {
			t.Helper()
			cluster.clientCA.mu.RLock()
			defer cluster.clientCA.mu.RUnlock()
			if cluster.clientCA.bytes != want {
				t.Errorf("has another authority")
			}
		}
		holds(first)
		api.set(func() { api.clientCA, api.fails = second, errors.New("away") })
		time.Sleep(2 * clientCAInterval)
		holds(first)
		api.set(func() { api.fails = nil })
		time.Sleep(clientCARetry + time.Second)
		holds(second)
	})
}

func TestClusterAuthenticator_CertificateDoesNotReplaceARejectedToken(t *testing.T) {
	var none *signer
	ca := none.issue(t, authority("ca"))
	chain := []*x509.Certificate{ca.issue(t, client(alice)).certificate}
	api := rejectingAll()
	cluster := NewClusterAuthenticator(api.client(t), ClusterAuthenticatorOptions{})
	must(t, cluster.clientCA.set(ca.pem()))
	for _, header := range []http.Header{bearer("a"), {"Authorization": {"Basic x"}}} {
		if _, err := cluster.Authenticate(contextWithPeer(t.Context(), peer{certificates: chain}), header); !errors.Is(err, ErrUnauthenticated) {
			t.Errorf("got %v", err)
		}
	}
}

func TestClusterAuthenticator_TLSConfigRequestsCertificatesOfTheAuthorities(t *testing.T) {
	var none *signer
	ca := none.issue(t, authority("ca"))
	holder := ca.issue(t, client(alice))
	cluster := NewClusterAuthenticator((&fakeAPI{}).client(t), ClusterAuthenticatorOptions{})
	if _, err := overTLS(t, cluster, holder.pem(), holder.keyPEM(t)); !apierrors.IsServiceUnavailable(err) {
		t.Errorf("before the authorities are read: %v", err)
	}
	must(t, cluster.clientCA.set(""))
	if _, err := overTLS(t, cluster, holder.pem(), holder.keyPEM(t)); !errors.Is(err, ErrUnauthenticated) {
		t.Errorf("without an authority: %v", err)
	}
	must(t, cluster.clientCA.set(ca.pem()))
	identity, err := overTLS(t, cluster, holder.pem(), holder.keyPEM(t))
	if err != nil || identity.Username != "alice" {
		t.Errorf("got %+v, %v", identity, err)
	}
}

// overTLS authenticates a caller that connects with a certificate.
func overTLS(t *testing.T, cluster *ClusterAuthenticator, certificate, key string) (identity Identity, err error) {
	t.Helper()
	server := httptest.NewUnstartedServer(WithPeer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		identity, err = cluster.Authenticate(r.Context(), r.Header)
	})))
	base := httptest.NewTLSServer(nil)
	base.Close()
	server.TLS = cluster.TLSConfig(base.TLS)
	server.StartTLS()
	defer server.Close()
	pair, pairErr := tls.X509KeyPair([]byte(certificate), []byte(key))
	must(t, pairErr)
	caller := server.Client()
	caller.Transport.(*http.Transport).TLSClientConfig.Certificates = []tls.Certificate{pair}
	answer, getErr := caller.Get(server.URL)
	must(t, getErr)
	must(t, answer.Body.Close())
	return identity, err
}

func TestWithPeer_PassesCertificatesOfTheConnection(t *testing.T) {
	var none *signer
	certificate := none.issue(t, client(alice)).certificate
	for name, test := range map[string]struct {
		state *tls.ConnectionState
		want  int
	}{
		"plain text":          {nil, 0},
		"TLS without":         {&tls.ConnectionState{}, 0},
		"TLS with one of two": {&tls.ConnectionState{PeerCertificates: []*x509.Certificate{certificate, certificate}}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", nil)
			request.TLS = test.state
			WithPeer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				if got := peerFrom(r.Context()).certificates; len(got) != test.want {
					t.Errorf("%d certificates were passed on", len(got))
				}
			})).ServeHTTP(httptest.NewRecorder(), request)
		})
	}
}
