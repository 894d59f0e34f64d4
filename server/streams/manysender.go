package streams

import (
	"context"
	"sync"

	"connectrpc.com/connect"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/server/access"
	"github.com/kubeconnect/kubeconnect/server/edge/call"
	"github.com/kubeconnect/kubeconnect/server/edge/callerrors"
	"github.com/kubeconnect/kubeconnect/server/edge/streamlife"
	"github.com/kubeconnect/kubeconnect/server/tokens"
)

// manySender sends the responses of several parts on one stream.
type manySender struct {
	// Set once.
	independent bool
	starting    sync.WaitGroup // nothing is sent before it is done; at once if the parts are independent
	started     []func()       // by part: notes in starting that the part has started, was rejected, or waits

	mu       sync.Mutex // guards the fields below; held while sending
	stream   *connect.ServerStream[kubeconnectv1.WatchManyResponse]
	tokens   []string // the last token of each watch, unless the parts are independent
	response kubeconnectv1.WatchManyResponse
}

func newManySender(stream *connect.ServerStream[kubeconnectv1.WatchManyResponse], params manyParams) *manySender {
	m := &manySender{stream: stream, independent: params.independent, started: make([]func(), len(params.parts))}
	for i, part := range params.parts {
		m.started[i] = func() {}
		if params.independent {
			continue
		}
		m.starting.Add(1)
		m.started[i] = sync.OnceFunc(m.starting.Done)
		if part.watch != nil {
			m.tokens = append(m.tokens, part.watch.resumeToken)
		}
	}
	return m
}

// watchOutlet returns the outlet of one of the watches.
func (m *manySender) watchOutlet(index int) outlet[*kubeconnectv1.WatchResponse] {
	return func(ctx context.Context, lease *access.Lease, guarded streamlife.Guard, response *kubeconnectv1.WatchResponse) error {
		return m.send(ctx, index, lease, guarded, func(many *kubeconnectv1.WatchManyResponse) {
			if !m.independent {
				m.tokens[index], response.ResumeToken = response.GetResumeToken(), ""
			}
			many.Response = response
		})
	}
}

// countsOutlet returns the outlet of some of the counts.
func (m *manySender) countsOutlet(index int) outlet[*kubeconnectv1.WatchCountsResponse] {
	return func(ctx context.Context, lease *access.Lease, guarded streamlife.Guard, response *kubeconnectv1.WatchCountsResponse) error {
		return m.send(ctx, index, lease, guarded, func(many *kubeconnectv1.WatchManyResponse) { many.Counts = response })
	}
}

// sendError sends why an independent part was rejected or has ended.
func (m *manySender) sendError(ctx context.Context, index int, err error) error {
	return m.send(ctx, index, nil, streamlife.Guard{}, func(many *kubeconnectv1.WatchManyResponse) { many.Error = callerrors.StatusOf(err) })
}

// send sends a response of a part under a lease. Parts that wait for the mutex send one message each
// in turn, because a Go mutex does not starve a waiter.
func (m *manySender) send(ctx context.Context, index int, lease *access.Lease, guarded streamlife.Guard, fill func(*kubeconnectv1.WatchManyResponse)) error {
	m.started[index]() // a part that has something to send has started, or waits
	m.starting.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return lease.Send(ctx, guarded, func() error {
		m.response.Reset()
		m.response.WatchIndex = int32(index)
		if fill(&m.response); !m.independent {
			m.response.ResumeToken = tokens.Join(m.tokens)
		}
		call.SendsPart(ctx)
		return m.stream.Send(&m.response)
	})
}
