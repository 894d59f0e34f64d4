package streams

import (
	"context"
	"sync"

	"connectrpc.com/connect"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/internal/ledger"
	"github.com/kubeconnect/kubeconnect/server/edge/call"
	"github.com/kubeconnect/kubeconnect/server/edge/callerrors"
	"github.com/kubeconnect/kubeconnect/server/edge/streamlife"
)

// maxWatches bounds the watches and counts of one stream.
const maxWatches = 100

// partBytes estimates the memory of a watch or of counts in a stream, without what they keep.
const partBytes = 24 << 10

// WatchMany implements kubeconnect.v1.ResourceService. Each watch, and each of the counts, has its own
// goroutine, which follows it. All of them have ended when WatchMany returns.
func (w *Watches) WatchMany(ctx context.Context, request *kubeconnectv1.WatchManyRequest, stream *connect.ServerStream[kubeconnectv1.WatchManyResponse]) error {
	params, err := parseWatchMany(request)
	if err != nil {
		return err
	}
	caller, more := call.CallerKey(call.IdentityFrom(ctx)), len(params.parts)-1
	if err := w.callers.AcquireStreams(caller, more); err != nil {
		return err
	}
	defer w.callers.ReleaseStreams(caller, more)
	release, err := w.callers.HoldStreams(caller, call.CredentialKey(call.IdentityFrom(ctx)), more)
	if err != nil {
		return err
	}
	defer release()
	charge, err := ledger.From(ctx).Charge(len(params.parts) * partBytes)
	if err != nil {
		return err
	}
	defer charge.Release()
	ctx, open, closeStream := w.streams.Begin(ctx, len(params.parts))
	defer closeStream()
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	many := &manyStream{watches: w, params: params, open: open, sender: newManySender(stream, params), end: end}
	many.followAll(ctx)
	if why := streamlife.UnreadOf(ctx).Why(); why != nil {
		return why
	}
	return context.Cause(ctx)
}

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
