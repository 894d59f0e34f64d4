package auth

import (
	"net/http"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	utilcache "k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
)

const (
	// maxClients bounds the callers whose clients are kept; those of the one who has not
	// called for longest go. They take about 30 KiB each.
	maxClients = 512
	// clientsTTL is how long clients are kept at most, and with them a caller's token.
	clientsTTL = 10 * time.Minute
)

// Clients are client-go's clients, acting as one caller. They are safe for concurrent
// use, and keep working when the factory has let go of them.
type Clients struct {
	Typed   *kubernetes.Clientset
	Dynamic *dynamic.DynamicClient
	// HTTP sends any request, to the API server alone: it carries credentials. Like the
	// others it follows no redirect.
	HTTP *http.Client
}

// ClientFactory makes clients that act as callers. They share their connections. Its
// methods are safe for concurrent use.
type ClientFactory struct {
	config    *rest.Config
	own       *Clients
	metadata  metadata.Interface // acts as the service itself
	asService http.RoundTripper  // sends the service's credentials
	asNobody  http.RoundTripper  // sends none

	making sync.Mutex // held while clients are made, so that it is done once
	made   *utilcache.LRUExpireCache
}

// NewClientFactory makes a factory whose clients reach the API server as config
// says. Each of their requests passes through wrap, which may be nil.
func NewClientFactory(config *rest.Config, wrap func(http.RoundTripper) http.RoundTripper) (*ClientFactory, error) {
	config = rest.CopyConfig(config)
	if wrap != nil {
		config.Wrap(wrap)
	}
	config.WarningHandler = rest.NoWarnings{} // they go to the caller
	config.QPS = -1
	f := &ClientFactory{config: config, made: utilcache.NewLRUExpireCache(maxClients)}
	var err error
	if f.asService, err = rest.TransportFor(config); err != nil {
		return nil, err
	}
	if f.asNobody, err = rest.TransportFor(withoutCredentials(config, wrap)); err != nil {
		return nil, err
	}
	if f.own, err = f.newClients(f.asService); err != nil {
		return nil, err
	}
	f.metadata, err = metadata.NewForConfigAndClient(config, f.own.HTTP)
	return f, err
}

// withoutCredentials is a configuration that leads to the same place, through the same
// wrap. It has connections of its own, for a client certificate is the connection's.
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
	untyped, err := dynamic.NewForConfigAndClient(f.config, client)
	if err != nil {
		return nil, err
	}
	return &Clients{Typed: typed, Dynamic: untyped, HTTP: client}, nil
}

// noRedirects has a client return a redirect instead of following it: the transport would send
// the credentials to whatever host the answer names.
func noRedirects(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// Own are the clients that act as the service itself.
func (f *ClientFactory) Own() *Clients { return f.own }

// Metadata returns the client that reads metadata as the service itself.
func (f *ClientFactory) Metadata() metadata.Interface { return f.metadata }

// For answers the clients that act as a caller: the service's own for the kubeconfig's
// user, else such as impersonate the caller or, if a [Cluster] that keeps tokens has
// identified it, send its own token. Nobody's clients fail.
//
// An identity's clients are made once, and kept while they are used, for ten minutes at
// most; those of 512 identities are.
func (f *ClientFactory) For(identity Identity) *Clients {
	if identity.own {
		return f.own
	}
	key := clientsKeyOf(identity)
	f.making.Lock()
	defer f.making.Unlock()
	if clients, ok := f.made.Get(key); ok {
		return clients.(*Clients)
	}
	clients, err := f.newClients(f.transportFor(identity))
	if err != nil {
		panic(err) // of a configuration that own has been made of already
	}
	f.made.Add(key, clients, clientsTTL)
	return clients
}
