package fakeapi

import (
	"context"
	"io"
	"net/http"
	"sync"
)

// RoundTrip returns the response to a request, without a network. The handler can write the response while the client reads it. A goroutine
// runs the handler: it ends with the handler, or with the request.
func (s *Server) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(r.Context())
	reader, writer := io.Pipe()
	response := &directResponse{header: make(http.Header), body: writer, sent: make(chan struct{})}
	stop := context.AfterFunc(ctx, func() { _ = writer.CloseWithError(context.Canceled) })
	go func() {
		defer stop()
		if r.Body != nil {
			defer func() { _ = r.Body.Close() }()
		}
		s.ServeHTTP(response, r.WithContext(ctx))
		response.Flush()
		_ = writer.Close()
	}()
	select {
	case <-response.sent:
	case <-ctx.Done():
		cancel()
		return nil, ctx.Err()
	}
	return &http.Response{
		StatusCode: response.code, Header: response.sentHeader, Body: &directBody{reader, cancel}, ContentLength: -1, Request: r,
	}, nil
}

// directResponse is the http.ResponseWriter of a request without a network.
type directResponse struct {
	header http.Header
	body   *io.PipeWriter

	once       sync.Once
	code       int         // set before sent is closed, as sentHeader
	sentHeader http.Header // a copy: the handler may change header
	sent       chan struct{}
}

// Header implements http.ResponseWriter.
func (d *directResponse) Header() http.Header { return d.header }

// WriteHeader implements http.ResponseWriter.
func (d *directResponse) WriteHeader(code int) {
	d.once.Do(func() {
		d.code, d.sentHeader = code, d.header.Clone()
		close(d.sent)
	})
}

// Write implements http.ResponseWriter. It blocks until the client has read.
func (d *directResponse) Write(p []byte) (int, error) {
	d.Flush()
	return d.body.Write(p)
}

// Flush implements http.Flusher.
func (d *directResponse) Flush() { d.WriteHeader(http.StatusOK) }

// directBody is a body whose request ends when it is closed.
type directBody struct {
	*io.PipeReader
	cancel context.CancelFunc
}

// Close implements io.Closer.
func (d *directBody) Close() error {
	d.cancel()
	return d.PipeReader.Close()
}
