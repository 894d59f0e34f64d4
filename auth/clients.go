package auth

import (
	"net/http"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	utilcache "k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
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
	config    *rest.Config
	own       *Clients
	metadata  metadata.Interface // acts as the service itself
	asService http.RoundTripper  // sends the service's credentials
	anonymous http.RoundTripper  // sends no credentials

	mu     sync.Mutex // held while clients are created, so that they are created once
	cached *utilcache.LRUExpireCache
}

// NewClientFactory returns a factory whose clients reach the API server according to config. Each
// of their requests passes through wrap, which can be nil.
func NewClientFactory(config *rest.Config, wrap func(http.RoundTripper) http.RoundTripper) (*ClientFactory, error) {
	config = rest.CopyConfig(config)
	if wrap != nil {
		config.Wrap(wrap)
	}
	config.WarningHandler = rest.NoWarnings{} // warnings are returned to the caller
	config.QPS = -1
	f := &ClientFactory{config: config, cached: utilcache.NewLRUExpireCache(maxClients)}
	var err error
	if f.asService, err = rest.TransportFor(config); err != nil {
		return nil, err
	}
	if f.anonymous, err = rest.TransportFor(withoutCredentials(config, wrap)); err != nil {
		return nil, err
	}
	if f.own, err = f.newClients(f.asService); err != nil {
		return nil, err
	}
	f.metadata, err = metadata.NewForConfigAndClient(config, f.own.HTTP)
	return f, err
}

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

// ForService returns the clients that act as the service itself.
func (f *ClientFactory) ForService() *Clients { return f.own }

// ServiceMetadata returns the client that reads metadata as the service itself.
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
	clients, err := f.newClients(f.transportFor(identity))
	if err != nil {
		panic(err) // cannot happen: own was created from the same configuration
	}
	f.cached.Add(key, clients, clientsTTL)
	return clients
}
