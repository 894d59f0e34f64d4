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
func (w *watches) WatchMany(ctx context.Context, request *kubeconnectv1.WatchManyRequest, stream *connect.ServerStream[kubeconnectv1.WatchManyResponse]) error {
	params, err := w.parseWatchMany(request)
	if err != nil {
		return err
	}
	caller, more := edge.CallerKey(edge.IdentityFrom(ctx)), len(params)-1
	if err := w.callers.AcquireStreams(caller, more); err != nil {
		return err
	}
	defer w.callers.ReleaseStreams(caller, more)
	release, err := w.callers.HoldStreams(caller, edge.CredentialKey(edge.IdentityFrom(ctx)), more)
	if err != nil {
		return err
	}
	defer release()
	ctx, open, closeStream := w.streams.Begin(ctx, len(params))
	defer closeStream()
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	w.followAll(ctx, end, params, open, newManySender(stream, params))
	if why := edge.UnreadOf(ctx).Why(); why != nil {
		return why
	}
	return context.Cause(ctx)
}

// parseWatchMany returns the parameters of each watch, with the resume token of that watch.
func (w *watches) parseWatchMany(request *kubeconnectv1.WatchManyRequest) ([]watchParams, error) {
	specs := request.GetWatches()
	if len(specs) == 0 || len(specs) > maxWatches {
		return nil, apierror.BadRequest("%d watches: give 1 to %d in one stream", len(specs), maxWatches)
	}
	tokens, err := splitToken(request.GetResumeToken(), len(specs))
	if err != nil {
		return nil, err
	}
	params, inPages := make([]watchParams, len(specs)), 0
	for i, spec := range specs {
		if params[i], err = w.parseWatch(requestOf(spec, tokens[i])); err != nil {
			return nil, errorOfWatch(i, spec.GetResource(), err)
		}
		inPages += int(spec.GetLimit())
	}
	if inPages > mostInPages {
		return nil, apierror.BadRequest("the pages have %d objects together: give limits of at most %d in one stream", inPages, mostInPages)
	}
	return params, nil
}

// mostInPages bounds the objects of all pages of a WatchMany, because each response has a token that
// lists them.
const mostInPages = 1000

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
		Limit:                watch.GetLimit(),
		OrderBy:              watch.GetOrderBy(),
		Offset:               watch.GetOffset(),
		After:                watch.GetAfter(),
		Joins:                watch.GetJoins(),
		ResumeToken:          resumeToken,
	}
}

// followAll follows each watch until one of them ends, which ends the context, or until the client
// disconnects. Nothing is sent before each watch has started, or waits for its first snapshot: if
// one is rejected, all are.
func (w *watches) followAll(ctx context.Context, end context.CancelCauseFunc, watches []watchParams, stream *edge.OpenStream, to *manySender) {
	var following sync.WaitGroup
	for i, params := range watches {
		sender := w.newSender(ctx, params, stream, to.outletFor(i))
		following.Go(func() {
			watch, err := w.start(ctx, params, sender)
			if err != nil {
				end(errorOfWatch(i, params.resource, err))
			}
			to.started[i]()
			if err == nil {
				end(errorOfWatch(i, params.resource, w.serve(ctx, params, watch, sender)))
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

func newManySender(stream *connect.ServerStream[kubeconnectv1.WatchManyResponse], watches []watchParams) *manySender {
	m := &manySender{stream: stream, tokens: make([]string, len(watches)), started: make([]func(), len(watches))}
	m.starting.Add(len(watches))
	for i, params := range watches {
		m.tokens[i], m.started[i] = params.resumeToken, sync.OnceFunc(m.starting.Done)
	}
	return m
}

// outletFor returns the outlet of one of the watches. Watches that wait for the mutex send one
// message each in turn, because a Go mutex does not starve a waiter.
func (m *manySender) outletFor(index int) outlet {
	return func(ctx context.Context, lease *accessLease, guarded edge.Guard, response *kubeconnectv1.WatchResponse) error {
		m.started[index]() // a watch that has something to send has started, or waits
		m.starting.Wait()
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		m.mu.Lock()
		defer m.mu.Unlock()
		return lease.send(ctx, guarded, func() error {
			m.tokens[index], response.ResumeToken = response.GetResumeToken(), ""
			m.response.WatchIndex, m.response.Response = int32(index), response
			m.response.ResumeToken = joinTokens(m.tokens)
			return m.stream.Send(&m.response)
		})
	}
}

// errorOfWatch returns the error of one of several watches. Its message names the watch.
func errorOfWatch(index int, resource string, err error) error {
	return edge.WithPrefix(err, fmt.Sprintf("watch %d (%s)", index, edge.CutName(resource)))
}
