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
//
// Each part has a goroutine, which owns the part, its lease and its StreamPart. The goroutines share only the sender. All of
// them have ended when followAll returns. The first call of end decides with which error the stream ends.
type manyStream struct {
	// Set once.
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
		ctx, end := call.BeginPart(ctx, part.resource) // in the goroutine of the handler, which owns the record of the call
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
	// The stream ends before the part is noted as started. In the other order, the parts that wait to send would send a
	// message first, and the client would receive a response in place of the error alone.
	if err != nil {
		s.end(params.errorAt(index, err))
	}
	s.sender.started[index]()
	if err == nil {
		s.end(params.errorAt(index, s.watches.serve(ctx, part)))
	}
}

// followAlone follows a part, and sends why it has ended. If the reason concerns the whole stream, the
// stream ends. Otherwise it ends when the last part has ended: then followAll returns.
func (s *manyStream) followAlone(ctx context.Context, index int) {
	of := &streamlife.StreamPart{Stream: s.open}
	err := s.watches.run(ctx, s.newPart(ctx, index, of))
	of.NoteBegun(ctx) // a part that was rejected has no first state, and the call must not wait for one
	if !endsStream(ctx, err) {
		call.NotePartEnd(ctx, err)
		err = s.sender.sendError(ctx, index, err)
	}
	if err != nil {
		s.end(err)
		return
	}
	of.End() // after its last message: from now on only the other parts decide where the stream can be resumed
}

// endsStream reports whether the error of a part is one of its stream or of its caller: the stream has
// ended, the client does not read it, or the caller is no longer authenticated.
func endsStream(ctx context.Context, err error) bool {
	return ctx.Err() != nil || streamlife.UnreadOf(ctx).Why() != nil || connect.CodeOf(callerrors.ConnectError(err)) == connect.CodeUnauthenticated
}

// newPart returns the part with an index, whose responses are sent by the shared sender.
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

// manySender sends the responses of several parts on one stream. Its methods are called by the goroutines of all parts.
//
// mu is held while a message is sent, so a client that does not read blocks all parts. It is taken before any other lock: a
// part holds no lock, no turn and no processor slot when it sends. While it sends, streamlife.Unread takes its own lock.
type manySender struct {
	// Set once.
	independent bool
	starting    sync.WaitGroup // nothing is sent before it is done; at once if the parts are independent
	started     []func()       // by part: notes in starting that the part has started, was rejected, or waits

	mu       sync.Mutex // guards the fields below; held while sending
	stream   kubeconnectv1connect.ResourceServiceWatchManyServerStream
	tokens   []string                        // the last token of each watch, unless the parts are independent
	response kubeconnectv1.WatchManyResponse // used again for each message: the stream does not retain it
}

// newManySender returns a sender. The watches come before the counts in params, so the index of a watch among the parts is
// also its index among the tokens. Until a watch has sent something, its token is the token of the request.
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
//
// A stream has one resume token for all watches. Each response of a watch replaces the token of that watch, and moves it to
// the response of the stream. After a response without a token, the token of that watch is empty: a client that resumes there
// receives a snapshot of it, and the other watches continue.
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
//
// The lease is checked with the mutex held. The wait for the mutex can take as long as a client may leave the message of
// another part unread, and a lease that was checked before it could be due, or lost. If Lease.Send returns access.ErrDue,
// fill was not called: the tokens change only with a message that is sent.
func (m *manySender) send(ctx context.Context, index int, lease *access.Lease, guarded streamlife.Guard, fill func(*kubeconnectv1.WatchManyResponse)) error {
	// Each part comes here, starts, or is rejected, within waitingAfter of its whileWaiting. So starting ends.
	m.started[index]() // a part that has something to send has started, or waits
	m.starting.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx) // another part was rejected
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
