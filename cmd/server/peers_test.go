package main

import (
	"context"
	"crypto/x509"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/server/edge/health"
	"github.com/kubeconnect/kubeconnect/server/edge/streamlife"
)

// TestPeers_WithoutLoadAreOmitted queries several peers, one of which returns its load.
func TestPeers_WithoutLoadAreOmitted(t *testing.T) {
	asked := make(chan string, 10)
	peer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- r.URL.Path
		switch host, _, _ := net.SplitHostPort(r.Host); host {
		case "localhost":
			_, _ = w.Write([]byte(`{"replica":"a","ready":true,"streams":7,"fresh":["pods"]}`))
		case "127.0.0.1":
			http.Redirect(w, r, "/elsewhere", http.StatusFound)
		}
	}))
	defer peer.Close()
	_, port, _ := net.SplitHostPort(peer.Listener.Addr().String())
	found := newPeers(net.JoinHostPort("peers.example", port))
	found.resolve = func(context.Context, string) ([]string, error) { return []string{"localhost", "127.0.0.1"}, nil }
	loads := found.ask(t.Context())
	if len(loads) != 1 || loads[0].Replica != "a" || loads[0].Streams != 7 || !loads[0].Ready {
		t.Errorf("the loads are %+v", loads)
	}
	if len(asked) != 2 || <-asked != loadPath || <-asked != loadPath {
		t.Error("the peers are queried with another request, or more than once")
	}
	found.resolve = func(context.Context, string) ([]string, error) { return nil, errors.New("no such host") }
	if loads := found.ask(t.Context()); len(loads) != 0 {
		t.Errorf("the loads are %+v", loads)
	}
}

// TestPeers_OverTLSHaveTheSameCertificate queries a peer that has the certificate of this replica, and then another one.
func TestPeers_OverTLSHaveTheSameCertificate(t *testing.T) {
	peer := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"replica":"a"}`)) }))
	defer peer.Close()
	peer.Config.ErrorLog = log.New(io.Discard, "", 0)
	host, port, _ := net.SplitHostPort(peer.Listener.Addr().String())
	for name, test := range map[string]struct {
		own   *x509.Certificate
		loads int
	}{
		"the same":    {peer.Certificate(), 1},
		"another one": {&x509.Certificate{Raw: []byte("another one")}, 0},
		"none yet":    {nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			found := newPeers(net.JoinHostPort("peers.example", port)).overTLS(func() *x509.Certificate { return test.own })
			defer found.client.CloseIdleConnections()
			found.resolve = func(context.Context, string) ([]string, error) { return []string{host}, nil }
			if loads := found.ask(t.Context()); len(loads) != test.loads {
				t.Errorf("the loads are %+v", loads)
			}
		})
	}
}

func TestPeers_LoadResponsesAreBounded(t *testing.T) {
	peer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"replica":"` + strings.Repeat("a", maxLoadBytes) + `"}`))
	}))
	defer peer.Close()
	if load, err := newPeers("").loadAt(t.Context(), peer.URL); err == nil {
		t.Errorf("a load of %d bytes is accepted", len(load.Replica))
	}
}

func TestMetricsHandler_ServesTheLoad(t *testing.T) {
	readiness := &health.Readiness{}
	readiness.Set(true)
	balance := streamlife.NewBalance(streamlife.Balance{Streams: streamlife.NewStreams(0), Readiness: readiness, Caches: noCaches{}})
	metrics := httptest.NewServer(metricsHandler(metricsOptions{load: balance}, nil))
	defer metrics.Close()
	load, err := newPeers("").loadAt(t.Context(), metrics.URL+loadPath)
	if err != nil || !load.Ready || load.Replica == "" {
		t.Errorf("the load is %+v, %v", load, err)
	}
}

type noCaches struct{}

func (noCaches) Status() []informerhub.Status { return nil }
