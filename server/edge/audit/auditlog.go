package audit

import (
	"context"

	"connectrpc.com/connect/v2"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"github.com/kubeconnect/kubeconnect/server/edge/call"
	"github.com/kubeconnect/kubeconnect/server/edge/callerrors"
)

const (
	// maxUserAgent is the length to which the user agent of a client is cut.
	maxUserAgent = 1 << 10
	// maxSourceIPs bounds the addresses of a call. The last ones are nearest to the service.
	maxSourceIPs = 10
)

// Log writes the events of calls to an output. A nil Log writes nothing. Its methods are safe for concurrent use.
type Log struct {
	policy Policy
	output *Output
}

// NewLog returns a log of the events that a policy selects.
func NewLog(policy Policy, output *Output) *Log { return &Log{policy, output} }

// Begin has a call of a procedure audited. The record of the call must have the procedure. It is called before the headers of
// the request are dropped.
func (l *Log) Begin(c *call.Call) {
	if l == nil {
		return
	}
	trail := &call.Trail{UserAgent: callerrors.Cut(c.Request.UserAgent(), maxUserAgent)}
	for _, address := range utilnet.SourceIPs(c.Request) {
		trail.SourceIPs = append(trail.SourceIPs, address.String())
	}
	trail.SourceIPs = trail.SourceIPs[max(0, len(trail.SourceIPs)-maxSourceIPs):]
	c.Record.Audit(trail)
	c.OnEnd(func() { l.end(c) })
}

// Streams is the interceptor that writes the beginning of what streams read.
func (l *Log) Streams(next connect.ServerFunc) connect.ServerFunc {
	return func(ctx context.Context, spec connect.Spec, stream connect.ServerStream) error {
		if !call.IsStream(spec) {
			return next(ctx, spec, stream)
		}
		return next(ctx, spec, &auditedStream{stream, l, call.From(ctx)})
	}
}

// auditedStream is a stream whose beginning is written. One goroutine sends at a time.
type auditedStream struct {
	connect.ServerStream
	log  *Log
	call *call.Call
}

// Send implements connect.ServerStream. What the message is about is in the queue of the log before it is sent.
func (s *auditedStream) Send(message any) error {
	s.log.sends(s.call, s.call.Record.Sending())
	return s.ServerStream.Send(message)
}

// sends writes what must be in the log before a message is sent.
func (l *Log) sends(c *call.Call, trail *call.Trail) {
	isFirst := !trail.HasSent()
	begins, ends := trail.Due()
	for _, entry := range begins {
		l.write(occasion{call: c, trail: trail, entry: &entry, stage: auditv1.StageResponseStarted})
	}
	for _, entry := range ends {
		l.write(occasion{call: c, trail: trail, entry: &entry, stage: auditv1.StageResponseComplete, err: trail.EndOf(nil)})
	}
	if isFirst && trail.IsEmpty() && !trail.IsPart { // a part sends without a read only why it was rejected
		l.write(occasion{call: c, trail: trail, stage: auditv1.StageResponseStarted})
	}
}

// end writes the end of a call, and of each part of it.
func (l *Log) end(c *call.Call) {
	whole := c.Record.Trail()
	for _, part := range whole.Parts() {
		l.endOf(c, part)
	}
	if len(whole.Parts()) == 0 {
		l.endOf(c, whole)
	}
}

// endOf writes the end of a call or of a part: one event for each read, or one for the request if there is none.
func (l *Log) endOf(c *call.Call, trail *call.Trail) {
	of := occasion{call: c, trail: trail, stage: auditv1.StageResponseComplete, err: trail.EndOf(c.Record.Err)}
	for _, entry := range trail.End() {
		of.entry = &entry
		l.write(of)
	}
	if trail.IsEmpty() {
		l.write(of)
	}
}

// write writes one event, if the policy selects it.
func (l *Log) write(of occasion) {
	about := of.about()
	if l.policy.writes(about, of.stage) {
		l.output.Add(of.line(about), about.user.Username != "")
	}
}
