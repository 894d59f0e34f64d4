package harness

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"path"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// BookmarkProxy is a proxy before an API server that reads what it forwards. It decides about the bookmarks that complete watch-lists. It
// sends all requests as the administrator.
type BookmarkProxy struct {
	// Set once.
	address string
	forward *httputil.ReverseProxy
	passes  func(context.Context) bool

	mu       sync.Mutex // guards requests
	requests map[string]int
}

// StartBookmarkProxy starts a proxy to the API server of a cluster. For each bookmark that completes a watch-list, passes blocks for as long
// as the bookmark is late, and reports whether it is forwarded. The proxy ends with the test.
func StartBookmarkProxy(t testing.TB, cluster *Cluster, passes func(context.Context) bool) *BookmarkProxy {
	t.Helper()
	target, err := url.Parse(cluster.Config.Host)
	if err != nil {
		t.Fatal(err)
	}
	config := rest.CopyConfig(cluster.Config)
	config.DisableCompression = true
	transport, err := rest.TransportFor(config)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", freePort)
	if err != nil {
		t.Fatal(err)
	}
	p := &BookmarkProxy{address: listener.Addr().String(), passes: passes, requests: map[string]int{}}
	silent := log.New(io.Discard, "", 0)
	p.forward = &httputil.ReverseProxy{
		Rewrite:        func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport:      transport,
		FlushInterval:  -1, // at once, for watches
		ModifyResponse: p.filter,
		ErrorLog:       silent,
		ErrorHandler:   func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
	}
	server := &http.Server{Handler: p, ErrorLog: silent}
	go func() { _ = server.ServeTLS(listener, cluster.PKI("server.crt"), cluster.PKI("server.key")) }()
	t.Cleanup(func() { _ = server.Close() })
	return p
}

// Address returns the host and port of the proxy.
func (p *BookmarkProxy) Address() string { return p.address }

// Requests returns how often a resource was requested by a "list", a "watch", or a "watch-list", which is a watch that begins with a list.
// Requests for the current version do not count.
func (p *BookmarkProxy) Requests(kind, resource string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.requests[kind+" "+resource]
}

// ServeHTTP implements http.Handler.
func (p *BookmarkProxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	kind := "list"
	switch query := r.URL.Query(); {
	case query.Get("sendInitialEvents") == "true":
		kind = "watch-list"
	case query.Get("watch") == "true":
		kind = "watch"
	case query.Get("limit") == "1":
		kind = "version"
	}
	p.mu.Lock()
	p.requests[kind+" "+path.Base(r.URL.Path)]++
	p.mu.Unlock()
	p.forward.ServeHTTP(w, r)
}

// filter makes the response to a watch-list pass through the proxy event by event.
func (p *BookmarkProxy) filter(response *http.Response) error {
	if response.Request.URL.Query().Get("sendInitialEvents") != "true" {
		return nil
	}
	next := nextLine
	if strings.HasPrefix(response.Header.Get("Content-Type"), "application/vnd.kubernetes.protobuf") {
		next = nextFrame
	}
	buffered := bufio.NewReader(response.Body)
	response.Body = &events{
		Closer: response.Body,
		next:   func() ([]byte, error) { return next(buffered) },
		passes: func() bool { return p.passes(response.Request.Context()) },
	}
	return nil
}

// events is the body of a watch.
type events struct {
	io.Closer
	next   func() ([]byte, error)
	passes func() bool
	rest   []byte // of an event that is being read
}

// Read implements io.Reader.
func (e *events) Read(p []byte) (int, error) {
	for len(e.rest) == 0 {
		event, err := e.next()
		if err != nil {
			return 0, err
		}
		if !bytes.Contains(event, []byte(metav1.InitialEventsAnnotationKey)) || e.passes() {
			e.rest = event
		}
	}
	n := copy(p, e.rest)
	e.rest = e.rest[n:]
	return n, nil
}

// nextLine reads an event in JSON.
func nextLine(from *bufio.Reader) ([]byte, error) { return from.ReadBytes('\n') }

// nextFrame reads an event in protobuf, after its length.
func nextFrame(from *bufio.Reader) ([]byte, error) {
	var length [4]byte
	if _, err := io.ReadFull(from, length[:]); err != nil {
		return nil, err
	}
	frame := append(length[:], make([]byte, binary.BigEndian.Uint32(length[:]))...)
	_, err := io.ReadFull(from, frame[len(length):])
	return frame, err
}
