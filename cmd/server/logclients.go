package main

import (
	"net"
	"net/http"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"

	"github.com/kubeconnect/kubeconnect/auth"
)

// logWindow bounds the bytes of a log that the API server can send ahead of a slow reader. The
// default would be 4 MiB, for each of up to a thousand logs.
const logWindow = 256 << 10

// newLogClients returns the clients that read logs. They have connections of their own, because an
// HTTP/2 window is configured for the connection, and other reads need large windows.
func newLogClients(config *rest.Config, traces *traces) (*auth.ClientFactory, error) {
	config = rest.CopyConfig(config)
	if config.Dial == nil { // client-go's default, but connections with it are not shared with other clients
		config.Dial = (&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}).DialContext
	}
	return auth.NewClientFactory(config, func(next http.RoundTripper) http.RoundTripper {
		setLogWindow(next)
		return asCaller(traces.transport(next))
	})
}

// setLogWindow sets a small window for the future connections of a transport.
func setLogWindow(transport http.RoundTripper) {
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
