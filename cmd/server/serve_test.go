package main

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/kubeconnect/kubeconnect/cmd/server/config"
	"github.com/kubeconnect/kubeconnect/cmd/server/serving"
)

// listenAnywhere returns a listener on a free loopback port.
func listenAnywhere(t *testing.T) net.Listener {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return listener
}

// serveHTTP serves a handler until the context is done, and then shuts down.
func serveHTTP(ctx context.Context, listener net.Listener, handler http.Handler, endStreams func()) error {
	started := &running{endStreams: endStreams, http: serving.Start(listener, handler)}
	return errors.Join(started.wait(ctx), started.shutdown())
}

// TestServe_CallsFinishDuringShutdown shuts the service down during a call and a stream.
func TestServe_CallsFinishDuringShutdown(t *testing.T) {
	stopping, endStreams := context.WithCancel(t.Context())
	began, ended := make(chan struct{}), make(chan struct{})
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began <- struct{}{}
		if r.URL.Path == "/stream" {
			<-stopping.Done()
			return
		}
		<-ended // long after
		if r.Context().Err() != nil {
			http.Error(w, "the call was cancelled", http.StatusInternalServerError)
		}
	})
	listener := listenAnywhere(t)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- serveHTTP(ctx, listener, handler, endStreams) }()

	answers := make(chan int, 2)
	call := func(path string) {
		answers <- get(t, "http://"+listener.Addr().String()+path)
	}
	go call("/stream")
	<-began
	go call("/call")
	<-began
	stop()
	if status := <-answers; status != http.StatusOK {
		t.Errorf("the stream: %d", status)
	}
	close(ended)
	if status := <-answers; status != http.StatusOK {
		t.Errorf("the call: %d", status)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestShutdown_StopsPartsInOrder shuts the service down during a call and a stream.
func TestShutdown_StopsPartsInOrder(t *testing.T) {
	var (
		mu    sync.Mutex // guards order
		order []string
	)
	note := func(part string) func() {
		return func() {
			mu.Lock()
			defer mu.Unlock()
			order = append(order, part)
		}
	}
	began, streamsEnd, listenerClosed := make(chan struct{}), make(chan struct{}), make(chan struct{})
	handler := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		began <- struct{}{}
		<-streamsEnd
		if r.URL.Path == "/call" {
			<-listenerClosed
			note("the call finishes")()
		}
	})
	listener := noteClose{listenAnywhere(t), func() {
		note("the listener is closed")()
		close(listenerClosed)
	}}
	started := &running{
		stopBackground: note("background tasks stop"),
		endReadiness:   note("readiness ends"),
		endStreams: func() {
			note("streams end")()
			close(streamsEnd)
		},
		http:               serving.Start(listener, handler),
		stopAuthentication: note("authentication stops"),
		stopMetrics:        note("metrics stop"),
		closeCaches:        note("caches close"),
		closeAudit:         note("the audit log closes"),
	}
	var calling sync.WaitGroup
	for _, path := range []string{"/stream", "/call"} {
		calling.Go(func() {
			if status := get(t, "http://"+listener.Addr().String()+path); status != http.StatusOK {
				t.Errorf("%s: %d", path, status)
			}
		})
		<-began
	}
	if err := started.shutdown(); err != nil {
		t.Error(err)
	}
	calling.Wait()
	want := []string{
		"background tasks stop", "readiness ends", "streams end", "the listener is closed", "the call finishes",
		"authentication stops", "metrics stop", "caches close", "the audit log closes",
	}
	if !slices.Equal(order, want) {
		t.Errorf("the order is %q", order)
	}
}

// noteClose is a listener whose Close is noted.
type noteClose struct {
	net.Listener
	closed func()
}

func (n noteClose) Close() error {
	n.closed()
	return n.Listener.Close()
}

func TestShutdown_LeavesOutPartsThatHaveNotBeenStarted(t *testing.T) {
	closed := false
	started := &running{closeCaches: func() { closed = true }}
	if err := started.shutdown(); err != nil || !closed {
		t.Errorf("shutdown returns %v, and the caches are closed: %t", err, closed)
	}
}

func get(t *testing.T, url string) (status int) {
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		return 0
	}
	answer, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(request)
	if err != nil {
		return 0
	}
	_, _ = io.Copy(io.Discard, answer.Body)
	_ = answer.Body.Close()
	return answer.StatusCode
}

func TestServe_ReturnsWhenTheListenerFails(t *testing.T) {
	listener := listenAnywhere(t)
	_ = listener.Close()
	if err := serveHTTP(t.Context(), listener, http.NotFoundHandler(), func() {}); !errors.Is(err, net.ErrClosed) {
		t.Errorf("serve returned %v", err)
	}
}

func TestRun_ReturnsWhenCancelled(t *testing.T) {
	api := httptest.NewServer(http.NotFoundHandler())
	defer api.Close()
	home := atHome(t, map[string]string{"config": strings.ReplaceAll(kubeconfig, "http://one.example", api.URL)})
	for _, arguments := range []string{"--auth none", "--auth cluster", "--metrics-listen 127.0.0.1:0"} {
		t.Run(arguments, func(t *testing.T) {
			ctx, stop := context.WithCancel(t.Context())
			stop()
			args := append(strings.Fields(arguments), "--listen", "127.0.0.1:0", "--log-level", "error", "--kubeconfig", filepath.Join(home, "config"))
			if err := run(ctx, args, io.Discard); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestRun_StartErrorsNameTheCause(t *testing.T) {
	home := atHome(t, map[string]string{"config": kubeconfig, "cert": "no certificate"})
	taken := listenAnywhere(t)
	defer func() { _ = taken.Close() }()
	file := filepath.Join(home, "config")
	for name, test := range map[string]struct {
		args []string
		says string
	}{
		"no cluster":                                {nil, "--kubeconfig"},
		"an address that is taken":                  {[]string{"--kubeconfig", file, "--listen", taken.Addr().String()}, "--listen"},
		"an address of metrics that is taken":       {[]string{"--kubeconfig", file, "--listen", "127.0.0.1:0", "--metrics-listen", taken.Addr().String()}, "--metrics-listen " + taken.Addr().String()},
		"an address of metrics without a port":      {[]string{"--kubeconfig", file, "--listen", "127.0.0.1:0", "--metrics-listen", "127.0.0.1"}, "--metrics-listen 127.0.0.1"},
		"an address taken, but not that of metrics": {[]string{"--kubeconfig", file, "--listen", taken.Addr().String(), "--metrics-listen", "127.0.0.1:0"}, "--listen"},
		"a certificate that is none":                {[]string{"--kubeconfig", file, "--listen", "127.0.0.1:0", "--tls-cert-file", filepath.Join(home, "cert"), "--tls-private-key-file", file}, "--tls-cert-file"},
		"settings without sense":                    {[]string{"--auth", "off"}, "--auth"},
		"a credential that cannot be read":          {[]string{"--kubeconfig", filepath.Join(home, "nosuch")}, "nosuch"},
	} {
		t.Run(name, func(t *testing.T) {
			if err := run(t.Context(), test.args, io.Discard); err == nil || !strings.Contains(err.Error(), test.says) {
				t.Errorf("error is %v, want %q in it", err, test.says)
			}
		})
	}
}

// TestServe_ConnectionsSufficeForAllStreamsOfACaller opens as many streams as a caller can have, a few
// hundred at a time, by a client that opens a connection for each until the first is established.
func TestServe_ConnectionsSufficeForAllStreamsOfACaller(t *testing.T) {
	s, err := config.Read([]string{"--listen", "127.0.0.1:0"}, func(string) (string, bool) { return "", false })
	succeeds(t, err)
	edge, err := serving.Listen(serving.Options{
		Address: s.Listen, MaxConnections: s.MaxConnections, MaxConnectionsPerAddress: s.MaxConnectionsPerAddress,
	})
	succeeds(t, err)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	stream := func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}
	go func() { done <- serveHTTP(ctx, edge, http.HandlerFunc(stream), func() {}) }()
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	transport := &http.Transport{Protocols: protocols}
	reading, leave := context.WithCancel(t.Context())
	var opening errgroup.Group
	opening.SetLimit(s.MaxConnectionsPerAddress / 4)
	for range s.Limits.Streams {
		opening.Go(func() error {
			request, err := http.NewRequestWithContext(reading, http.MethodPost, edge.URL(), strings.NewReader("{}"))
			if err != nil {
				return err
			}
			answer, err := transport.RoundTrip(request)
			if err == nil {
				context.AfterFunc(reading, func() { _ = answer.Body.Close() })
			}
			return err
		})
	}
	if err := opening.Wait(); err != nil {
		t.Error(err)
	}
	leave()
	transport.CloseIdleConnections()
	stop()
	succeeds(t, <-done)
}
