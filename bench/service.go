package main

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"fmt"
	"net/http"
	"regexp"
	"time"

	"golang.org/x/net/http2/hpack"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1/kubeconnectv1connect"
)

// bookmarks is how long a stream of the service may be quiet before it is sent a
// bookmark.
const bookmarks = 5 * time.Second

// serviceStart is how long the service may take until it serves.
const serviceStart = time.Minute

// service is a kubeconnect of its own. It serves TLS with the API server's own
// certificate, so that both sides encrypt alike.
type service struct {
	*harness.Process
	address string
	tls     *tls.Config
	token   string // of whom it is called by; empty where it takes everyone for the same one
}

var servingLine = regexp.MustCompile(`msg=serving\b.*\baddress="?https://([^\s"]+)`)

// startService starts a service with some variables in its environment, NAME=VALUE.
// Unless they say otherwise, it knows no callers. The caller must call stop.
func (c *controlPlane) startService(ctx context.Context, variables ...string) (*service, error) {
	variables = append([]string{"KUBECONNECT_AUTH=none"}, variables...)
	process, err := harness.Start("env", append(variables, program("KUBECONNECT_BIN", "bin/kubeconnect"),
		"--kubeconfig", c.kubeconfig(), "--listen", "127.0.0.1:0",
		"--tls-cert-file", c.file("pki", "server.crt"), "--tls-private-key-file", c.file("pki", "server.key"))...)
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
	return &service{Process: process, address: servingLine.FindStringSubmatch(line)[1], tls: &tls.Config{RootCAs: c.tls.RootCAs}}, nil
}

// startFilled starts a service and makes it hold all pods.
func (c *controlPlane) startFilled(ctx context.Context, variables ...string) (*service, error) {
	s, err := c.startService(ctx, variables...)
	if err != nil {
		return nil, err
	}
	if err := s.hold(ctx); err != nil {
		s.stop()
		return nil, err
	}
	return s, nil
}

// startForCallers starts a service that asks the cluster who is calling and what they
// may do, and makes it hold all pods. It is called by an account that may list them.
func (c *controlPlane) startForCallers(ctx context.Context, by account) (*service, error) {
	// A bench is not to be told to call again later, but is to be counted.
	s, err := c.startService(ctx, "KUBECONNECT_AUTH=cluster", "KUBECONNECT_CALLER_REQUEST_RATE=1000000")
	if err != nil {
		return nil, err
	}
	s.token = by.token
	if err = s.hold(ctx); err == nil {
		err = pause(ctx, settling)
	}
	if err != nil {
		s.stop()
		return nil, err
	}
	return s, nil
}

// settling is how long a service is given that knows callers: for some seconds after it
// has learnt of rights, it asks the cluster about them more often.
const settling = 6 * time.Second

// as is the same service, called by another account.
func (s *service) as(a account) *service {
	other := *s
	other.token = a.token
	return &other
}

// hold makes the service hold all pods, by a list that selects none.
func (s *service) hold(ctx context.Context) error {
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

// client returns a client as callers in Go have it, with all defaults.
func (s *service) client() (client *http.Client, closeIdle func()) {
	transport := &http.Transport{TLSClientConfig: s.tls.Clone(), ForceAttemptHTTP2: true}
	return &http.Client{Transport: transport}, transport.CloseIdleConnections
}

// watch opens a Watch on a connection, and counts what it brings.
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
		{Name: "grpc-accept-encoding", Value: "gzip"}, // as the shipped clients do
	}, append(framed, body...), data)
}

// listed is what a list has brought.
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

func (s *service) page(ctx context.Context, c *connection, request *kubeconnectv1.ListRequest, all *listed) (next string, err error) {
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
	answer, err := s.call(c, kubeconnectv1connect.ResourceServiceListProcedure, request, func(data []byte) {
		all.bytes += len(data)
		split.add(data)
	})
	if err != nil {
		return "", err
	}
	return next, answer.wait(ctx)
}

// get reads one object, and answers its size.
func (s *service) get(ctx context.Context, c *connection, request *kubeconnectv1.GetRequest) (bytes int, err error) {
	answer, err := s.call(c, kubeconnectv1connect.ResourceServiceGetProcedure, request, func(data []byte) { bytes += len(data) })
	if err != nil {
		return 0, err
	}
	return bytes, answer.wait(ctx)
}

// callTimeout is how long an answer may take that does not stream.
const callTimeout = time.Minute

// wait returns when the answer is complete.
func (s *stream) wait(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	select {
	case <-s.ended:
		return s.failure
	case <-ctx.Done():
		return fmt.Errorf("waiting for an answer: %w", context.Cause(ctx))
	}
}

func numberOf(message proto.Message, field protoreflect.Name) protowire.Number {
	return message.ProtoReflect().Descriptor().Fields().ByName(field).Number()
}
