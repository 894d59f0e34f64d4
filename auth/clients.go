package auth

import (
	"net/http"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// Clients are client-go's clients, acting as one caller.
type Clients struct {
	Typed   *kubernetes.Clientset
	Dynamic *dynamic.DynamicClient
}

// ClientFactory makes clients that act as callers. Its methods are safe for
// concurrent use.
type ClientFactory struct {
	own *Clients
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
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	own, err := newClients(config, client)
	if err != nil {
		return nil, err
	}
	return &ClientFactory{own: own}, nil
}

func newClients(config *rest.Config, client *http.Client) (*Clients, error) {
	byType := rest.CopyConfig(config)
	byType.ContentType = runtime.ContentTypeProtobuf
	byType.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	typed, err := kubernetes.NewForConfigAndClient(byType, client)
	if err != nil {
		return nil, err
	}
	untyped, err := dynamic.NewForConfigAndClient(config, client)
	if err != nil {
		return nil, err
	}
	return &Clients{Typed: typed, Dynamic: untyped}, nil
}

// For answers the clients that act as a caller.
func (f *ClientFactory) For(Identity) *Clients { return f.own }
