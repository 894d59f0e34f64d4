package edge

import (
	"context"
	"net/http"
	"strings"

	"connectrpc.com/connect/v2"

	"github.com/kubeconnect/kubeconnect/internal/ledger"
	"github.com/kubeconnect/kubeconnect/server/edge/call"
	"github.com/kubeconnect/kubeconnect/server/edge/callerrors"
	"github.com/kubeconnect/kubeconnect/server/edge/streamlife"
)

// Plain is a request over plain HTTP that is no call of connect. Its fields are set once.
type Plain struct {
	// Procedure names the kind of request in metrics, logs and limits, as the procedure of a call does.
	Procedure string
	// Type is StreamTypeServer for a response without end, and StreamTypeBidi if the request has no end either.
	Type connect.StreamType
	// Subject is what the request is about, for the records.
	Subject call.Subject
	// Serve writes the response, or returns the error that Fail is to write. The context of its request has the caller.
	Serve func(w http.ResponseWriter, r *http.Request) error
	// Fail writes an error of the gate or of Serve, which may have written a part of the response.
	Fail func(w http.ResponseWriter, r *http.Request, err error)
}

// ServePlain serves a plain request behind the same gate, and with the same interceptors, as a call.
func (c *Chain) ServePlain(w http.ResponseWriter, r *http.Request, plain Plain) {
	spec := connect.Spec{Procedure: plain.Procedure, StreamType: plain.Type}
	of := call.From(r.Context())
	c.config.Metrics.Begin(of, plain.Procedure)
	c.config.Audit.Begin(of)
	isAdmitted := false
	serve := c.admit(c.config.Metrics.CountCalls(func(ctx context.Context, _ connect.Spec, stream connect.ServerStream) error {
		isAdmitted = true
		_ = stream.Receive(plain.Subject) // the request is its headers
		served := streamlife.CancelOnShutdown(c.config.OnShutdown)(func(ctx context.Context, _ connect.Spec, _ connect.ServerStream) error {
			if call.IsStream(spec) {
				charge, err := ledger.From(ctx).Charge(keptBytes(r))
				defer charge.Release()
				if err != nil {
					return err
				}
				of.Decoded()
			}
			defer of.Decoded()
			return plain.Serve(w, r.WithContext(ctx))
		})
		err := served(ctx, spec, stream)
		c.config.Metrics.Limited(err)
		if err != nil {
			plain.Fail(w, r, err)
		}
		return callerrors.ConnectError(err)
	}))
	if err := serve(r.Context(), spec, plainStream{}); err != nil && !isAdmitted {
		plain.Fail(w, r, err)
	}
}

const (
	// keptPerByte and keptPerValue estimate the memory of a parsed query, for each byte and for each value of a selector; see
	// [bounds.ParsedRequestBytes].
	keptPerByte, keptPerValue = 12, 384
	// keptPerHeader estimates the memory of a header field, in addition to twice its bytes.
	keptPerHeader = 128
)

// keptBytes estimates the memory that a plain request takes while its stream is open.
func keptBytes(r *http.Request) int {
	query := r.URL.RawQuery
	kept := keptPerByte*len(query) + keptPerValue*(1+strings.Count(query, ",")+strings.Count(query, "%2C")+strings.Count(query, "%2c"))
	for name, values := range r.Header {
		for _, value := range values {
			kept += keptPerHeader + 2*(len(name)+len(value))
		}
	}
	return kept
}

// plainStream is the stream of a plain request, which has no messages: its response is written to a ResponseWriter.
type plainStream struct{}

// Receive implements connect.ServerStream.
func (plainStream) Receive(any) error { return nil }

// SendHeaders implements connect.ServerStream.
func (plainStream) SendHeaders() error { return nil }

// Send implements connect.ServerStream.
func (plainStream) Send(any) error { return nil }
