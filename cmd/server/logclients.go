package main

import (
	"net"
	"net/http"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"

	"github.com/kubeconnect/kubeconnect/auth"
	"github.com/kubeconnect/kubeconnect/server"
)

// logWindow is how much of a log the API server may send ahead of a caller who is slow to
// read it. By default it would be 4 MiB, kept for each of a thousand such logs.
const logWindow = 256 << 10

// newLogClients makes the clients that read logs. They have connections of their own: an
// HTTP/2 window is the connection's, and what else is read is to come by large ones.
func newLogClients(config *rest.Config) (*auth.ClientFactory, error) {
	config = rest.CopyConfig(config)
	if config.Dial == nil { // client-go's own, under which no other connections are shared
		config.Dial = (&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}).DialContext
	}
	return auth.NewClientFactory(config, func(next http.RoundTripper) http.RoundTripper {
		narrow(next)
		return server.NoteOutcome(next)
	})
}

// narrow gives the connections that a transport is going to make a small window.
func narrow(transport http.RoundTripper) {
	for {
		switch is := transport.(type) {
		case *http.Transport:
			is.HTTP2 = &http.HTTP2Config{MaxReceiveBufferPerStream: logWindow}
			return
		case utilnet.RoundTripperWrapper:
			transport = is.WrappedRoundTripper()
		default:
			return
		}
	}
}
