package auth

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/asn1"
)

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
