package edge

import (
	"cmp"
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"connectrpc.com/connect"
	"github.com/prometheus/client_golang/prometheus"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
)

// callRecord is what is logged about a call. The goroutine of the call's handler owns the fields until
// the last one of the first group, and writes them before other goroutines work on the call.
type callRecord struct {
	id        string // see RequestIDHeader
	caller    string // empty until the caller is authenticated
	procedure string // empty if the request is not a call, or its procedure is not known yet
	err       error  // nil if the call succeeded
	isRefused bool   // before its request was read
	began     time.Time
	metrics   *Metrics
	sent      prometheus.Counter // of bytes, for the resource sentFor
	sentFor   *string

	usage *callerUsage // of the caller; nil if the call was not admitted

	subject  atomic.Pointer[subject] // nil until the request is read
	resolved atomic.Pointer[string]  // the resource as the cluster serves it; see NoteResource
	objects  atomic.Int64            // in the responses; see NoteObjects
	bytes    atomic.Int64            // of the responses, without headers
}

// subject is what a request is about. It is immutable.
type subject struct {
	resource  string // as the request names it
	namespace string
	name      string
	dryRun    bool
}

// subjectOf returns what the call is about, as far as it is known.
func (r *callRecord) subjectOf() subject {
	if about := r.subject.Load(); about != nil {
		return *about
	}
	return subject{}
}

// noted returns a name from a request, shortened, without the memory of the rest.
func noted(name string) string { return strings.Clone(CutName(name)) }

// begin records which procedure is called.
func (r *callRecord) begin(spec connect.Spec, metrics *Metrics) {
	r.procedure, r.metrics = spec.Procedure, metrics
}

// sentBytes returns the counter of the bytes that are sent, which is not looked up for each message.
func (r *callRecord) sentBytes() prometheus.Counter {
	if resolved := r.resolved.Load(); r.sent == nil || r.sentFor != resolved {
		r.sent, r.sentFor = r.metrics.sentBytes(r.procedure, r.servedResource()), resolved
	}
	return r.sent
}

// describe records what a request is about.
func (r *callRecord) describe(message any) {
	about := r.subjectOf()
	if of, ok := message.(interface{ GetResource() string }); ok {
		about.resource = noted(of.GetResource())
	}
	if of, ok := message.(interface{ GetNamespace() string }); ok {
		about.namespace = noted(of.GetNamespace())
	}
	if of, ok := message.(interface{ GetName() string }); ok {
		about.name = noted(of.GetName())
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
func recordOf(ctx context.Context) *callRecord {
	if c, ok := ctx.Value(callKey{}).(*call); ok {
		return &c.record
	}
	return &callRecord{}
}

// NoteResource records the resource that a call is about, as the cluster serves it, if the request names
// it so. It can be called concurrently.
func NoteResource(ctx context.Context, name, resource string) {
	if r := recordOf(ctx); r.subjectOf().resource == name {
		r.resolved.Store(&resource)
	}
}

// servedResource returns the resource as the cluster serves it; empty if the call is about none, about
// several, or about one that the cluster does not serve.
func (r *callRecord) servedResource() string {
	if resolved := r.resolved.Load(); resolved != nil {
		return *resolved
	}
	return ""
}

// about returns the resource that the call is about, as precisely as it is known.
func (r *callRecord) about() string {
	return cmp.Or(r.servedResource(), r.subjectOf().resource)
}

// NoteObjects adds to the number of objects in the responses of a call. It can be called concurrently.
func NoteObjects(ctx context.Context, objects int) {
	r := recordOf(ctx)
	r.objects.Add(int64(objects))
	r.use(Traffic{Objects: float64(objects)})
}

// use adds what the call has used to the usage of its caller.
func (r *callRecord) use(load Traffic) {
	if r.usage != nil {
		r.usage.add(load)
	}
}

// RequestID returns the ID of the request of a call; empty outside of a call.
func RequestID(ctx context.Context) string { return recordOf(ctx).id }

// countingWriter counts the bytes of a response, as they are sent: a stream can be open for an hour.
type countingWriter struct {
	http.ResponseWriter
	record *callRecord
}

// Write implements io.Writer.
func (w countingWriter) Write(p []byte) (int, error) {
	n, err := w.ResponseWriter.Write(p)
	w.record.bytes.Add(int64(n))
	if w.record.procedure != "" {
		w.record.sentBytes().Add(float64(n))
		w.record.use(Traffic{Bytes: float64(n)})
	}
	return n, err
}

// Flush implements http.Flusher.
func (w countingWriter) Flush() { _ = http.NewResponseController(w.ResponseWriter).Flush() }

// Unwrap returns the writer for [http.ResponseController].
func (w countingWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// describingConn records the request of a stream.
type describingConn struct {
	connect.StreamingHandlerConn
	record *callRecord
}

// Receive implements connect.StreamingHandlerConn.
func (c describingConn) Receive(message any) error {
	err := c.StreamingHandlerConn.Receive(message)
	if err == nil {
		c.record.describe(message)
	}
	return err
}
