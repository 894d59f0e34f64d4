package permissions_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"sync"
	"testing"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

// wire records every byte that a client receives. It is safe for concurrent use.
type wire struct {
	base http.RoundTripper

	mu   sync.Mutex // guards sent
	sent bytes.Buffer
}

// callingOver returns clients that authenticate with a token, and the wire that records the bytes
// they receive.
func callingOver(t *testing.T, service *harness.Service, protocol harness.Protocol, token string) (harness.Clients, *wire) {
	t.Helper()
	httpClient := harness.HTTP2(t)
	kept := &wire{base: httpClient.Transport}
	httpClient.Transport = kit.HeaderTransport{Headers: http.Header{"Authorization": {"Bearer " + token}}, Base: kept}
	return harness.Dial(httpClient, service.Address, protocol), kept
}

// RoundTrip implements http.RoundTripper. It requests uncompressed responses.
func (w *wire) RoundTrip(request *http.Request) (*http.Response, error) {
	request = request.Clone(request.Context())
	for _, name := range []string{"Accept-Encoding", "Connect-Accept-Encoding", "Grpc-Accept-Encoding"} {
		request.Header.Set(name, "identity")
	}
	response, err := w.base.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	w.keep(fmt.Appendf(nil, "%v", response.Header))
	response.Body = &keptBody{ReadCloser: response.Body, wire: w, response: response}
	return response, nil
}

func (w *wire) keep(sent []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sent.Write(sent)
}

// keptBody records the bytes read from a body, and its trailers.
type keptBody struct {
	io.ReadCloser
	wire     *wire
	response *http.Response
}

func (b *keptBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.wire.keep(p[:n])
	if err != nil {
		b.wire.keep(fmt.Appendf(nil, "%v", b.response.Trailer))
	}
	return n, err
}

// mentions returns the words that occur in the received bytes, plain or encoded.
func (w *wire) mentions(words []string) []string {
	w.mu.Lock()
	readings := readingsOf(w.sent.Bytes(), encodedIn)
	w.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(words), func(word string) bool {
		return !slices.ContainsFunc(readings, func(reading []byte) bool { return bytes.Contains(reading, []byte(word)) })
	})
}

// encodedIn is the maximum depth of nested encodings: a status in a trailer, an object's JSON in
// that of a message.
const encodedIn = 3

var base64Text = regexp.MustCompile(`[A-Za-z0-9+/_-]{8,}`)

// readingsOf returns the bytes, and the decoded contents of their base64 and URL escapes.
func readingsOf(sent []byte, depth int) [][]byte {
	readings := [][]byte{sent}
	if depth == 0 {
		return readings
	}
	for _, text := range base64Text.FindAll(sent, -1) {
		for _, encoding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			if decoded, err := encoding.DecodeString(string(text)); err == nil {
				readings = append(readings, readingsOf(decoded, depth-1)...)
			}
		}
	}
	if bytes.IndexByte(sent, '%') >= 0 {
		readings = append(readings, unescaped(sent))
	}
	return readings
}

var escapedByte = regexp.MustCompile(`%[0-9A-Fa-f]{2}`)

func unescaped(sent []byte) []byte {
	return escapedByte.ReplaceAllFunc(sent, func(escaped []byte) []byte {
		text, err := url.PathUnescape(string(escaped))
		if err != nil {
			return escaped
		}
		return []byte(text)
	})
}
