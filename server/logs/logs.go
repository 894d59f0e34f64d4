package logs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"connectrpc.com/connect"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/kubeconnect/kubeconnect/auth"
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/internal/fairqueue"
	"github.com/kubeconnect/kubeconnect/internal/ledger"
	"github.com/kubeconnect/kubeconnect/server/access"
	"github.com/kubeconnect/kubeconnect/server/edge/call"
	"github.com/kubeconnect/kubeconnect/server/edge/observe"
	"github.com/kubeconnect/kubeconnect/server/internal/apierror"
	"github.com/kubeconnect/kubeconnect/server/reads"
	"github.com/kubeconnect/kubeconnect/server/streams"
	"github.com/kubeconnect/kubeconnect/server/target"
	"github.com/kubeconnect/kubeconnect/server/writes/change"
)

// standstill is the time without new data after which an incomplete line of a log is sent.
const standstill = time.Second

// Pods implements kubeconnect.v1.PodService.
type Pods struct {
	hub     *informerhub.Hub
	targets *target.Resolver
	clients *auth.ClientFactory
	reads   *reads.Reads
	watches *streams.Watches
	leases  access.Leases
	unread  *fairqueue.Queue // logs whose clients do not read, by caller
	opened  *fairqueue.Queue // logs that streams of lines have open, by caller
}

// Config configures the handlers of logs. All fields are required.
type Config struct {
	Hub     *informerhub.Hub
	Targets *target.Resolver
	Clients *auth.ClientFactory // of requests for logs
	Reads   *reads.Reads
	Watches *streams.Watches
	Leases  access.Leases
	Metrics *observe.Metrics
}

// New returns the handlers of logs.
func New(config Config) *Pods {
	return &Pods{
		hub: config.Hub, targets: config.Targets, clients: config.Clients, reads: config.Reads, watches: config.Watches, leases: config.Leases,
		unread: config.Metrics.Queue("unread_logs", newUnreadLogs()),
		opened: config.Metrics.Queue("open_logs", newOpenLogs()),
	}
}

// GetLogs implements kubeconnect.v1.PodService. The log is opened as the caller, so the API server
// checks the caller's permission at that time.
func (p *Pods) GetLogs(ctx context.Context, request *kubeconnectv1.GetLogsRequest, stream *connect.ServerStream[kubeconnectv1.GetLogsResponse]) error {
	if err := target.CheckName(access.PodLogs, request.GetNamespace(), request.GetName()); err != nil {
		return err
	}
	options, err := logOptions(request)
	if err != nil {
		return err
	}
	charge, err := ledger.From(ctx).Charge(openLogBytes + maxPieceBytes)
	if err != nil {
		return err
	}
	defer charge.Release()
	lease := p.leases.GrantUnreviewed(ctx, access.ToGetLog(request.GetNamespace(), request.GetName()))
	log, err := p.open(ctx, request.GetNamespace(), request.GetName(), options)
	if err != nil {
		return err
	}
	defer log.close()
	if err := stream.Send(nil); err != nil { // the headers alone, because a log may be silent
		return err
	}
	sender := &logSender{stream: stream, log: log, leasedSender: leasedSender{lease: lease, unread: p.unread}}
	return sender.follow(ctx)
}

// logOptions returns the options of a request. The API server validates them.
func logOptions(request *kubeconnectv1.GetLogsRequest) (*corev1.PodLogOptions, error) {
	options := &corev1.PodLogOptions{
		Container:    request.GetContainer(),
		Follow:       request.GetFollow(),
		Previous:     request.GetPrevious(),
		SinceSeconds: request.SinceSeconds,
		Timestamps:   request.GetTimestamps(),
		TailLines:    request.TailLines,
		LimitBytes:   request.LimitBytes,
	}
	if since := request.GetSinceTime(); since != nil {
		if err := since.CheckValid(); err != nil {
			return nil, apierror.BadRequest("since_time: %v", err)
		}
		if since.GetNanos() != 0 {
			return nil, apierror.BadRequest("since_time %s: give whole seconds, because logs can only be cut at whole seconds", since.AsTime().Format(time.RFC3339Nano))
		}
		options.SinceTime = &metav1.Time{Time: since.AsTime()}
	}
	switch stream := request.GetStream(); stream {
	case kubeconnectv1.LogStream_LOG_STREAM_UNSPECIFIED:
	case kubeconnectv1.LogStream_LOG_STREAM_STDOUT:
		options.Stream = ptr.To(corev1.LogStreamStdout)
	case kubeconnectv1.LogStream_LOG_STREAM_STDERR:
		options.Stream = ptr.To(corev1.LogStreamStderr)
	default:
		return nil, apierror.BadRequest("unknown stream %d: give STDOUT or STDERR", stream)
	}
	return options, nil
}

// open opens a log as the caller. The caller must close the log.
func (p *Pods) open(ctx context.Context, namespace, name string, options *corev1.PodLogOptions) (*logReader, error) {
	reading, cancel := context.WithCancel(ctx)
	body, err := p.openBody(reading, namespace, name, options)
	if err != nil {
		cancel()
		return nil, err
	}
	return newLogReader(body, cancel), nil
}

// openBody opens a log as the caller. Reading the result ends with ctx.
func (p *Pods) openBody(ctx context.Context, namespace, name string, options *corev1.PodLogOptions) (io.ReadCloser, error) {
	pods := p.clients.For(call.IdentityFrom(ctx)).Typed.CoreV1().Pods(namespace)
	reading, outcome := change.WithOutcome(ctx)
	body, err := pods.GetLogs(name, options).Stream(reading)
	if err != nil {
		return nil, nodeUnreachable(outcome.Complete(apierror.Unavailable(ctx, err)), namespace, name)
	}
	return body, nil
}

// logSender sends one log. It is owned by the stream's handler.
type logSender struct {
	leasedSender
	stream *connect.ServerStream[kubeconnectv1.GetLogsResponse]
	log    *logReader
	idle   bool // no data has arrived since the last read
}

// follow sends the log's data until the log ends or the client disconnects.
func (s *logSender) follow(ctx context.Context) error {
	still := time.NewTimer(standstill)
	defer still.Stop()
	s.log.startRead()
	for {
		if ended, err := s.step(ctx, still); ended || err != nil {
			return err
		}
		if err := s.renew(ctx); err != nil {
			return err
		}
	}
}

// step waits for data, for the idle timer, or until the lease is due, and sends what is to be sent.
func (s *logSender) step(ctx context.Context, still *time.Timer) (ended bool, err error) {
	period, cancel := s.lease.Period(ctx)
	defer cancel()
	select {
	case read := <-s.log.read:
		if ended, err := s.forward(ctx, read); ended || err != nil {
			return ended, err
		}
		s.log.startRead()
		still.Reset(standstill)
	case <-still.C:
		if err := s.forwardIdle(ctx); err != nil {
			return false, err
		}
		still.Reset(streams.BookmarkInterval)
	case <-s.lease.Changed:
	case <-period.Done():
		return false, context.Cause(ctx)
	}
	return false, nil
}

// forwardIdle sends an incomplete line when no data has arrived for a second, and then an empty
// message at each BookmarkInterval without data.
func (s *logSender) forwardIdle(ctx context.Context) error {
	piece := s.log.takeAll()
	if len(piece) > 0 || s.idle {
		if err := s.sendMessage(ctx, piece); err != nil {
			return err
		}
	}
	s.idle = true
	return nil
}

// forward sends the lines that a read has completed. At the end of the log it sends everything that
// is left.
func (s *logSender) forward(ctx context.Context, read logRead) (ended bool, err error) {
	s.log.add(read.count)
	s.idle = false
	if read.err == nil {
		return false, s.send(ctx, s.log.takeLines())
	}
	if err := s.send(ctx, s.log.takeAll()); err != nil {
		return true, err
	}
	return true, whyEnded(ctx, read.err)
}

// send sends a piece of the log unless it is empty.
func (s *logSender) send(ctx context.Context, piece []byte) error {
	if len(piece) == 0 {
		return nil
	}
	return s.sendMessage(ctx, piece)
}

// sendMessage sends a piece of the log under a valid lease. It also sends an empty piece, because
// proxies may close a silent stream.
func (s *logSender) sendMessage(ctx context.Context, piece []byte) error {
	return s.sendPermitted(ctx, 1, func() error { return s.stream.Send(&kubeconnectv1.GetLogsResponse{Data: piece}) })
}

// whyEnded returns nil if a log has ended regularly, and otherwise the error for a log that was cut
// off.
func whyEnded(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("reading the log: %w", context.Cause(ctx))
	case errors.Is(err, io.EOF):
		return nil
	}
	slog.Warn("a log was cut off on its way from the API server", "error", err)
	return apierrors.NewServiceUnavailable("the log was cut off on its way from the API server: open it again with since_time of its last line")
}

// nodeUnreachable returns the error of a log whose node the API server cannot reach. The API server
// reports it as an internal error, and its message contains the node's address.
func nodeUnreachable(err error, namespace, pod string) error {
	var failed *apierrors.StatusError
	if !errors.As(err, &failed) || failed.ErrStatus.Code != http.StatusInternalServerError ||
		!strings.Contains(failed.ErrStatus.Message, "/containerLogs/") {
		return err
	}
	slog.Warn("the API server cannot reach the node of a log", "namespace", namespace, "pod", pod, "error", err)
	return apierrors.NewServiceUnavailable("the log cannot be read now: the API server cannot reach the kubelet of the pod's node; " +
		"check the state of the node, and retry")
}
