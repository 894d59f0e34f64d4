package streams

import (
	"context"
	"sync"

	"connectrpc.com/connect/v2"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1/kubeconnectv1connect"
	"github.com/kubeconnect/kubeconnect/server/access"
	"github.com/kubeconnect/kubeconnect/server/edge/call"
	"github.com/kubeconnect/kubeconnect/server/edge/callerrors"
	"github.com/kubeconnect/kubeconnect/server/edge/streamlife"
	"github.com/kubeconnect/kubeconnect/server/tokens"
)

// maxWatches bounds the watches and counts of one stream.
const maxWatches = 100

// partBytes estimates the memory of a watch or of counts in a stream, without what they keep.
const partBytes = 24 << 10

// manyStream is the stream of a WatchMany.
type manyStream struct {
	watches *Watches
	params  manyParams
	open    *streamlife.OpenStream
	sender  *manySender
	end     context.CancelCauseFunc // ends the stream with an error
}

// followAll follows all parts until the stream ends, or until the last of independent parts has ended.
func (s *manyStream) followAll(ctx context.Context) {
	follow := s.followTogether
	if s.params.independent {
		follow = s.followAlone
	}
	var following sync.WaitGroup
	for i, part := range s.params.parts {
		ctx, end := call.BeginPart(ctx, part.resource)
		following.Go(func() {
			defer end()
			follow(ctx, i)
		})
	}
	following.Wait()
}

// followTogether follows a part, and ends the stream when the part ends. Nothing is sent before each
// part has started, or waits for its first snapshot: if one is rejected, all are.
func (s *manyStream) followTogether(ctx context.Context, index int) {
	params, part := s.params.parts[index], s.newPart(ctx, index, &streamlife.StreamPart{Stream: s.open})
	err := part.start(ctx)
	if err != nil {
		s.end(params.errorAt(index, err))
	}
	s.sender.started[index]()
	if err == nil {
		s.end(params.errorAt(index, s.watches.serve(ctx, part)))
	}
}

// followAlone follows a part, and sends why it has ended. If the reason concerns the whole stream, the
// stream ends.
func (s *manyStream) followAlone(ctx context.Context, index int) {
	of := &streamlife.StreamPart{Stream: s.open}
	err := s.watches.run(ctx, s.newPart(ctx, index, of))
	of.NoteBegun(ctx)
	if !endsStream(ctx, err) {
		err = s.sender.sendError(ctx, index, err)
	}
	if err != nil {
		s.end(err)
		return
	}
	of.End()
}

// endsStream reports whether the error of a part is one of its stream or of its caller: the stream has
// ended, the client does not read it, or the caller is no longer authenticated.
func endsStream(ctx context.Context, err error) bool {
	return ctx.Err() != nil || streamlife.UnreadOf(ctx).Why() != nil || connect.CodeOf(callerrors.ConnectError(err)) == connect.CodeUnauthenticated
}

// newPart returns one of the parts.
func (s *manyStream) newPart(ctx context.Context, index int, of *streamlife.StreamPart) part {
	switch params := s.params.parts[index]; {
	case params.rejected != nil:
		return rejectedPart{params.resource, params.rejected}
	case params.counts != nil:
		sender := s.watches.newCountsSender(ctx, *params.counts, of, s.sender.countsOutlet(index))
		return &countsPart{watches: s.watches, params: *params.counts, sender: sender}
	default:
		sender := s.watches.newSender(ctx, *params.watch, of, s.sender.watchOutlet(index))
		return &watchPart{watches: s.watches, params: *params.watch, sender: sender}
	}
}

// manySender sends the responses of several parts on one stream.
type manySender struct {
	// Set once.
	independent bool
	starting    sync.WaitGroup // nothing is sent before it is done; at once if the parts are independent
	started     []func()       // by part: notes in starting that the part has started, was rejected, or waits

	mu       sync.Mutex // guards the fields below; held while sending
	stream   kubeconnectv1connect.ResourceServiceWatchManyServerStream
	tokens   []string // the last token of each watch, unless the parts are independent
	response kubeconnectv1.WatchManyResponse
}

func newManySender(stream kubeconnectv1connect.ResourceServiceWatchManyServerStream, params manyParams) *manySender {
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
