package auth

import (
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilcache "k8s.io/apimachinery/pkg/util/cache"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/transport"

	"github.com/kubeconnect/kubeconnect/internal/managedfields"
	"github.com/kubeconnect/kubeconnect/internal/watchlist"
)

const (
	// maxClients bounds the callers whose clients are cached; the least recently used are evicted.
	// They take about 30 KiB each.
	maxClients = 512
	// clientsTTL is the maximum time for which clients, and with them a caller's token, are cached.
	clientsTTL = 10 * time.Minute
)

// Clients are client-go clients that act as one caller. They are safe for concurrent use, and
// continue to work after the factory has evicted them.
type Clients struct {
	Typed *kubernetes.Clientset
	// HTTP sends any request, but only to the API server, because it adds credentials. Like the
	// other clients it does not follow redirects.
	HTTP *http.Client
}

// ClientFactory creates clients that act as callers. The clients share their connections. Its
// methods are safe for concurrent use.
type ClientFactory struct {
	config   *rest.Config
	own      *Clients
	metadata metadata.Interface // acts as the service itself
	over     transports         // of calls
	upgrades transports         // of connections that are upgraded: see Passing
	// constrained is whether the API server decides for each request whether the service may make it as
	// the caller, and usedExtra are the keys of Extra that an authorizer uses; see [ClientFactory.Constrain].
	constrained bool
	usedExtra   []string

	mu     sync.Mutex // held while clients are created, so that they are created once
	cached *utilcache.LRUExpireCache
}

// transports are the transports that the clients of all callers share.
type transports struct {
	asService http.RoundTripper // sends the service's credentials
	anonymous http.RoundTripper // sends no credentials
}

// newTransports returns transports to the server of a configuration, with a wrap for those without credentials, which can be nil.
func newTransports(config *rest.Config, wrap func(http.RoundTripper) http.RoundTripper) (t transports, err error) {
	if t.asService, err = rest.TransportFor(config); err != nil {
		return t, err
	}
	t.anonymous, err = rest.TransportFor(withoutCredentials(config, wrap))
	return t, err
}

// NewClientFactory returns a factory whose clients reach the API server according to config. Each
// of their requests passes through wrap, which can be nil.
func NewClientFactory(config *rest.Config, wrap func(http.RoundTripper) http.RoundTripper) (*ClientFactory, error) {
	config = rest.CopyConfig(config)
	if wrap != nil {
		config.Wrap(wrap)
	}
	config.Wrap(watchlist.Transport)
	config.WarningHandler = rest.NoWarnings{} // warnings are returned to the caller
	config.QPS = -1
	f := &ClientFactory{config: config, cached: utilcache.NewLRUExpireCache(maxClients)}
	var err error
	if f.over, err = newTransports(config, wrap); err != nil {
		return nil, err
	}
	// HTTP/2 has no upgrades.
	overHTTP1 := rest.CopyConfig(config)
	overHTTP1.NextProtos = []string{"http/1.1"}
	if f.upgrades, err = newTransports(overHTTP1, wrap); err != nil {
		return nil, err
	}
	if f.own, err = f.newClients(f.over.asService); err != nil {
		return nil, err
	}
	f.metadata, err = metadata.NewForConfigAndClient(config, managedfields.Omit(f.own.HTTP))
	return f, err
}

// Constrain makes the clients impersonate callers as constrained impersonation requires. The API server
// then takes a service account by its name alone, and knows its groups itself. So the UID, and the keys
// of Extra that name the credential, are not sent for a service account. A service account with other
// groups or keys, or with a key that an authorizer uses, is rejected: without them it could be allowed
// more. Other users are sent in full.
//
// Constrain must be called before the first call of [ClientFactory.For].
func (f *ClientFactory) Constrain(usedExtra []string) { f.constrained, f.usedExtra = true, usedExtra }

// withoutCredentials returns a configuration for the same server and with the same wrap, but
// without credentials. It has connections of its own, because a client certificate belongs to the
// connection.
func withoutCredentials(config *rest.Config, wrap func(http.RoundTripper) http.RoundTripper) *rest.Config {
	anonymous := rest.AnonymousClientConfig(config)
	anonymous.Transport = config.Transport
	if wrap != nil {
		anonymous.Wrap(wrap)
	}
	return anonymous
}

func (f *ClientFactory) newClients(transport http.RoundTripper) (*Clients, error) {
	client := &http.Client{Transport: transport, Timeout: f.config.Timeout, CheckRedirect: noRedirects}
	byType := rest.CopyConfig(f.config)
	byType.ContentType = runtime.ContentTypeProtobuf
	byType.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	typed, err := kubernetes.NewForConfigAndClient(byType, client)
	if err != nil {
		return nil, err
	}
	return &Clients{Typed: typed, HTTP: client}, nil
}

// noRedirects makes a client return a redirect instead of following it: otherwise the transport
// would send the credentials to the host that the response names.
func noRedirects(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// Host returns the address of the API server, with the path before its own.
func (f *ClientFactory) Host() *url.URL {
	host, _, err := rest.DefaultServerUrlFor(f.config)
	if err != nil {
		panic(err) // cannot happen: own was created from the same configuration
	}
	return host
}

// ForService returns the clients that act as the service itself.
func (f *ClientFactory) ForService() *Clients { return f.own }

// ServiceMetadata returns the client that reads metadata as the service itself, without managedFields where the API server can omit
// them.
func (f *ClientFactory) ServiceMetadata() metadata.Interface { return f.metadata }

// For returns the clients that act as a caller. For the kubeconfig's user these are the service's
// own. Otherwise they impersonate the caller or, if a [ClusterAuthenticator] that keeps tokens has
// authenticated it, send its own token. The clients of an identity without a user fail every
// request.
//
// The clients of an identity are created once, and cached while they are used, for at most ten
// minutes; those of at most 512 identities are cached.
func (f *ClientFactory) For(identity Identity) *Clients {
	if identity.own {
		return f.own
	}
	key := clientsKeyOf(identity)
	f.mu.Lock()
	defer f.mu.Unlock()
	if clients, ok := f.cached.Get(key); ok {
		return clients.(*Clients)
	}
	clients, err := f.newClients(f.transportFor(identity, f.over))
	if err != nil {
		panic(err) // cannot happen: own was created from the same configuration
	}
	f.cached.Add(key, clients, clientsTTL)
	return clients
}

// clientsKey identifies a set of clients: by the caller's identity and, if the clients send the
// caller's own token, by the token.
type clientsKey struct {
	identity Key
	token    [sha256.Size]byte
}

func clientsKeyOf(identity Identity) clientsKey {
	key := clientsKey{identity: identity.Key()}
	if identity.token != nil {
		key.token = sha256.Sum256([]byte("token " + identity.token()))
	}
	return key
}

// Passing returns a transport that passes requests of a client on as the caller: it removes the credentials that they have, and
// sends those of the clients of For. Its connections can be upgraded to another protocol if upgrades is true: they are HTTP/1.1.
//
// as are the headers by which the client asks to act as another user; nil if it does not. The API server decides whether the caller may.
// Passing fails for such a client if the service impersonates its callers, because only one of both can be asked for.
func (f *ClientFactory) Passing(identity Identity, as http.Header, upgrades bool) (http.RoundTripper, error) {
	over := f.over
	if upgrades {
		over = f.upgrades
	}
	switch {
	case identity.own:
		return passingTransport{as, over.asService}, nil
	case as != nil && identity.token != nil && identity.token() != "":
		return passingTransport{as, transport.NewBearerAuthRoundTripper(identity.token(), over.anonymous)}, nil
	case as != nil:
		return nil, forbidden("the service acts as its callers by impersonation, and cannot act as another user for them: " +
			"send requests with Impersonate- headers (--as) to the API server")
	case upgrades:
		return f.transportFor(identity, over), nil
	}
	return f.For(identity).HTTP.Transport, nil
}

// passingTransport removes credentials and impersonation headers from requests, and adds the given ones.
type passingTransport struct {
	as   http.Header
	next http.RoundTripper
}

// RoundTrip implements [http.RoundTripper].
func (p passingTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	request = utilnet.CloneRequest(request)
	request.Header.Del("Authorization")
	stripImpersonation(request.Header)
	maps.Copy(request.Header, p.as)
	return p.next.RoundTrip(request)
}

// transportFor returns a transport that sends requests as the caller. It removes all credentials
// and impersonation headers that a request already has.
func (f *ClientFactory) transportFor(identity Identity, over transports) http.RoundTripper {
	var next http.RoundTripper
	switch {
	case identity.token != nil && identity.token() != "":
		next = transport.NewBearerAuthRoundTripper(identity.token(), over.anonymous)
	case identity.token != nil:
		next = failingTransport{errNoToken}
	case identity.Username == "":
		next = failingTransport{errNoUser}
	default:
		next = f.impersonating(identity, over)
	}
	return strippingTransport{next}
}

// strippingTransport removes credentials and impersonation headers from requests.
type strippingTransport struct{ next http.RoundTripper }

// RoundTrip implements [http.RoundTripper].
func (s strippingTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	request = utilnet.CloneRequest(request)
	request.Header.Del("Authorization")
	stripImpersonation(request.Header)
	return s.next.RoundTrip(request)
}

var (
	errNoUser  = unauthenticated("request has no authenticated user")
	errNoToken = forbidden("a client certificate cannot be passed on, and requests are made with the " +
		"caller's own bearer token: send \"Authorization: Bearer TOKEN\"")
)

// forbidden returns an error of the API server's type, Forbidden.
func forbidden(message string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status:  metav1.StatusFailure,
		Code:    http.StatusForbidden,
		Reason:  metav1.StatusReasonForbidden,
		Message: message,
	}}
}

// failingTransport fails every request with an error.
type failingTransport struct{ err error }

// RoundTrip implements [http.RoundTripper].
func (r failingTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.Body != nil {
		_ = request.Body.Close()
	}
	return nil, r.err
}

// impersonating returns a transport that sends requests as the service and impersonates the caller.
// If headers cannot represent the caller's identity exactly, the transport rejects every request.
func (f *ClientFactory) impersonating(identity Identity, over transports) http.RoundTripper {
	var err error
	if f.constrained {
		if identity, err = identity.constrained(f.usedExtra); err != nil {
			return failingTransport{err}
		}
	}
	config, err := impersonationOf(identity)
	if err != nil {
		return failingTransport{err}
	}
	return countedTransport{transport.NewImpersonatingRoundTripper(config, over.asService), len(identity.Groups)}
}

// countedTransport explains why the API server rejects the headers that impersonate a caller. It has one for each group, and since
// Kubernetes 1.38 (Go 1.27) an API server accepts 500 values of headers, in any number of bytes.
type countedTransport struct {
	next   http.RoundTripper
	groups int
}

// RoundTrip implements [http.RoundTripper].
func (c countedTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := c.next.RoundTrip(request)
	if err != nil || response.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
		return response, err
	}
	_ = response.Body.Close()
	return nil, forbidden(fmt.Sprintf("the API server accepts fewer headers than it takes to impersonate this user, who is in %d groups: "+
		"the service cannot impersonate this user; read from the cache, use an identity in fewer groups, "+
		"or ask the operator of the service to pass on tokens (--write-as token)", c.groups))
}

// impersonationOf returns the configuration that impersonates exactly the identity. HTTP/1.1
// removes white space from the ends of a header, so "admin " would become "admin".
func impersonationOf(identity Identity) (transport.ImpersonationConfig, error) {
	extra, err := extraHeaders(identity.Extra)
	if err != nil {
		return transport.ImpersonationConfig{}, err
	}
	for _, part := range []struct {
		what   string
		values []string
	}{{"user name", []string{identity.Username}}, {"UID", []string{identity.UID}}, {"group", identity.Groups}} {
		if err := checkHeaderValues(part.what, part.values); err != nil {
			return transport.ImpersonationConfig{}, err
		}
	}
	return transport.ImpersonationConfig{
		UserName: identity.Username,
		UID:      identity.UID,
		Groups:   identity.Groups,
		Extra:    extra,
	}, nil
}

// extraHeaders returns a user's extra with keys in lower case, as the API server reads them,
// because the names of headers are not case-sensitive.
func extraHeaders(extra map[string][]string) (map[string][]string, error) {
	headers := make(map[string][]string, len(extra))
	for key, values := range extra {
		if err := checkHeaderValues("extra key", []string{key}); err != nil {
			return nil, err
		}
		if err := checkHeaderValues(fmt.Sprintf("extra %q", key), values); err != nil {
			return nil, err
		}
		lower := strings.Map(lowerASCII, key)
		if _, taken := headers[lower]; taken {
			return nil, notImpersonated("several extra keys %q differ only in case", lower)
		}
		headers[lower] = values
	}
	return headers, nil
}

// lowerASCII keeps other letters unchanged: their bytes are escaped in a header's name.
func lowerASCII(r rune) rune {
	if 'A' <= r && r <= 'Z' {
		return r + ('a' - 'A')
	}
	return r
}

func checkHeaderValues(part string, values []string) error {
	for _, value := range values {
		switch {
		case strings.TrimSpace(value) != value:
			return notImpersonated("the %s %q begins or ends with white space", part, value)
		case !utf8.ValidString(value), strings.ContainsFunc(value, unicode.IsControl):
			return notImpersonated("the %s %q contains a control character or is not UTF-8", part, value)
		}
	}
	return nil
}

func notImpersonated(format string, args ...any) error {
	return forbidden(fmt.Sprintf(format, args...) + ", which an HTTP header cannot carry exactly: " +
		"the service cannot impersonate this user; read from the cache, or use another identity")
}

// StripImpersonation removes the Impersonate- headers from requests of clients: the impersonated
// user depends only on the authenticated caller. ImpersonationOf returns what it has removed.
func StripImpersonation(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx := r.Context()
		if as := ImpersonationOf(r); as != nil {
			ctx = context.WithValue(ctx, impersonationKey{}, as)
		}
		r = r.WithContext(ctx) // a handler must not change its request
		r.Header = r.Header.Clone()
		stripImpersonation(r.Header)
		next.ServeHTTP(w, r)
	})
}

type impersonationKey struct{}

// ImpersonationOf returns the headers by which a client asks to act as another user; nil if it does not.
func ImpersonationOf(r *http.Request) (as http.Header) {
	if as, ok := r.Context().Value(impersonationKey{}).(http.Header); ok {
		return as
	}
	for name, values := range r.Header {
		if impersonates(name) {
			if as == nil {
				as = http.Header{}
			}
			as[name] = values
		}
	}
	return as
}

func stripImpersonation(header http.Header) {
	maps.DeleteFunc(header, func(name string, _ []string) bool { return impersonates(name) })
}

// impersonatePrefix is the prefix of all headers by which the API server lets one user act as
// another, including possible future ones.
const impersonatePrefix = "Impersonate-"

func impersonates(header string) bool {
	return len(header) >= len(impersonatePrefix) &&
		strings.EqualFold(header[:len(impersonatePrefix)], impersonatePrefix)
}
