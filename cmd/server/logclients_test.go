package main

import (
	"net/http"
	"path/filepath"
	"testing"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"
)

// TestLogClient_WindowIsSmallWithEveryTransport examines the transports of client-go,
// which wraps them depending on the form of the authority.
func TestLogClient_WindowIsSmallWithEveryTransport(t *testing.T) {
	authority := newPair(t, 1, today()).certificate
	file := filepath.Join(atHome(t, map[string]string{"ca.crt": authority}), "ca.crt")
	for name, tls := range map[string]rest.TLSClientConfig{
		"an authority in a file, as in a cluster": {CAFile: file},
		"an authority in a kubeconfig":            {CAData: []byte(authority)},
		"no authority":                            {Insecure: true},
	} {
		t.Run(name, func(t *testing.T) {
			var made http.RoundTripper
			config := &rest.Config{Host: "https://api.example", TLSClientConfig: tls}
			config.Wrap(func(next http.RoundTripper) http.RoundTripper {
				setLogWindow(next)
				made = next
				return next
			})
			if _, err := rest.TransportFor(config); err != nil {
				t.Fatal(err)
			}
			for wrapper, ok := made.(utilnet.RoundTripperWrapper); ok; wrapper, ok = made.(utilnet.RoundTripperWrapper) {
				made = wrapper.WrappedRoundTripper()
			}
			if transport := made.(*http.Transport); transport.HTTP2 == nil || transport.HTTP2.MaxReceiveBufferPerStream != logWindow {
				t.Errorf("the connections are opened by %+v", transport.HTTP2)
			}
		})
	}
}
