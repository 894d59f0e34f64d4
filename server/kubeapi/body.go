package kubeapi

import (
	"compress/gzip"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
)

// minGzipBytes is the size of a response from which on the API server compresses it, too.
const minGzipBytes = 128 << 10

// body writes the body of a response in pieces, compressed if the client accepts it. It is owned by one goroutine.
type body struct {
	to         io.Writer
	compressed *gzip.Writer // nil if it is not compressed
	begun      bool
	closed     bool
}

var gzipWriters = sync.Pool{New: func() any {
	w, _ := gzip.NewWriterLevel(io.Discard, gzip.BestSpeed) // fails for invalid levels only
	return w
}}

// SourceHeader is the header of responses from the cache, whose value is fromCache. Responses of the API server do not have it.
const (
	SourceHeader = "Kubeconnect-Source"
	fromCache    = "cache"
)

// cacheControl is the header of this name of all responses, as at the API server.
const cacheControl = "no-cache, private"

// setHeaders sets the headers of a response from the cache.
func setHeaders(header http.Header, contentType string) {
	header.Set("Content-Type", contentType)
	header.Set("Cache-Control", cacheControl)
	header.Set(SourceHeader, fromCache)
}

func newBody(w http.ResponseWriter, r *http.Request, contentType string, compress bool) *body {
	setHeaders(w.Header(), contentType)
	b := &body{to: w}
	if compress && acceptsGzip(r) {
		w.Header().Set("Content-Encoding", "gzip")
		w.Header().Add("Vary", "Accept-Encoding")
		b.compressed = gzipWriters.Get().(*gzip.Writer)
		b.compressed.Reset(w)
		b.to = b.compressed
	}
	return b
}

func acceptsGzip(r *http.Request) bool {
	return slices.ContainsFunc(strings.Split(r.Header.Get("Accept-Encoding"), ","), func(encoding string) bool {
		name, parameters, _ := strings.Cut(strings.TrimSpace(encoding), ";")
		return name == "gzip" && strings.ReplaceAll(parameters, " ", "") != "q=0"
	})
}

func (b *body) write(piece []byte) error {
	b.begun = true
	_, err := b.to.Write(piece)
	return err
}

// close writes what is left. Further calls do nothing.
func (b *body) close() error {
	if b.closed {
		return nil
	}
	b.closed = true
	if b.compressed == nil {
		return nil
	}
	err := b.compressed.Close()
	b.compressed.Reset(io.Discard)
	gzipWriters.Put(b.compressed)
	return err
}

// failed returns an error as one after which nothing more can be written, if the response has begun.
func (b *body) failed(err error) error {
	if b.begun {
		return &begunError{err}
	}
	return err
}

// begunError is an error after the response has begun: the client must see that it is not complete.
type begunError struct{ error }

// Unwrap returns the error.
func (e *begunError) Unwrap() error { return e.error }
