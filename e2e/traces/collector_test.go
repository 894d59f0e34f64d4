package traces_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"

	collectorpb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

// collector receives spans by OTLP, over gRPC and over HTTP. Its methods are safe for concurrent use.
type collector struct {
	collectorpb.UnimplementedTraceServiceServer
	http *httptest.Server
	grpc string // its address

	mu       sync.Mutex // guards the fields below
	exported bytes.Buffer
	spans    []span
}

// span is an exported span and the service that has exported it.
type span struct {
	*tracepb.Span
	service string
}

func startCollector(t *testing.T) *collector {
	t.Helper()
	c := &collector{}
	c.http = httptest.NewServer(http.HandlerFunc(c.receive))
	t.Cleanup(c.http.Close)
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server, served := grpc.NewServer(), make(chan struct{})
	collectorpb.RegisterTraceServiceServer(server, c)
	go func() {
		defer close(served)
		_ = server.Serve(listener)
	}()
	t.Cleanup(func() {
		server.Stop()
		<-served
	})
	c.grpc = listener.Addr().String()
	return c
}

// receive serves OTLP over HTTP.
func (c *collector) receive(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var request collectorpb.ExportTraceServiceRequest
	if err != nil || r.URL.Path != "/v1/traces" || proto.Unmarshal(body, &request) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	_, _ = c.Export(r.Context(), &request)
	w.Header().Set("Content-Type", "application/x-protobuf")
}

// Export implements collectorpb.TraceServiceServer.
func (c *collector) Export(_ context.Context, request *collectorpb.ExportTraceServiceRequest) (*collectorpb.ExportTraceServiceResponse, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, resource := range request.GetResourceSpans() {
		service := attribute(resource.GetResource().GetAttributes(), "service.name")
		if service == "kubeconnect" {
			body, _ := proto.Marshal(request)
			c.exported.Write(body)
		}
		for _, scope := range resource.GetScopeSpans() {
			for _, exported := range scope.GetSpans() {
				c.spans = append(c.spans, span{exported, service})
			}
		}
	}
	return &collectorpb.ExportTraceServiceResponse{}, nil
}

// until blocks until a span matches, and returns it.
func (c *collector) until(ctx context.Context, t *testing.T, description string, matches func(span) bool) (found span) {
	t.Helper()
	kit.Eventually(ctx, t, "the span of "+description+" is exported", func() error {
		c.mu.Lock()
		defer c.mu.Unlock()
		i := slices.IndexFunc(c.spans, matches)
		if i < 0 {
			return fmt.Errorf("not among %d spans", len(c.spans))
		}
		found = c.spans[i]
		return nil
	})
	return found
}

// below blocks until the service has exported a span below another one.
func (c *collector) below(ctx context.Context, t *testing.T, parent span, name string) span {
	t.Helper()
	return c.until(ctx, t, name, func(s span) bool {
		return s.GetName() == name && bytes.Equal(s.GetTraceId(), parent.GetTraceId()) && bytes.Equal(s.GetParentSpanId(), parent.GetSpanId())
	})
}

// belowCall blocks until the service has exported the span of a call with a context.
func (c *collector) belowCall(ctx context.Context, t *testing.T, sent sentContext, method string) span {
	t.Helper()
	return c.until(ctx, t, method, func(s span) bool {
		return s.GetName() == "kubeconnect.v1.ResourceService/"+method && hex.EncodeToString(s.GetTraceId()) == sent.trace && hex.EncodeToString(s.GetParentSpanId()) == sent.span
	})
}

// wantNone fails the test if one of the texts is in what the service has exported.
func (c *collector) wantNone(t *testing.T, texts map[string]string) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.exported.Len() == 0 {
		t.Error("nothing was exported")
	}
	for what, text := range texts {
		if text == "" || bytes.Contains(c.exported.Bytes(), []byte(text)) {
			t.Errorf("%s was exported: %q", what, text)
		}
	}
}

func wantAttributes(t *testing.T, exported span, want map[string]string) {
	t.Helper()
	for key, value := range want {
		if got := attribute(exported.GetAttributes(), key); got != value {
			t.Errorf("%s has %s=%q, want %q", exported.GetName(), key, got, value)
		}
	}
}

// attribute returns the value of an attribute as text.
func attribute(attributes []*commonpb.KeyValue, key string) string {
	for _, attribute := range attributes {
		if attribute.GetKey() != key {
			continue
		}
		if number, ok := attribute.GetValue().GetValue().(*commonpb.AnyValue_IntValue); ok {
			return fmt.Sprint(number.IntValue)
		}
		return attribute.GetValue().GetStringValue()
	}
	return ""
}
