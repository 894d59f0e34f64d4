package main

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"fmt"
	"net/http"
	"regexp"
	"time"

	"connectrpc.com/connect/v2"
	"connectrpc.com/connect/v2/connecthttp"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1/kubeconnectv1connect"
)

// bookmarks is the time after which the service sends a bookmark on an idle stream.
const bookmarks = 5 * time.Second

// serviceStart is the time limit until the service serves.
const serviceStart = time.Minute

// service is a kubeconnect process. It serves TLS with the API server's own certificate, so that both
// sides encrypt in the same way.
type service struct {
	*harness.Process
	address string
	tls     *tls.Config
	token   string // of the caller; empty if the service does not authenticate callers
}

var servingLine = regexp.MustCompile(`msg=serving\b.*\baddress="?https://([^\s"]+)`)

// startService starts a service with the given environment variables (NAME=VALUE). Unless they set
// KUBECONNECT_AUTH, it does not authenticate callers. The caller must call stop.
func (c *controlPlane) startService(ctx context.Context, variables ...string) (*service, error) {
	// All callers of the bench have one address.
	variables = append([]string{
		"KUBECONNECT_AUTH=none", "KUBECONNECT_MAX_CONNECTIONS=100000", "KUBECONNECT_MAX_CONNECTIONS_PER_ADDRESS=100000",
	}, variables...)
	process, err := harness.StartWith(variables, program("KUBECONNECT_BIN", "bin/kubeconnect"),
		"--kubeconfig", c.kubeconfig(), "--listen", "127.0.0.1:0",
		"--tls-cert-file", c.file("pki", "server.crt"), "--tls-private-key-file", c.file("pki", "server.key"))
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, serviceStart)
	defer cancel()
	line, err := process.UntilPrints(ctx, servingLine.MatchString)
	if err != nil {
		_ = process.Stop()
		return nil, err
	}
	address := servingLine.FindStringSubmatch(line)[1]
	return &service{Process: process, address: address, tls: &tls.Config{RootCAs: c.tls.RootCAs}}, nil
}

// startFilled starts a service and blocks until it has cached all pods. The caller must call stop.
func (c *controlPlane) startFilled(ctx context.Context, variables ...string) (*service, error) {
	s, err := c.startService(ctx, variables...)
	if err != nil {
		return nil, err
	}
	if err := s.fill(ctx); err != nil {
		s.stop()
		return nil, err
	}
	return s, nil
}

// startForCallers starts a service that authenticates and authorizes callers with the cluster, and
// blocks until it has cached all pods. It is called as an account that is allowed to list them. The
// caller must call stop.
func (c *controlPlane) startForCallers(ctx context.Context, caller account, variables ...string) (*service, error) {
	// The rate limit counts the bench's calls, but must not reject any.
	s, err := c.startService(ctx, append([]string{"KUBECONNECT_AUTH=cluster", "KUBECONNECT_CALLER_REQUEST_RATE=1000000"}, variables...)...)
	if err != nil {
		return nil, err
	}
	s.token = caller.token
	if err = s.fill(ctx); err == nil {
		err = pause(ctx, settling)
	}
	if err != nil {
		s.stop()
		return nil, err
	}
	return s, nil
}

// settling is the pause after the start of a service that authorizes callers. For some seconds after
// it has received roles and bindings, such a service requests more reviews from the cluster.
const settling = 6 * time.Second

// as returns the same service, called by another account.
func (s *service) as(a account) *service {
	other := *s
	other.token = a.token
	return &other
}

// fill makes the service cache all pods, by a list that selects none of them.
func (s *service) fill(ctx context.Context) error {
	c, err := s.dial()
	if err != nil {
		return err
	}
	defer c.close()
	_, err = s.list(ctx, c, &kubeconnectv1.ListRequest{Resource: "pods", Namespace: "nosuch"})
	return err
}

func (s *service) stop() { _ = s.Stop() }

func (s *service) dial() (*connection, error) { return dial(s.address, s.tls, s.token) }

// client returns an HTTP client for callers in Go, with Go's default settings.
func (s *service) client() (client *http.Client, closeIdle func()) {
	transport := &http.Transport{TLSClientConfig: s.tls.Clone(), ForceAttemptHTTP2: true}
	return &http.Client{Transport: transport}, transport.CloseIdleConnections
}

// resources returns a client for callers in Go, for responses of any size.
func (s *service) resources(client *http.Client) kubeconnectv1connect.ResourceServiceClient {
	transport := connecthttp.NewTransport(client, "https://"+s.address, connecthttp.WithReadMaxBytes(0))
	return kubeconnectv1connect.NewResourceServiceClient(connect.NewClient(transport))
}

// watch opens a Watch on a connection, and calls data with each piece of the response.
func (s *service) watch(c *connection, request *kubeconnectv1.WatchRequest, data func([]byte)) (*stream, error) {
	return s.call(c, kubeconnectv1connect.ResourceServiceWatchProcedure, request, data)
}

func (s *service) call(c *connection, procedure string, request proto.Message, data func([]byte)) (*stream, error) {
	body, err := proto.Marshal(request)
	if err != nil {
		return nil, err
	}
	framed := binary.BigEndian.AppendUint32([]byte{0}, uint32(len(body)))
	return c.open([]hpack.HeaderField{
		{Name: ":method", Value: "POST"},
		{Name: ":scheme", Value: "https"},
		{Name: ":authority", Value: s.address},
		{Name: ":path", Value: procedure},
		{Name: "content-type", Value: "application/grpc"},
		{Name: "te", Value: "trailers"},
		{Name: "grpc-accept-encoding", Value: "gzip"}, // as in the shipped clients
	}, append(framed, body...), data)
}

// listed is the number of objects and bytes of a list.
type listed struct {
	objects, bytes int
}

// list reads all pages of a list.
func (s *service) list(ctx context.Context, c *connection, request *kubeconnectv1.ListRequest) (listed, error) {
	request = proto.CloneOf(request)
	var all listed
	for {
		token, err := s.page(ctx, c, request, &all)
		if err != nil || token == "" {
			return all, err
		}
		request.PageToken = token
	}
}

// page reads one page of a list, adds its size to all, and returns the next page token.
func (s *service) page(
	ctx context.Context, c *connection, request *kubeconnectv1.ListRequest, all *listed,
) (next string, err error) {
	split := &messages{head: grpcHead, each: func(message []byte) {
		eachField(message, func(number protowire.Number, value []byte) {
			switch number {
			case listResponseObjects:
				all.objects++
			case listResponseToken:
				next = string(value)
			}
		})
	}}
	response, err := s.call(c, kubeconnectv1connect.ResourceServiceListProcedure, request, func(data []byte) {
		all.bytes += len(data)
		split.add(data)
	})
	if err != nil {
		return "", err
	}
	return next, response.wait(ctx)
}

// get reads one object, and returns its size.
func (s *service) get(ctx context.Context, c *connection, request *kubeconnectv1.GetRequest) (bytes int, err error) {
	response, err := s.call(c, kubeconnectv1connect.ResourceServiceGetProcedure, request,
		func(data []byte) { bytes += len(data) })
	if err != nil {
		return 0, err
	}
	return bytes, response.wait(ctx)
}

// callTimeout is the time limit of a call that does not stream.
const callTimeout = time.Minute

// wait blocks until the response is complete, for at most callTimeout.
func (s *stream) wait(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	select {
	case <-s.ended:
		return s.failure
	case <-ctx.Done():
		return fmt.Errorf("waiting for the response: %w", context.Cause(ctx))
	}
}

// numberOf returns the number of a field of a message.
func numberOf(message proto.Message, field protoreflect.Name) protowire.Number {
	return message.ProtoReflect().Descriptor().Fields().ByName(field).Number()
}
