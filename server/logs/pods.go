package logs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeconnect/kubeconnect/auth"
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1/kubeconnectv1connect"
	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/internal/fairqueue"
	"github.com/kubeconnect/kubeconnect/internal/ledger"
	"github.com/kubeconnect/kubeconnect/server/access"
	"github.com/kubeconnect/kubeconnect/server/edge/call"
	"github.com/kubeconnect/kubeconnect/server/edge/observe"
	"github.com/kubeconnect/kubeconnect/server/internal/apierror"
	"github.com/kubeconnect/kubeconnect/server/loglines"
	"github.com/kubeconnect/kubeconnect/server/reads"
	"github.com/kubeconnect/kubeconnect/server/streams"
	"github.com/kubeconnect/kubeconnect/server/target"
	"github.com/kubeconnect/kubeconnect/server/writes/change"
)

// Pods implements kubeconnect.v1.PodService. Its methods are safe for concurrent use.
type Pods struct {
	// Set once.
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
// checks the caller's permission at that time. The lease is granted before, so that no change of
// permissions between is missed. Nothing is sent before the log is open.
func (p *Pods) GetLogs(ctx context.Context, request *kubeconnectv1.GetLogsRequest, stream kubeconnectv1connect.PodServiceGetLogsServerStream) error {
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
	if err := stream.SendHeaders(); err != nil { // now, because the log may be silent
		return err
	}
	return newLogSender(stream, log, lease, p.unread).follow(ctx)
}

// open opens a log as the caller. The caller must close the log. Its context outlives open, and ends with close.
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

// GetLogLines implements kubeconnect.v1.PodService. Two goroutines read the pods and the logs; both
// have ended when GetLogLines returns.
func (p *Pods) GetLogLines(ctx context.Context, request *kubeconnectv1.GetLogLinesRequest, stream kubeconnectv1connect.PodServiceGetLogLinesServerStream) error {
	params, err := parseLogLines(request)
	if err != nil {
		return err
	}
	resource, err := p.targets.Resolve(ctx, params.Resource)
	if err != nil {
		return err
	}
	lease, err := p.leases.Grant(ctx, params.access(resource))
	if err != nil {
		return err
	}
	// After Grant, because compiling costs a caller's processor time, which only an authorized caller gets.
	if err := parseLong(ctx, request, &params.options); err != nil {
		return err
	}
	if err := stream.SendHeaders(); err != nil { // now, because the logs may be silent
		return err
	}
	params.options.Acquire = p.openLogsOf(ctx, request).acquire
	sender := newLineSender(stream, lease, p.unread)

	// One goroutine selects the pods. This goroutine runs the logs, and sends. Either ends the other: an error of the selection cancels
	// Run, and the end of Run cancels the selection.
	ctx, cancel := context.WithCancelCause(ctx)
	changes := make(chan loglines.Change)
	var selecting sync.WaitGroup
	selecting.Go(func() {
		if err := p.selectPods(ctx, params, changes); err != nil {
			cancel(err)
		}
	})
	err = loglines.Run(ctx, params.options, changes, p.openLines, sender.send)
	cancel(nil)
	selecting.Wait()
	var many *loglines.TooManyLogsError
	if errors.As(err, &many) {
		return apierror.BadRequest("%v", many)
	}
	return err
}

// openLogsOf counts the open logs of a stream.
func (p *Pods) openLogsOf(ctx context.Context, request *kubeconnectv1.GetLogLinesRequest) openLogs {
	counted := openLogs{
		queue: p.opened, caller: call.CallerKey(call.IdentityFrom(ctx)), account: ledger.From(ctx), weight: 1, bytes: openLogBytes,
	}
	if request.GetLineFilter().GetBeforeLines() > 0 {
		counted.weight, counted.bytes = contextLogs, openLogBytes+contextBytes
	}
	return counted
}

// selectPods sends the selected pods, and with follow their changes, until ctx is done.
func (p *Pods) selectPods(ctx context.Context, params logLinesParams, changes chan<- loglines.Change) error {
	to := &podChanges{changes: changes, known: map[podKey]string{}, params: params, hub: p.hub}
	switch {
	case params.options.Follow:
		return p.watchPods(ctx, params, to)
	case params.Name != "":
		return p.getPod(ctx, params, to)
	}
	return p.listPods(ctx, params, to)
}

// getPod sends one pod.
func (p *Pods) getPod(ctx context.Context, params logLinesParams, to *podChanges) error {
	got, err := target.OnResource(ctx, p.targets, params.Resource, func(resource informerhub.Resource) (reads.GetResult, error) {
		return p.reads.Objects.Read(ctx, resource, reads.GetParams{Namespace: params.Namespace, Name: params.Name, MinVersion: params.MinVersion})
	})
	if err != nil {
		return err
	}
	return to.sendAll(ctx, loglines.Notice{CoversAll: true}, []*informerhub.Object{got.Object})
}

// listPods sends all selected pods.
func (p *Pods) listPods(ctx context.Context, params logLinesParams, to *podChanges) error {
	list, err := p.reads.Snapshots.Take(ctx, reads.SnapshotParams{Selection: params.Selection})
	if err != nil {
		return err
	}
	namespaces, warnings := list.Coverage()
	return to.sendAll(ctx, loglines.Notice{Warnings: warnings, Namespaces: namespaces, CoversAll: len(namespaces) == 0}, list.Snapshot.Objects)
}

// watchPods follows the selected pods by a watch, which has a lease of its own: it decides which pods are selected, and the lease of the
// sender which lines are sent.
func (p *Pods) watchPods(ctx context.Context, params logLinesParams, to *podChanges) error {
	return p.watches.Follow(ctx, params.WatchParams, to)
}

// openLines opens a log for loglines.
func (p *Pods) openLines(ctx context.Context, read loglines.Read) (io.ReadCloser, error) {
	options := &corev1.PodLogOptions{Container: read.Container, Follow: read.Follow, Previous: read.Previous, Timestamps: true, TailLines: read.Tail}
	if !read.Since.IsZero() {
		options.SinceTime = &metav1.Time{Time: read.Since}
	}
	body, err := p.openBody(ctx, read.Namespace, read.Pod, options)
	if err != nil {
		return nil, openError(err)
	}
	return &lineBody{ReadCloser: body, ctx: ctx}, nil
}
