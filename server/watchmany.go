package server

import (
	"context"
	"fmt"
	"sync"

	"connectrpc.com/connect"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/server/edge"
	"github.com/kubeconnect/kubeconnect/server/internal/apierror"
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
	caller, more := edge.CallerKey(edge.IdentityFrom(ctx)), len(requests)-1
	if err := s.callers.AcquireStreams(caller, more); err != nil {
		return err
	}
	defer s.callers.ReleaseStreams(caller, more)
	release, err := s.callers.HoldStreams(caller, edge.CredentialKey(edge.IdentityFrom(ctx)), more)
	if err != nil {
		return err
	}
	defer release()
	ctx, open, closeStream := s.streams.Begin(ctx, len(requests))
	defer closeStream()
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	s.followAll(ctx, end, requests, open, newManySender(stream, requests))
	if why := edge.UnreadOf(ctx).Why(); why != nil {
		return why
	}
	return context.Cause(ctx)
}

// splitRequest returns a request for each watch, with the resume token of that watch.
func splitRequest(request *kubeconnectv1.WatchManyRequest) ([]*kubeconnectv1.WatchRequest, error) {
	watches := request.GetWatches()
	if len(watches) == 0 || len(watches) > maxWatches {
		return nil, apierror.BadRequest("%d watches: give 1 to %d in one stream", len(watches), maxWatches)
	}
	tokens, err := splitToken(request.GetResumeToken(), len(watches))
	if err != nil {
		return nil, err
	}
	requests := make([]*kubeconnectv1.WatchRequest, len(watches))
	for i, watch := range watches {
		requests[i] = requestOf(watch, tokens[i])
	}
	return requests, nil
}

// requestOf returns the request of one of several watches.
func requestOf(watch *kubeconnectv1.WatchSpec, resumeToken string) *kubeconnectv1.WatchRequest {
	return &kubeconnectv1.WatchRequest{
		Resource:             watch.GetResource(),
		Namespace:            watch.GetNamespace(),
		Name:                 watch.GetName(),
		LabelSelector:        watch.GetLabelSelector(),
		FieldSelector:        watch.GetFieldSelector(),
		Filter:               watch.GetFilter(),
		Related:              watch.GetRelated(),
		Fields:               watch.GetFields(),
		MetadataOnly:         watch.GetMetadataOnly(),
		Encoding:             watch.GetEncoding(),
		PatchFormat:          watch.GetPatchFormat(),
		MinResourceVersion:   watch.GetMinResourceVersion(),
		RequireAllNamespaces: watch.GetRequireAllNamespaces(),
		ResumeToken:          resumeToken,
	}
}

// followAll follows each watch until one of them ends, which ends the context, or until the client
// disconnects. Nothing is sent before each watch has started, or waits for its first snapshot: if one
// is rejected, all are.
func (s *resources) followAll(ctx context.Context, end context.CancelCauseFunc, requests []*kubeconnectv1.WatchRequest, stream *edge.OpenStream, to *manySender) {
	var following sync.WaitGroup
	for i, request := range requests {
		sender := s.newSender(ctx, request, stream, to.outletFor(i))
		following.Go(func() {
			watch, err := s.watch(ctx, request, sender)
			if err != nil {
				end(errorOfWatch(i, request, err))
			}
			to.started[i]()
			if err == nil {
				end(errorOfWatch(i, request, s.serve(ctx, request, watch, sender)))
			}
		})
	}
	following.Wait()
}

// manySender sends the events of several watches on one stream.
type manySender struct {
	starting sync.WaitGroup // nothing is sent before it is done
	started  []func()       // by watch: notes in starting that the watch has started, was rejected, or waits

	mu       sync.Mutex // guards the fields below; held while sending
	stream   *connect.ServerStream[kubeconnectv1.WatchManyResponse]
	tokens   []string // the last token of each watch
	response kubeconnectv1.WatchManyResponse
}

func newManySender(stream *connect.ServerStream[kubeconnectv1.WatchManyResponse], requests []*kubeconnectv1.WatchRequest) *manySender {
	m := &manySender{stream: stream, tokens: make([]string, len(requests)), started: make([]func(), len(requests))}
	m.starting.Add(len(requests))
	for i, request := range requests {
		m.tokens[i], m.started[i] = request.GetResumeToken(), sync.OnceFunc(m.starting.Done)
	}
	return m
}

// outletFor returns the outlet of one of the watches. Watches that wait for the mutex send one
// message each in turn, because a Go mutex does not starve a waiter.
func (m *manySender) outletFor(index int) outlet {
	return func(ctx context.Context, under *accessLease, guarded edge.Guard, response *kubeconnectv1.WatchResponse) error {
		m.started[index]() // a watch that has something to send has started, or waits
		m.starting.Wait()
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		m.mu.Lock()
		defer m.mu.Unlock()
		return under.send(ctx, guarded, func() error {
			m.tokens[index], response.ResumeToken = response.GetResumeToken(), ""
			m.response.WatchIndex, m.response.Response = int32(index), response
			m.response.ResumeToken = joinTokens(m.tokens)
			return m.stream.Send(&m.response)
		})
	}
}

// errorOfWatch returns the error of one of several watches. Its message names the watch.
func errorOfWatch(index int, request *kubeconnectv1.WatchRequest, err error) error {
	return edge.WithPrefix(err, fmt.Sprintf("watch %d (%s)", index, edge.CutName(request.GetResource())))
}
