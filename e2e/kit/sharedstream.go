package kit

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"connectrpc.com/connect/v2"
	"connectrpc.com/connect/v2/connectproto"

	"github.com/kubeconnect/kubeconnect/e2e/record"
	"github.com/kubeconnect/kubeconnect/e2e/validate"
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/internal/responses"
)

// sharedPart is a watch, or counts, of a shared stream.
type sharedPart struct {
	// Set once.
	watch    *kubeconnectv1.WatchSpec
	counts   *kubeconnectv1.WatchCountsRequest
	reason   string                                // with which the service has to reject it; empty if it has a client
	left     <-chan struct{}                       // closed when the client has left
	messages chan *kubeconnectv1.WatchManyResponse // closed when the part has ended

	// Owned by the stream until messages is closed.
	ended bool
	err   error // why it has ended
}

// rejectedParts returns parts that the service has to reject.
func rejectedParts() []*sharedPart {
	return []*sharedPart{
		{reason: "NotFound", watch: &kubeconnectv1.WatchSpec{Resource: "nonsense"}},
		{reason: "BadRequest", watch: &kubeconnectv1.WatchSpec{}},
		{reason: "BadRequest", watch: &kubeconnectv1.WatchSpec{Resource: "configmaps", Filter: "object.("}},
		{reason: "BadRequest", watch: &kubeconnectv1.WatchSpec{Resource: "configmaps", LabelSelector: "a in ("}},
		{reason: "BadRequest", watch: &kubeconnectv1.WatchSpec{Resource: "configmaps", Limit: 501}},
		{reason: "BadRequest", watch: &kubeconnectv1.WatchSpec{Resource: "configmaps", OrderBy: "metadata.name"}},
		{reason: "BadRequest", watch: &kubeconnectv1.WatchSpec{Resource: "configmaps", OwnResumeToken: "AQ"}},
		{reason: "NotFound", counts: &kubeconnectv1.WatchCountsRequest{Resource: "nonsense"}},
		{reason: "BadRequest", counts: &kubeconnectv1.WatchCountsRequest{Resource: "configmaps", GroupBy: []string{"["}}},
	}
}

// sharedStream is one stream of a sharing client. It is owned by one goroutine.
type sharedStream struct {
	t      *testing.T
	parts  []*sharedPart // by index
	leaves bool          // whether it ends when one of its clients has left, so that the others begin again
}

// newSharedStream returns a stream of some parts, in any order, with some that are rejected.
func newSharedStream(t *testing.T, parts []*sharedPart) *sharedStream {
	for _, rejected := range rejectedParts() {
		if rand.IntN(2) == 0 {
			parts = append(parts, rejected)
		}
	}
	rand.Shuffle(len(parts), func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
	slices.SortStableFunc(parts, func(a, b *sharedPart) int { return kindOfPart(a) - kindOfPart(b) })
	return &sharedStream{t: t, parts: parts, leaves: rand.IntN(2) == 0}
}

// kindOfPart returns the order in which parts have their indexes: the counts follow the watches.
func kindOfPart(part *sharedPart) int {
	if part.watch != nil {
		return 0
	}
	return 1
}

// run ends when the stream has ended, and then all of its parts have.
func (s *sharedStream) run(ctx context.Context, client ResourceClient) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	err := s.read(ctx, cancel, client)
	if err == nil && ctx.Err() == nil {
		s.wantAllEnded()
	}
	if validate.IsFromService(err) {
		err = restated(err)
	} else { // the client has left, or the connection is lost
		err = connect.NewError(connect.CodeUnavailable, "the parts begin again in another stream")
	}
	for _, part := range s.parts {
		s.end(part, err)
	}
}

func (s *sharedStream) read(ctx context.Context, cancel func(), client ResourceClient) error {
	request := &kubeconnectv1.WatchManyRequest{Independent: true}
	for _, part := range s.parts {
		if part.watch != nil {
			request.Watches = append(request.Watches, part.watch)
		} else {
			request.Counts = append(request.Counts, part.counts)
		}
	}
	stream, err := responses.Of(client.WatchMany(ctx, request))
	if err != nil {
		return err
	}
	defer stream.Close()
	for stream.Receive() {
		s.take(stream.Msg(), cancel)
	}
	return stream.Err()
}

// take delivers a message to the client of its part.
func (s *sharedStream) take(message *kubeconnectv1.WatchManyResponse, cancel func()) {
	part := s.parts[message.GetWatchIndex()]
	switch status := message.GetError(); {
	case part.ended || message.GetResumeToken() != "":
		s.t.Errorf("a part that has ended, or a response with a token of all parts: %v", message)
	case status != nil:
		if part.reason != "" && part.reason != status.GetReason() {
			s.t.Errorf("part %v is rejected with %v, want the reason %s", part.watch, status, part.reason)
		}
		s.end(part, errorOf(status))
	case part.reason != "":
		if len(record.Changes(message.GetResponse().GetEvents())) > 0 || len(message.GetCounts().GetGroups()) > 0 {
			s.t.Errorf("the rejected part %v receives %v", part.watch, message)
		}
	default:
		select {
		case part.messages <- message:
		case <-part.left:
			if s.leaves {
				cancel()
			}
		}
	}
}

// end ends a part, unless it has ended.
func (s *sharedStream) end(part *sharedPart, err error) {
	if part.ended {
		return
	}
	part.ended, part.err = true, err
	if part.messages != nil {
		close(part.messages)
	}
}

// wantAllEnded fails the test unless each part has ended. "The stream ends with OK after the last of them
// has ended."
func (s *sharedStream) wantAllEnded() {
	for index, part := range s.parts {
		if !part.ended {
			s.t.Errorf("the stream has ended with OK, but part %d has not: %v %v", index, part.watch, part.counts)
		}
	}
}

// codesOfReasons are the codes of the errors with these reasons, where these tests expect one.
var codesOfReasons = map[string]connect.Code{
	"BadRequest": connect.CodeInvalidArgument, "NotFound": connect.CodeNotFound, "Forbidden": connect.CodePermissionDenied,
	"ServiceUnavailable": connect.CodeUnavailable, "RequestEntityTooLarge": connect.CodeResourceExhausted,
}

// errorOf returns the error with which a Watch would have ended.
func errorOf(status *kubeconnectv1.Status) error {
	code, ok := codesOfReasons[status.GetReason()]
	if !ok {
		code = connect.CodeUnknown
	}
	err := connect.NewError(code, status.GetMessage())
	if detail, invalid := connectproto.NewErrorDetail(status); invalid == nil {
		err = err.WithDetail(detail)
	}
	return err
}

// restated returns an error of the service as an error of a handler, which cannot pass on the error of
// another call.
func restated(err error) error {
	failure, _ := errors.AsType[*connect.Error](err)
	own := connect.NewError(failure.Code(), failure.Message())
	for _, detail := range failure.Details() {
		own = own.WithDetail(detail)
	}
	return own
}
