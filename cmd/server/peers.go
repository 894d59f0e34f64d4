package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/kubeconnect/kubeconnect/server/edge/streamlife"
)

const (
	// loadPath is the path at which a replica serves its load, at the address of its metrics.
	loadPath = "/load"
	// peerTimeout bounds the search for peers, and each request to a peer.
	peerTimeout = 2 * time.Second
	// maxPeers bounds the replicas that are queried, and maxLoadBytes the response of each.
	maxPeers     = 100
	maxLoadBytes = 256 << 10
)

// Peers are the replicas behind a DNS name, including this one.
type peers struct {
	address string // HOST:PORT; the port is that of their metrics
	scheme  string
	client  *http.Client
	resolve func(ctx context.Context, host string) ([]string, error)
}

func newPeers(address string) *peers {
	return &peers{
		address: address,
		scheme:  "http",
		client: &http.Client{
			Transport:     &http.Transport{Proxy: nil, DisableCompression: true, MaxIdleConnsPerHost: 1},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
			Timeout:       peerTimeout,
		},
		resolve: net.DefaultResolver.LookupHost,
	}
}

// overTLS makes the peers be queried over TLS. Peers are found by their addresses, for which no certificate is
// valid. Instead, a peer must have the same certificate as this replica.
func (p *peers) overTLS(own func() *x509.Certificate) *peers {
	p.scheme = "https"
	p.client.Transport.(*http.Transport).TLSClientConfig = &tls.Config{
		InsecureSkipVerify: true, // VerifyConnection verifies
		VerifyConnection: func(state tls.ConnectionState) error {
			if leaf := own(); leaf == nil || !leaf.Equal(state.PeerCertificates[0]) {
				return errors.New("the peer has another certificate than this replica")
			}
			return nil
		},
	}
	return p
}

// ask returns the loads of the replicas that respond.
func (p *peers) ask(ctx context.Context) []streamlife.Load {
	ctx, cancel := context.WithTimeout(ctx, 2*peerTimeout)
	defer cancel()
	urls, err := p.find(ctx)
	if err != nil {
		slog.Debug("cannot resolve the peers", "error", err)
		return nil
	}
	var (
		mu       sync.Mutex // guards loads
		loads    []streamlife.Load
		requests sync.WaitGroup
	)
	for _, url := range urls[:min(len(urls), maxPeers)] {
		requests.Go(func() {
			load, err := p.loadAt(ctx, url)
			if err != nil {
				slog.Debug("cannot read the load of a peer", "peer", url, "error", err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			loads = append(loads, load)
		})
	}
	requests.Wait()
	return loads
}

func (p *peers) find(ctx context.Context) ([]string, error) {
	host, port, err := net.SplitHostPort(p.address)
	if err != nil {
		return nil, err
	}
	addresses, err := p.resolve(ctx, host)
	if err != nil {
		return nil, err
	}
	urls := make([]string, len(addresses))
	for i, address := range addresses {
		urls[i] = p.scheme + "://" + net.JoinHostPort(address, port) + loadPath
	}
	return urls, nil
}

func (p *peers) loadAt(ctx context.Context, url string) (load streamlife.Load, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return load, err
	}
	response, err := p.client.Do(request)
	if err != nil {
		return load, err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return load, fmt.Errorf("response status %s", response.Status)
	}
	return load, json.NewDecoder(io.LimitReader(response.Body, maxLoadBytes)).Decode(&load)
}
