package logs

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"

	"google.golang.org/protobuf/types/known/timestamppb"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1/kubeconnectv1connect"
	"github.com/kubeconnect/kubeconnect/informerhub/discovery"
	"github.com/kubeconnect/kubeconnect/internal/fairqueue"
	"github.com/kubeconnect/kubeconnect/server/access"
	"github.com/kubeconnect/kubeconnect/server/edge/callerrors"
	"github.com/kubeconnect/kubeconnect/server/loglines"
)

// lineBody is an open log. The errors of Read are for callers: the errors of the connection contain the
// addresses of the API server and the service.
type lineBody struct {
	io.ReadCloser
	ctx context.Context // of the connection
}

// Read implements io.Reader. It returns io.EOF only for a log that has ended regularly, and an error for a log that was cut off.
func (b *lineBody) Read(p []byte) (int, error) {
	count, err := b.ReadCloser.Read(p)
	if err == nil {
		return count, nil
	}
	if err = whyEnded(b.ctx, err); err == nil {
		return count, io.EOF
	}
	return count, openError(err)
}

// openError returns the error of a log that could not be opened, or was cut off, for loglines. The API server reports a container
// without a log as a bad request, whether the log comes later or has been removed.
func openError(err error) error {
	var failed apierrors.APIStatus
	if !errors.As(err, &failed) {
		warnUnopened(err)
		return err // loglines does not send its text
	}
	status := failed.Status()
	return &loglines.OpenError{
		Reason: string(status.Reason), Message: status.Message,
		IsWaiting: status.Code == http.StatusBadRequest,
		IsFinal:   status.Code == http.StatusForbidden || status.Code == http.StatusNotFound,
	}
}

// warnUnopened logs why the API server could not be reached, which callers do not receive.
func warnUnopened(err error) {
	var unavailable *discovery.UnavailableError
	if errors.As(err, &unavailable) {
		slog.Warn("a log could not be opened", "error", err)
	}
}

// lineSender sends the batches of one stream. It is owned by the goroutine that sends them.
type lineSender struct {
	leasedSender
	stream kubeconnectv1connect.PodServiceGetLogLinesServerStream
}

// newLineSender returns the sender of a stream of lines.
func newLineSender(stream kubeconnectv1connect.PodServiceGetLogLinesServerStream, lease *access.Lease, unread *fairqueue.Queue) *lineSender {
	sendEmpty := func() error { return stream.Send(&kubeconnectv1.GetLogLinesResponse{}) }
	return &lineSender{stream: stream, leasedSender: leasedSender{lease, unread, sendEmpty}}
}

// send sends a batch under a valid lease. Lines, events and positions of namespaces that the caller can no
// longer read are dropped. All open logs wait while the batch is unread, so all of them count as unread.
func (s *lineSender) send(ctx context.Context, batch loglines.Batch) error {
	return s.sendPermitted(ctx, max(1, batch.OpenLogs), func() error { return s.stream.Send(s.response(batch)) })
}

// response returns a batch as a response, in the scope of the lease as it is now. It is made again for each attempt to send, because the
// lease can be renewed between two attempts.
func (s *lineSender) response(batch loglines.Batch) *kubeconnectv1.GetLogLinesResponse {
	response := &kubeconnectv1.GetLogLinesResponse{}
	// Notices were made with the permissions by which the pods were selected. The last notice that names namespaces counts.
	for _, notice := range batch.Notices {
		response.Warnings = append(response.Warnings, notice.Warnings...)
		if notice.CoversAll || len(notice.Namespaces) > 0 {
			response.CoversAll, response.Namespaces = notice.CoversAll, notice.Namespaces
		}
	}
	for _, event := range batch.Events {
		if event.Namespace == "" || s.lease.Scope.Contains(event.Namespace) { // without one it is that of the stream
			response.Events = append(response.Events, encodeLogEvent(event))
		}
	}
	for _, line := range batch.Lines {
		if s.lease.Scope.Contains(line.Namespace) {
			response.Lines = append(response.Lines, encodeLogLine(line))
		}
	}
	for _, position := range batch.Positions {
		if s.lease.Scope.Contains(position.Namespace) {
			response.Positions = append(response.Positions, encodeLogPosition(position))
		}
	}
	return response
}

// encodeLogLine returns a line as a message. Ordinals begin at 1, and sequences at 0.
func encodeLogLine(line loglines.SentLine) *kubeconnectv1.LogLine {
	encoded := &kubeconnectv1.LogLine{
		Namespace: line.Namespace, Pod: line.Pod, Container: line.Container,
		Sequence: int32(line.Ordinal - 1), Text: line.Text, Cut: line.Cut, Context: line.Context, Gap: line.Gap,
	}
	if !line.Time.IsZero() {
		encoded.Time = timestamppb.New(line.Time)
	}
	return encoded
}

func encodeLogPosition(position loglines.LogPosition) *kubeconnectv1.LogPosition {
	return &kubeconnectv1.LogPosition{
		Namespace: position.Namespace, Pod: position.Pod, Container: position.Container,
		Time: timestamppb.New(position.Time), Sequence: int32(position.Ordinal - 1),
	}
}

// logEventTypes are the types of events.
var logEventTypes = map[loglines.EventType]kubeconnectv1.LogEventType{
	loglines.Began:         kubeconnectv1.LogEventType_LOG_EVENT_TYPE_BEGAN,
	loglines.Ended:         kubeconnectv1.LogEventType_LOG_EVENT_TYPE_ENDED,
	loglines.WaitingForLog: kubeconnectv1.LogEventType_LOG_EVENT_TYPE_WAITING,
	loglines.Failed:        kubeconnectv1.LogEventType_LOG_EVENT_TYPE_FAILED,
	loglines.LinesLost:     kubeconnectv1.LogEventType_LOG_EVENT_TYPE_LINES_LOST,
	loglines.LimitReached:  kubeconnectv1.LogEventType_LOG_EVENT_TYPE_LIMIT_REACHED,
}

// encodeLogEvent returns an event as a message. The message of a container can be long, and is cut.
func encodeLogEvent(event loglines.Event) *kubeconnectv1.LogEvent {
	return &kubeconnectv1.LogEvent{
		Type: logEventTypes[event.Type], Namespace: event.Namespace, Pod: event.Pod, PodUid: event.UID, Container: event.Container,
		RestartCount: int32(event.Run), Reason: event.Reason, Message: callerrors.CutMessage(event.Message), ExitCode: event.ExitCode,
	}
}
