package server

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"connectrpc.com/connect/v2"
	"connectrpc.com/connect/v2/connectgzip"
	"connectrpc.com/connect/v2/connecthttp"

	"github.com/kubeconnect/kubeconnect/auth"
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/internal/responses"
	"github.com/kubeconnect/kubeconnect/server/edge"
	"github.com/kubeconnect/kubeconnect/server/internal/objecttest"
	"github.com/kubeconnect/kubeconnect/server/internal/servertest"
)

func largePodAPI() *servertest.FakeAPI {
	api := servertest.PodsAPI()
	pod := objecttest.Pod("a", 3)
	pod.Annotations = map[string]string{"large": strings.Repeat("x", 48<<10)}
	api.Objects = []any{pod}
	return api
}

// TestCompression_AppliesToLargeUnaryResponsesIfConfigured counts the messages that a client has to
// decompress that offers gzip, as nearly all clients do by default.
func TestCompression_AppliesToLargeUnaryResponsesIfConfigured(t *testing.T) {
	for protocol, options := range protocols {
		for name, test := range map[string]struct {
			compression edge.Compression
			api         *servertest.FakeAPI
			want        bool
		}{
			"large, by default": {"", largePodAPI(), false},
			"large, without":    {edge.CompressNone, largePodAPI(), false},
			"large, with gzip":  {edge.CompressGzip, largePodAPI(), true},
			"small, with gzip":  {edge.CompressGzip, servertest.PodsAPI(), false},
			"small, by default": {"", servertest.PodsAPI(), false},
		} {
			t.Run(protocol+", "+name, func(t *testing.T) {
				config := Config{Edge: edge.Config{Compression: test.compression, Authenticator: auth.KubeconfigAuthenticator{}}, Authorizer: servertest.NewFakeRights(auth.Namespaces{All: true})}
				var decompressed atomic.Int32
				s := newServiceOf(t, test.api, config, append(options, countDecompressed(&decompressed))...)
				if _, err := s.resources.List(t.Context(), &kubeconnectv1.ListRequest{Resource: "pods"}); err != nil {
					t.Fatal(err)
				}
				if got := decompressed.Load() > 0; got != test.want {
					t.Errorf("the response is compressed: %v, want %v", got, test.want)
				}
			})
		}
	}
}

// countDecompressed makes a client offer gzip, and counts the compressed messages.
func countDecompressed(count *atomic.Int32) connecthttp.Option {
	return connecthttp.WithCompressors(countingCompressor{connectgzip.New(), count})
}

type countingCompressor struct {
	connect.Compressor
	count *atomic.Int32
}

// Decompress implements connect.Compressor.
func (c countingCompressor) Decompress(src io.Reader) (io.ReadCloser, error) {
	c.count.Add(1)
	return c.Compressor.Decompress(src)
}

func TestCompression_WatchesAreNotCompressed(t *testing.T) {
	s := newServiceOf(t, largePodAPI(), Config{Edge: edge.Config{Compression: edge.CompressGzip, Authenticator: auth.KubeconfigAuthenticator{}}, Authorizer: servertest.NewFakeRights(auth.Namespaces{All: true})})
	request := []byte(`{"resource":"pods"}`)
	frame := append([]byte{0, 0, 0, 0, byte(len(request))}, request...)
	answer := post(t, s, "Watch", "application/connect+json", bytes.NewReader(frame))
	prefix := make([]byte, 5)
	if _, err := io.ReadFull(answer.Body, prefix); err != nil {
		t.Fatal(err)
	}
	if prefix[0]&1 != 0 {
		t.Error("the first message is compressed")
	}
	if size := int(prefix[1])<<24 | int(prefix[2])<<16 | int(prefix[3])<<8 | int(prefix[4]); size < 32<<10 {
		t.Errorf("the first message has %d bytes: this test asks for a large one", size)
	}
}

// post makes a call as a client that accepts gzip.
func post(t *testing.T, s *service, method, contentType string, body io.Reader) *http.Response {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+"/kubeconnect.v1.ResourceService/"+method, body)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", contentType)
	request.Header.Set("Accept-Encoding", "gzip")
	request.Header.Set("Connect-Accept-Encoding", "gzip")
	answer, err := s.http.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = answer.Body.Close() })
	return answer
}

func fetch(t *testing.T, s *service, path string) (status int, body string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := s.http.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(text)
}

func TestCompression_RequestsCanBeCompressed(t *testing.T) {
	for name, options := range protocols {
		t.Run(name, func(t *testing.T) {
			s := newService(t, servertest.PodsAPI(), auth.KubeconfigAuthenticator{}, append(options, connecthttp.WithSendGzip())...)
			if _, err := s.resources.List(t.Context(), &kubeconnectv1.ListRequest{Resource: "pods"}); err != nil {
				t.Errorf("List: %v", err)
			}
			stream, err := responses.Of(s.resources.Watch(t.Context(), &kubeconnectv1.WatchRequest{Resource: "pods"}))
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = stream.Close() }()
			if got := eventsOf(receive(t, stream)); got != "RESET ADDED:a ADDED:b SYNCED" {
				t.Errorf("Watch: %s", got)
			}
		})
	}
}
