package server

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
)

// maxWatches bounds the watches of one stream.
const maxWatches = 100

// WatchMany implements kubeconnect.v1.ResourceService. Each watch has its own goroutine, which
// follows it. All of them have ended when WatchMany returns.
func (s *resources) WatchMany(ctx context.Context, request *kubeconnectv1.WatchManyRequest, stream *connect.ServerStream[kubeconnectv1.WatchManyResponse]) error {
	requests, err := splitRequest(request)
	if err != nil {
		return err
	}
	caller, more := callerOf(identityFrom(ctx)), len(requests)-1
	if err := s.callers.acquireStreams(caller, more); err != nil {
		return err
	}
	defer s.callers.releaseStreams(caller, more)
	release, err := s.callers.holdStreams(caller, credentialOf(identityFrom(ctx)), more)
	if err != nil {
		return err
	}
	defer release()
	ctx, open, closeStream := s.streams.begin(ctx, len(requests))
	defer closeStream()
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	senders := s.newSenders(ctx, requests, open, newManySender(stream, requests))
	s.followAll(ctx, end, requests, senders)
	if why := unreadOf(ctx).why(); why != nil {
		return why
	}
	return context.Cause(ctx)
}

// splitRequest returns a request for each watch, with the resume token of that watch.
func splitRequest(request *kubeconnectv1.WatchManyRequest) ([]*kubeconnectv1.WatchRequest, error) {
	watches := request.GetWatches()
	if len(watches) == 0 || len(watches) > maxWatches {
		return nil, badRequest("%d watches: give 1 to %d in one stream", len(watches), maxWatches)
	}
	tokens, err := splitToken(request.GetResumeToken(), len(watches))
	if err != nil {
		return nil, err
	}
	requests := make([]*kubeconnectv1.WatchRequest, len(watches))
	for i, watch := range watches {
		if watch.GetResumeToken() != "" {
			return nil, errorOfWatch(i, watch, badRequest("resume_token must be empty: set the resume_token of the request, which is for all watches"))
		}
		requests[i] = proto.CloneOf(watch)
		requests[i].ResumeToken = tokens[i]
	}
	return requests, nil
}

// newSenders returns a sender for each watch.
func (s *resources) newSenders(ctx context.Context, requests []*kubeconnectv1.WatchRequest, stream *openStream, to *manySender) []*eventSender {
	senders := make([]*eventSender, len(requests))
	for i, request := range requests {
		senders[i] = s.newSender(ctx, request, stream, to.outletFor(i))
	}
	return senders
}

// followAll follows each watch until one of them ends, which ends the context, or until the client
// disconnects. A watch that waits for its first snapshot delays no other.
func (s *resources) followAll(ctx context.Context, end context.CancelCauseFunc, requests []*kubeconnectv1.WatchRequest, senders []*eventSender) {
	var following sync.WaitGroup
	for i, request := range requests {
		following.Go(func() {
			err := s.followOne(ctx, request, senders[i])
			end(errorOfWatch(i, request, err))
		})
	}
	following.Wait()
}

// manySender sends the events of several watches on one stream.
type manySender struct {
	mu       sync.Mutex // guards the fields below; held while sending
	stream   *connect.ServerStream[kubeconnectv1.WatchManyResponse]
	tokens   []string // the last token of each watch
	response kubeconnectv1.WatchManyResponse
}

func newManySender(stream *connect.ServerStream[kubeconnectv1.WatchManyResponse], requests []*kubeconnectv1.WatchRequest) *manySender {
	m := &manySender{stream: stream, tokens: make([]string, len(requests))}
	for i, request := range requests {
		m.tokens[i] = request.GetResumeToken()
	}
	return m
}

// outletFor returns the outlet of one of the watches. Watches that wait for the mutex send one
// message each in turn, because a Go mutex does not starve a waiter.
func (m *manySender) outletFor(index int) outlet {
	return func(ctx context.Context, under *accessLease, guarded guard, response *kubeconnectv1.WatchResponse) error {
		m.mu.Lock()
		defer m.mu.Unlock()
		return under.send(ctx, guarded, func() error {
			m.tokens[index], response.ResumeToken = response.GetResumeToken(), ""
			m.response.Watch, m.response.Response = int32(index), response
			m.response.ResumeToken = joinTokens(m.tokens)
			return m.stream.Send(&m.response)
		})
	}
}

// errorOfWatch returns the error of one of several watches. Its message names the watch.
func errorOfWatch(index int, request *kubeconnectv1.WatchRequest, err error) error {
	var coded *connect.Error
	_ = errors.As(connectError(err), &coded)
	wrapped := connect.NewError(coded.Code(), fmt.Errorf("watch %d (%s): %s", index, cut(request.GetResource(), maxNameBytes), coded.Message()))
	for _, detail := range coded.Details() {
		wrapped.AddDetail(detail)
	}
	return wrapped
}
