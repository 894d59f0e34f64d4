package call

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"connectrpc.com/connect/v2"
	"github.com/prometheus/client_golang/prometheus"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1/kubeconnectv1connect"
	"github.com/kubeconnect/kubeconnect/internal/fairqueue"
	"github.com/kubeconnect/kubeconnect/server/edge/bounds"
	"github.com/kubeconnect/kubeconnect/server/edge/callerrors"
)

// Record is what is logged about a call. The goroutine of the call's handler owns the fields until
// the last one of the first group, and writes them before other goroutines work on the call.
type Record struct {
	ID        string // see RequestIDHeader
	Caller    string // empty until the caller is authenticated
	Procedure string // empty if the request is not a call, or its procedure is not known yet
	Err       error  // nil if the call succeeded
	IsRefused bool   // before its request was read
	Status    int    // of the response over HTTP; 0 before it is sent, or if it is 200 by default
	Began     time.Time
	counters  Counters
	sent      prometheus.Counter // of bytes, for the resource sentFor
	sentFor   *string
	sending   *part // the part that sends; nil if the call has none. Who sends owns it
	hasParts  bool
	trail     *Trail // nil without an audit log

	AddUse func(Traffic)       // adds to what the caller has used; nil if the call was not admitted
	pace   func(time.Duration) // adds to what the streams of the caller use for changes; nil for no stream
	begun  atomic.Bool         // the stream has sent its first complete state, and now sends changes

	subject  atomic.Pointer[subject] // nil until the request is read
	resolved atomic.Pointer[string]  // the resource as the cluster serves it; see NoteResource
	objects  atomic.Int64            // in the responses; see NoteObjects
	bytes    atomic.Int64            // of the responses, without headers
	IsSent   atomic.Bool             // a change was sent to the API server; see NoteSent
	writing  atomic.Int64            // when the write that is in progress began, in Unix nanoseconds; 0 without one
}

// subject is what a request is about. It is immutable.
type subject struct {
	resource    string // as the request names it
	namespace   string
	name        string
	subresource string
	dryRun      bool
}

// subjectOf returns what the call is about, as far as it is known.
func (r *Record) subjectOf() subject {
	if about := r.subject.Load(); about != nil {
		return *about
	}
	return subject{}
}

// noted returns a name from a request, shortened, without the memory of the rest.
func noted(name string) string { return strings.Clone(callerrors.CutName(name)) }

// Counters count calls and the bytes of their responses, each by procedure and resource. The resource is
// empty for a call about none.
type Counters struct{ Calls, SentBytes *prometheus.CounterVec }

// Begin records which procedure is called.
func (r *Record) Begin(procedure string, counters Counters) {
	r.Procedure, r.counters = procedure, counters
}

// count counts the call by its resource. A call with parts is not counted, because each part is.
func (r *Record) count() {
	if !r.hasParts {
		r.countResource(r.servedResource())
	}
}

// countResource counts the call, or a part of it, about a resource.
func (r *Record) countResource(resource string) {
	if r.counters.Calls != nil {
		r.counters.Calls.WithLabelValues(r.Procedure, resource).Inc()
	}
}

// sentBytes returns the counter of the bytes that are sent, which is not looked up for each message.
func (r *Record) sentBytes() prometheus.Counter {
	resolved := r.resolved.Load()
	if r.sending != nil {
		resolved = r.sending.resolved.Load()
	}
	if r.sent == nil || r.sentFor != resolved {
		r.sent, r.sentFor = r.counters.SentBytes.WithLabelValues(r.Procedure, nameOf(resolved)), resolved
	}
	return r.sent
}

// Subject is what a request is about that has no message of its own.
type Subject struct{ Resource, Namespace, Name, Subresource string }

// Describe records what a request is about: a message, or a Subject.
func (r *Record) Describe(message any) {
	about := r.subjectOf()
	if of, ok := message.(Subject); ok {
		about = subject{resource: noted(of.Resource), namespace: noted(of.Namespace), name: noted(of.Name), subresource: noted(of.Subresource)}
	}
	if of, ok := message.(interface{ GetResource() string }); ok {
		about.resource = noted(of.GetResource())
	}
	if of, ok := message.(interface{ GetNamespace() string }); ok {
		about.namespace = noted(of.GetNamespace())
	}
	if of, ok := message.(interface{ GetName() string }); ok {
		about.name = noted(of.GetName())
	}
	if of, ok := message.(interface{ GetSubresource() string }); ok {
		about.subresource = noted(of.GetSubresource())
	}
	if of, ok := message.(interface{ GetDryRun() bool }); ok {
		about.dryRun = of.GetDryRun()
	}
	if many, ok := message.(*kubeconnectv1.WatchManyRequest); ok {
		about.resource = resourcesOf(many)
	}
	r.subject.Store(&about)
}

// maxNotedResources is the maximum number of resources of one call in the log.
const maxNotedResources = 3

// resourcesOf returns the first resources of a WatchMany.
func resourcesOf(request *kubeconnectv1.WatchManyRequest) string {
	var names []string
	for _, watch := range request.GetWatches() {
		names = append(names, watch.GetResource())
	}
	for _, counts := range request.GetCounts() {
		names = append(names, counts.GetResource())
	}
	if len(names) > maxNotedResources {
		names = append(names[:maxNotedResources], "…")
	}
	return noted(strings.Join(names, ","))
}

// recordOf returns the record of a call; one that is not logged outside of a call.
func recordOf(ctx context.Context) *Record {
	if c := From(ctx); c != nil {
		return &c.Record
	}
	return &Record{}
}

// NoteResource records the resource that a call, or a part of it, is about, as the cluster serves it, if
// the request names it so. It can be called concurrently.
func NoteResource(ctx context.Context, name, resource string) {
	if part, ok := ctx.Value(partKey{}).(*part); ok && part.named == name {
		part.resolved.Store(&resource)
	}
	if r := recordOf(ctx); r.subjectOf().resource == name {
		r.resolved.Store(&resource)
	}
}

// NoteObject records the object that a change is about, as far as its request does not name it outside
// of the manifest, and the API server has chosen its name. The goroutine of the call's handler calls it.
func NoteObject(ctx context.Context, namespace, name string) {
	r := recordOf(ctx)
	about := r.subjectOf()
	about.namespace, about.name = cmp.Or(about.namespace, noted(namespace)), cmp.Or(about.name, noted(name))
	r.subject.Store(&about)
}

// NoteSent records that a change is sent to the API server.
func NoteSent(ctx context.Context) { recordOf(ctx).IsSent.Store(true) }

// servedResource returns the resource as the cluster serves it; empty if the call is about none, about
// several, or about one that the cluster does not serve.
func (r *Record) servedResource() string { return nameOf(r.resolved.Load()) }

// about returns the resource that the call is about, as precisely as it is known.
func (r *Record) about() string {
	return cmp.Or(r.servedResource(), r.subjectOf().resource)
}

// NoteObjects adds to the number of objects in the responses of a call. It can be called concurrently.
func NoteObjects(ctx context.Context, objects int) {
	r := recordOf(ctx)
	r.objects.Add(int64(objects))
	r.Use(Traffic{Objects: float64(objects)})
	trailOf(ctx).add(objects)
}

// Use adds what the call has used to the usage of its caller.
func (r *Record) Use(load Traffic) {
	if r.AddUse != nil {
		r.AddUse(load)
	}
}

// Paces makes what the stream uses for changes count for the pace of its caller.
func (r *Record) Paces(pace *fairqueue.Pace, caller string) {
	r.pace = func(used time.Duration) { pace.Use(caller, used) }
}

// usedForChanges adds processor time to the pace of the caller's streams, if the stream sends changes.
func (r *Record) usedForChanges(used time.Duration) {
	if r.pace != nil && r.begun.Load() {
		r.pace(used)
	}
}

// UsedProcessor adds the time for which work of the call held a processor slot. It can be called
// concurrently.
func (r *Record) UsedProcessor(held time.Duration) {
	r.Use(Traffic{ProcessorSeconds: held.Seconds()})
	r.usedForChanges(held)
}

// beginWrite records that a write to the client is in progress, until endWrite.
func (r *Record) beginWrite() { r.writing.Store(time.Now().UnixNano()) }

// endWrite records that the write has ended, and adds to what the caller has used.
func (r *Record) endWrite(bytes int) {
	took := min(time.Since(time.Unix(0, r.writing.Swap(0))), maxWriteTime)
	r.Use(Traffic{Bytes: float64(bytes), ProcessorSeconds: took.Seconds()})
	r.usedForChanges(took)
}

// maxWriteTime is the time of a write above which it has waited for the client. More than that does not
// count as time of a processor.
const maxWriteTime = time.Millisecond

// addBytes adds to the bytes of the response, and of the part that sends.
func (r *Record) addBytes(bytes int64) {
	r.bytes.Add(bytes)
	if r.sending != nil && r.sending.trail != nil {
		r.sending.trail.bytes.Add(bytes)
	}
}

// Unread returns the time for which a write has waited for the client to read; 0 if none waits.
func (r *Record) Unread() time.Duration {
	began := r.writing.Load()
	if began == 0 {
		return 0
	}
	return time.Since(time.Unix(0, began))
}

// RequestID returns the ID of the request of a call; empty outside of a call.
func RequestID(ctx context.Context) string { return recordOf(ctx).ID }

// Writer returns the writer of the response, which records its status and counts its bytes.
func (c *Call) Writer(w http.ResponseWriter) http.ResponseWriter { return countingWriter{w, c} }

// countingWriter records the status of a response, and counts its bytes as they are sent: a stream can be
// open for an hour.
type countingWriter struct {
	http.ResponseWriter
	call *Call
}

// WriteHeader implements http.ResponseWriter.
func (w countingWriter) WriteHeader(status int) {
	w.call.begin(status)
	w.call.Record.Status = status
	w.ResponseWriter.WriteHeader(status)
}

// Write implements io.Writer.
func (w countingWriter) Write(p []byte) (int, error) {
	w.call.begin(http.StatusOK)
	w.call.Record.beginWrite()
	n, err := w.ResponseWriter.Write(p)
	w.call.Record.endWrite(n)
	w.call.Record.addBytes(int64(n))
	if w.call.Record.Procedure != "" {
		w.call.Record.sentBytes().Add(float64(n))
	}
	return n, err
}

// Flush implements http.Flusher.
func (w countingWriter) Flush() {
	w.call.Record.beginWrite()
	defer w.call.Record.endWrite(0)
	_ = http.NewResponseController(w.ResponseWriter).Flush()
}

// Unwrap returns the writer for [http.ResponseController].
func (w countingWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// part is one of the watches or counts of a WatchMany. Calls and bytes are counted for its resource.
type part struct {
	named    string                 // the resource, as the request names it
	resolved atomic.Pointer[string] // see NoteResource; nil before the resource is resolved
	trail    *Trail                 // nil without an audit log
}

type partKey struct{}

// BeginPart begins a part of a call that is about several resources: it is counted as a call about its
// resource, in place of the call. The context is the part's. The goroutine of the call's handler calls
// BeginPart; end can be called by any.
func BeginPart(ctx context.Context, resource string) (context.Context, func()) {
	r := recordOf(ctx)
	part := &part{named: resource, trail: r.trail.part(resource)}
	r.hasParts = true
	end := func() { r.countResource(nameOf(part.resolved.Load())) }
	return context.WithValue(ctx, partKey{}, part), end
}

// SendsPart records that the next bytes of the response are those of the part of the context. One part
// sends at a time.
func SendsPart(ctx context.Context) {
	if part, ok := ctx.Value(partKey{}).(*part); ok {
		recordOf(ctx).sending = part
	}
}

// nameOf returns a resource, or an empty string if it is not resolved.
func nameOf(resolved *string) string {
	if resolved == nil {
		return ""
	}
	return *resolved
}

// changes are the procedures that change the cluster. Each of their calls that was sent to the API server
// is logged, and each that succeeds; the others are failed calls like those of other procedures.
var changes = map[string]bool{
	kubeconnectv1connect.ResourceServiceCreateProcedure:           true,
	kubeconnectv1connect.ResourceServiceUpdateProcedure:           true,
	kubeconnectv1connect.ResourceServicePatchProcedure:            true,
	kubeconnectv1connect.ResourceServiceDeleteProcedure:           true,
	kubeconnectv1connect.ResourceServiceDeleteCollectionProcedure: true,
}

// IsChange reports whether the call changes the cluster.
func (r *Record) IsChange() bool {
	return changes[r.Procedure] || bounds.IsKubernetes(r.Procedure) && slices.Contains(kubernetesChanges, verbOf(r.Procedure))
}

// kubernetesChanges are the verbs of Kubernetes' own API that change the cluster.
var kubernetesChanges = []string{"create", "update", "patch", "delete", "deletecollection"}

// shortName returns a procedure without its package.
func shortName(procedure string) string {
	return strings.TrimPrefix(procedure[strings.LastIndexByte(procedure, '.')+1:], "/")
}

// Attributes returns what is logged about a call. Nothing of it is from an object or a credential.
func (c *Call) Attributes() []slog.Attr {
	r := &c.Record
	source, _, _ := net.SplitHostPort(c.Request.RemoteAddr)
	attributes := []slog.Attr{
		slog.String("procedure", shortName(r.Procedure)),
		slog.String("code", codeName(r.Err)),
		slog.Float64("seconds", time.Since(r.Began).Round(time.Microsecond).Seconds()),
		slog.Int64("bytes", r.bytes.Load()),
		slog.String("source", source),
		slog.String("request_id", r.ID),
	}
	if objects := r.objects.Load(); objects > 0 {
		attributes = append(attributes, slog.Int64("objects", objects))
	}
	about := r.subjectOf()
	if about.subresource != "" {
		attributes = append(attributes, slog.String("subresource", about.subresource))
	}
	if about.dryRun {
		attributes = append(attributes, slog.Bool("dry_run", true))
	}
	for _, text := range []struct{ key, value string }{
		{"trace_id", c.span.traceID()}, {"caller", r.Caller}, {"resource", r.about()}, {"namespace", about.namespace}, {"name", about.name},
		{"reason", callerrors.ReasonOf(r.Err)}, {"error", errorText(c)},
	} {
		if text.value != "" {
			attributes = append(attributes, slog.String(text.key, text.value))
		}
	}
	return attributes
}

func codeName(err error) string {
	if err == nil {
		return "ok"
	}
	return connect.CodeOf(err).String()
}

// maxLoggedError is the maximum length of an error in the log.
const maxLoggedError = 256

// errorText returns the message of an error. That of a change is omitted, unless its request was not read:
// the API server quotes an invalid object, which may be a Secret, and so can admission policies and
// webhooks, with any reason.
func errorText(c *Call) string {
	var coded *connect.Error
	if !errors.As(c.Record.Err, &coded) || c.Record.IsChange() && !c.Record.IsRefused {
		return ""
	}
	return callerrors.Cut(coded.Message(), maxLoggedError)
}

// Traffic is what calls have used.
type Traffic struct {
	Calls   float64 `json:"calls"`   // that have ended, streams included
	Failed  float64 `json:"failed"`  // of these, with an error; not by canceling
	Limited float64 `json:"limited"` // of these, with the code resource_exhausted
	Objects float64 `json:"objects"` // sent, or events of watches
	Bytes   float64 `json:"bytes"`   // sent, without headers and TLS
	Seconds float64 `json:"seconds"` // from the beginning to the end of unary calls
	// ProcessorSeconds is approximately the time of processors: that for which work on objects held a
	// slot (matching, sorting, counting, encoding more than 32 KB), and that of writes, of which each
	// counts for at most a millisecond, because longer ones wait for the client. Work that several streams
	// share counts for the caller whose stream began it.
	ProcessorSeconds float64 `json:"processorSeconds"`
}

// Add adds other traffic, multiplied by a weight.
func (l *Traffic) Add(other Traffic, weight float64) {
	l.Calls += weight * other.Calls
	l.Failed += weight * other.Failed
	l.Limited += weight * other.Limited
	l.Objects += weight * other.Objects
	l.Bytes += weight * other.Bytes
	l.Seconds += weight * other.Seconds
	l.ProcessorSeconds += weight * other.ProcessorSeconds
}

// State is a call or a stream that has not ended.
type State struct {
	RequestID string  `json:"requestId"`
	Caller    string  `json:"caller"`
	Source    string  `json:"source"` // the address of the connection
	Procedure string  `json:"procedure"`
	Resource  string  `json:"resource,omitempty"`
	Namespace string  `json:"namespace,omitempty"`
	Name      string  `json:"name,omitempty"`
	Seconds   float64 `json:"seconds"` // since it began
	Objects   int64   `json:"objects"` // sent, or events of watches
	Bytes     int64   `json:"bytes"`   // sent
	// UnreadSeconds is the time for which the client has not read what is being sent to it.
	UnreadSeconds float64 `json:"unreadSeconds"`
	IsStream      bool    `json:"isStream"`
}

// Everyone is the name of all callers if they are not authenticated.
const Everyone = "everyone (--auth none)"

// User returns the name of the caller of a call that was admitted.
func (r *Record) User() string { return cmp.Or(r.Caller, Everyone) }

// State returns the state of an open call.
func (c *Call) State(isStream bool) State {
	r := &c.Record
	subject := r.subjectOf()
	source, _, _ := net.SplitHostPort(c.Request.RemoteAddr)
	return State{
		RequestID: r.ID, Caller: r.User(), Source: source, Procedure: shortName(r.Procedure),
		Resource: r.about(), Namespace: subject.namespace, Name: subject.name,
		Seconds: time.Since(r.Began).Seconds(), Objects: r.objects.Load(), Bytes: r.bytes.Load(),
		UnreadSeconds: r.Unread().Seconds(), IsStream: isStream,
	}
}
