package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/kubeconnect/kubeconnect/server"
)

const (
	// loadPath is where a replica tells its load, beside its metrics.
	loadPath = "/load"
	// peerTimeout is how long finding all peers may take, and asking each of them.
	peerTimeout = 2 * time.Second
	// maxPeers bounds the replicas that are asked, and maxLoadBytes what one of them may answer.
	maxPeers     = 100
	maxLoadBytes = 256 << 10
)

// peers are the replicas behind a name of the DNS, this one among them.
type peers struct {
	address string // HOST:PORT; the port is that of their metrics
	client  *http.Client
	resolve func(ctx context.Context, host string) ([]string, error)
}

func newPeers(address string) *peers {
	return &peers{
		address: address,
		client: &http.Client{
			Transport:     &http.Transport{Proxy: nil, DisableCompression: true, MaxIdleConnsPerHost: 1},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
			Timeout:       peerTimeout,
		},
		resolve: net.DefaultResolver.LookupHost,
	}
}

// ask returns the loads of the replicas that answer.
func (p *peers) ask(ctx context.Context) []server.Load {
	ctx, cancel := context.WithTimeout(ctx, 2*peerTimeout)
	defer cancel()
	urls, err := p.find(ctx)
	if err != nil {
		slog.Debug("the peers are not known", "error", err)
		return nil
	}
	var (
		mu     sync.Mutex // guards loads
		loads  []server.Load
		asking sync.WaitGroup
	)
	for _, url := range urls[:min(len(urls), maxPeers)] {
		asking.Go(func() {
			load, err := p.loadAt(ctx, url)
			if err != nil {
				slog.Debug("a peer does not tell its load", "peer", url, "error", err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			loads = append(loads, load)
		})
	}
	asking.Wait()
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
		urls[i] = "http://" + net.JoinHostPort(address, port) + loadPath
	}
	return urls, nil
}

func (p *peers) loadAt(ctx context.Context, url string) (load server.Load, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return load, err
	}
	answer, err := p.client.Do(request)
	if err != nil {
		return load, err
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusOK {
		return load, fmt.Errorf("it answers %s", answer.Status)
	}
	return load, json.NewDecoder(io.LimitReader(answer.Body, maxLoadBytes)).Decode(&load)
}
