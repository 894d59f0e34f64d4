package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/kubeconnect/kubeconnect/bench/callers"
	"github.com/kubeconnect/kubeconnect/e2e/harness"
)

// fault is what the proxy does to the requests of the service.
type fault int

const (
	noFault fault = iota
	// away closes all connections, and each new one at its first request.
	away
	// leaving is away, but closes the open connections one after the other, leavePause apart.
	leaving
	// failingReviews responds to reviews with 500.
	failingReviews
	// slowReviews delays reviews by reviewDelay.
	slowReviews
	// rejectedToken responds to requests with the service's token with 401. Watches that are open
	// continue, as they do at the API server.
	rejectedToken
)

const (
	// reviewDelay is the delay of slowReviews.
	reviewDelay = 4 * time.Second
	leavePause  = 700 * time.Millisecond
)

// Paths of the reviews.
const (
	tokenReviews  = "/apis/authentication.k8s.io/v1/tokenreviews"
	accessReviews = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
)

// upstreamProxy forwards requests of the service to the API server, and counts reviews, also those that it
// fails. It has the API server's own certificate.
type upstreamProxy struct {
	// Set once.
	address string
	token   string // the service's own
	server  *http.Server
	forward *httputil.ReverseProxy

	mu    sync.Mutex // guards the fields below
	fault fault
	open  map[net.Conn]struct{}
	seen  reviews
}

// reviews is the number of reviews of each kind.
type reviews struct{ token, access int }

func (r reviews) minus(earlier reviews) reviews {
	return reviews{r.token - earlier.token, r.access - earlier.access}
}

func (r reviews) String() string {
	return fmt.Sprintf("%d TokenReviews, %d SubjectAccessReviews", r.token, r.access)
}

// connectionKey is the key of the connection in the context of a request.
type connectionKey struct{}

// startUpstreamProxy starts a proxy to the API server. The caller must call close.
func startUpstreamProxy(cluster *harness.Cluster, token string) (*upstreamProxy, error) {
	authority, err := os.ReadFile(cluster.PKI("ca.crt"))
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authority)
	target, err := url.Parse(cluster.Config.Host)
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &upstreamProxy{address: listener.Addr().String(), token: token, open: map[net.Conn]struct{}{}}
	silent := log.New(io.Discard, "", 0)
	p.forward = &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport:     &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, ForceAttemptHTTP2: true, DisableCompression: true},
		FlushInterval: -1, // at once, for watches
		ErrorLog:      silent,
		ErrorHandler:  func(_ http.ResponseWriter, r *http.Request, _ error) { cut(r.Context()) },
	}
	p.server = &http.Server{
		Handler: p, ErrorLog: silent, ConnState: p.track,
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			return context.WithValue(ctx, connectionKey{}, c)
		},
	}
	go func() { _ = p.server.ServeTLS(listener, cluster.PKI("server.crt"), cluster.PKI("server.key")) }()
	return p, nil
}

func (p *upstreamProxy) close() { _ = p.server.Close() }

// cut closes the connection of a request.
func cut(ctx context.Context) { _ = ctx.Value(connectionKey{}).(net.Conn).Close() }

func (p *upstreamProxy) track(c net.Conn, state http.ConnState) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch state {
	case http.StateNew:
		p.open[c] = struct{}{}
	case http.StateClosed, http.StateHijacked:
		delete(p.open, c)
	}
}

// set sets the fault; noFault ends it.
func (p *upstreamProxy) set(f fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fault = f
	if f != away && f != leaving {
		return
	}
	wait := time.Duration(0)
	for c := range p.open {
		time.AfterFunc(wait, func() { _ = c.Close() }) // which calls track
		if f == leaving {
			wait += leavePause
		}
	}
}

// counted returns the number of reviews since the start.
func (p *upstreamProxy) counted() reviews {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.seen
}

// arrive counts a request and returns the fault that it meets, and whether it is a review.
func (p *upstreamProxy) arrive(path string) (f fault, isReview bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case strings.HasPrefix(path, tokenReviews):
		p.seen.token++
	case strings.HasPrefix(path, accessReviews):
		p.seen.access++
	default:
		return p.fault, false
	}
	return p.fault, true
}

func (p *upstreamProxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch f, isReview := p.arrive(r.URL.Path); {
	case f == away, f == leaving:
		cut(r.Context())
		return
	case f == failingReviews && isReview:
		http.Error(w, "the reviews of this API server fail", http.StatusInternalServerError)
		return
	case f == slowReviews && isReview:
		callers.Wait(r.Context(), reviewDelay)
	case f == rejectedToken && r.Header.Get("Authorization") == "Bearer "+p.token:
		http.Error(w, "Unauthorized", http.StatusUnauthorized)
		return
	}
	p.forward.ServeHTTP(w, r)
}
