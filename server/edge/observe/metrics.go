package observe

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"connectrpc.com/connect/v2"
	"connectrpc.com/connect/v2/connecthttp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/kubeconnect/kubeconnect/internal/fairqueue"
	"github.com/kubeconnect/kubeconnect/server/edge/call"
	"github.com/kubeconnect/kubeconnect/server/edge/callerrors"
)

// Metrics counts calls, streams, and what is sent. It does not name an object, a namespace or a caller.
// Its labels have as many values as the API has methods and codes, and the cluster resources: a name in
// a request that the cluster does not serve is no label. It implements
// prometheus.Collector. Its methods are safe for concurrent use.
type Metrics struct {
	calls     *prometheus.CounterVec
	durations *prometheus.HistogramVec
	streams   *prometheus.GaugeVec
	resources *prometheus.CounterVec
	limits    *prometheus.CounterVec
	bytes     *prometheus.CounterVec
	events    *prometheus.CounterVec
	delays    prometheus.Histogram
	followers prometheus.GaugeFunc
	followed  prometheus.GaugeFunc
	queues    queues

	mu      sync.Mutex                      // guards follows; no other lock is taken while it is held
	follows []func() (followers, bytes int) // see AddFollowers
}

// NewMetrics returns metrics that have counted nothing.
func NewMetrics() *Metrics {
	m := &Metrics{
		calls: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "kubeconnect_calls_total",
			Help: "Completed calls and streams, by procedure and Connect code. A stream that its client closes counts as canceled, which is normal.",
		}, []string{"procedure", "code"}),
		durations: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "kubeconnect_call_duration_seconds",
			Help: "Duration of calls in seconds, without streams, and without calls whose caller was not authenticated. " +
				"Reads are served from the cache. The first read of a resource waits for its snapshot, a write for the API server.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
		}, []string{"procedure"}),
		streams: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "kubeconnect_streams",
			Help: "Open streams, by procedure.",
		}, []string{"procedure"}),
		resources: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "kubeconnect_resource_calls_total",
			Help: "Completed calls and streams, by procedure and resource, which is empty for calls about none, and for those " +
				"that end before their resource is found. A WatchMany that has started counts once for each of its watches and counts.",
		}, []string{"procedure", "resource"}),
		limits: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "kubeconnect_limited_calls_total",
			Help: "Calls that were rejected because the caller or the service was over a limit, by limit. They have the code " +
				"resource_exhausted, with a time after which to retry.",
		}, []string{"limit"}),
		bytes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "kubeconnect_sent_bytes_total",
			Help: "Bytes of responses, without headers and TLS, by procedure and resource, which is empty as in " +
				"kubeconnect_resource_calls_total. Those of open streams are included.",
		}, []string{"procedure", "resource"}),
		delays: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "kubeconnect_watch_delay_seconds",
			Help: "Time until a message of a watch was passed to the connection, from when the service has received the oldest change " +
				"in it, or from when the stream has begun if that was later. Snapshots and latest states are not included.",
			Buckets: prometheus.ExponentialBuckets(0.001, 4, 9), // to 65 s
		}),
		events: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "kubeconnect_sent_events_total",
			Help: "Events sent on watches of the resource, including those of snapshots and bookmarks.",
		}, []string{"resource"}),
	}
	m.followers = prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "kubeconnect_followers",
		Help: "Different questions that live pages and live counts ask. Streams with the same question share one " +
			"follower, which ends ten seconds after the last of them.",
	}, func() float64 { followers, _ := m.followUse(); return float64(followers) })
	m.followed = prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "kubeconnect_follower_bytes",
		Help: "Approximate memory of the sorted objects and counts of live pages and live counts in bytes, without the objects. " +
			"It is a part of what is held of the queue kept_bytes.",
	}, func() float64 { _, bytes := m.followUse(); return float64(bytes) })
	return m
}

// AddFollowers adds followers of live pages or live counts. use returns their number, and their memory in
// bytes.
func (m *Metrics) AddFollowers(use func() (followers, bytes int)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.follows = append(m.follows, use)
}

func (m *Metrics) followUse() (followers, bytes int) {
	m.mu.Lock()
	follows := slices.Clone(m.follows)
	m.mu.Unlock()
	for _, use := range follows {
		more, size := use()
		followers, bytes = followers+more, bytes+size
	}
	return followers, bytes
}

// Queue adds a queue to the metrics, under a name that has its unit, and returns it.
func (m *Metrics) Queue(name string, queue *fairqueue.Queue) *fairqueue.Queue {
	m.AddLimited(name, queue)
	return queue
}

// AddLimited adds a bounded resource to the metrics, under a name that has its unit.
func (m *Metrics) AddLimited(name string, resource Limited) { m.queues.add(name, resource) }

// QueueUse returns the use of each queue, by name.
func (m *Metrics) QueueUse() map[string]fairqueue.Use { return m.queues.use() }

// SentMessages counts the messages of one watch. The zero value counts nothing.
type SentMessages struct {
	events prometheus.Counter
	delays prometheus.Observer
	began  time.Time // of the watch
}

// SentMessages returns the count of messages of a watch of a resource that begins now. A nil Metrics
// counts nothing.
func (m *Metrics) SentMessages(resource string) SentMessages {
	if m == nil {
		return SentMessages{}
	}
	return SentMessages{m.events.WithLabelValues(resource), m.delays, time.Now()}
}

// Add counts a message with a number of events, of which the oldest change was received at since; zero
// if they are no changes. The time before the watch began is no delay: while its client was away, there
// was nothing to send a change to.
func (s SentMessages) Add(events int, since time.Time) {
	if s.events == nil {
		return
	}
	s.events.Add(float64(events))
	if !since.IsZero() {
		s.delays.Observe(min(time.Since(since), time.Since(s.began)).Seconds())
	}
}

func (m *Metrics) all() []prometheus.Collector {
	return []prometheus.Collector{m.calls, m.durations, m.streams, m.resources, m.bytes, m.limits, m.events, m.delays, &m.queues, m.followers, m.followed}
}

// Describe implements prometheus.Collector.
func (m *Metrics) Describe(descs chan<- *prometheus.Desc) {
	for _, collector := range m.all() {
		collector.Describe(descs)
	}
}

// Collect implements prometheus.Collector.
func (m *Metrics) Collect(metrics chan<- prometheus.Metric) {
	for _, collector := range m.all() {
		collector.Collect(metrics)
	}
}

// ended counts a call, and records how it has ended.
func (m *Metrics) ended(c *call.Call, err error) {
	if connecthttp.IsNotModifiedError(err) {
		err = nil
	}
	c.NoteOutcome(err)
	code := "ok"
	if err != nil {
		code = connect.CodeOf(err).String()
	}
	m.calls.WithLabelValues(c.Record.Procedure, code).Inc()
}

// Limited counts a call that has failed because of a limit, if it has.
func (m *Metrics) Limited(err error) {
	if over := callerrors.LimitOf(err); over != nil {
		m.limits.WithLabelValues(string(over.Limit)).Inc()
	}
}

// Begin has a call of a procedure counted.
func (m *Metrics) Begin(c *call.Call, procedure string) {
	c.Record.Begin(procedure, call.Counters{Calls: m.resources, SentBytes: m.bytes})
}

// Refused counts a call that a gate has rejected, which CountCalls does not see. The procedure of a
// stream has a number of open streams from then on: the rules for alerts know streams by that.
func (m *Metrics) Refused(spec connect.Spec, c *call.Call, err error) {
	switch {
	case call.IsStream(spec):
		m.streams.WithLabelValues(spec.Procedure)
	case c.Record.Caller != "": // a client that sends invalid tokens slows down only its own calls
		m.durations.WithLabelValues(spec.Procedure).Observe(time.Since(c.Record.Began).Seconds())
	}
	c.Record.IsRefused = true
	m.ended(c, err)
}

// CountCalls is the interceptor that counts the calls that a gate has admitted, by the codes that mapErrors gives
// them: it is around all others but the gates. Only methods of the API have interceptors, so no invalid path is counted.
func (m *Metrics) CountCalls(next connect.ServerFunc) connect.ServerFunc {
	return func(ctx context.Context, spec connect.Spec, stream connect.ServerStream) error {
		counted := &countedStream{ServerStream: stream, metrics: m, call: call.From(ctx), isUnary: !call.IsStream(spec)}
		if !counted.isUnary {
			open := m.streams.WithLabelValues(spec.Procedure)
			open.Inc()
			defer open.Dec()
		}
		err := next(ctx, spec, counted)
		counted.end(err)
		return err
	}
}

// countedStream is a call that is counted. It is owned by the goroutine of the call's handler, except that the parts
// of a stream send concurrently.
type countedStream struct {
	connect.ServerStream
	metrics   *Metrics
	call      *call.Call
	isUnary   bool
	isHandled bool // the request was received
}

// Receive implements connect.ServerStream.
func (s *countedStream) Receive(message any) error {
	err := s.ServerStream.Receive(message)
	if err == nil {
		s.isHandled = true
		s.call.Record.Describe(message)
	}
	return err
}

// Send implements connect.ServerStream. A unary call has ended when its response is sent: how long the client
// takes to read the response is not the duration of the call, and the response of a change that succeeded can be lost.
func (s *countedStream) Send(message any) error {
	if s.isUnary {
		s.end(nil)
	}
	return s.ServerStream.Send(message)
}

// end counts the call, once.
func (s *countedStream) end(err error) {
	if s.call.HasOutcome {
		return
	}
	if s.isUnary {
		s.metrics.durations.WithLabelValues(s.call.Record.Procedure).Observe(time.Since(s.call.Record.Began).Seconds())
		s.call.SendWithin(call.ResponseTimeout)
	}
	s.call.Record.IsRefused = !s.isHandled && err != nil
	s.metrics.ended(s.call, err)
}

// Limited is a bounded resource that calls share.
type Limited interface {
	Use() fairqueue.Use
}

// queues are the bounded resources that calls share. Its methods are safe for concurrent use. It
// implements prometheus.Collector.
type queues struct {
	mu     sync.Mutex // guards byName
	byName map[string]Limited
}

func (q *queues) add(name string, resource Limited) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.byName == nil {
		q.byName = map[string]Limited{}
	}
	q.byName[name] = resource
}

func (q *queues) use() map[string]fairqueue.Use {
	q.mu.Lock()
	byName := maps.Clone(q.byName)
	q.mu.Unlock()
	use := make(map[string]fairqueue.Use, len(byName))
	for name, resource := range byName {
		use[name] = resource.Use()
	}
	return use
}

var queueMeasures = []measure[fairqueue.Use]{
	newMeasure("kubeconnect_queue_held", "queue",
		"What calls hold of a bounded resource, in the unit at the end of its name.",
		prometheus.GaugeValue, func(u fairqueue.Use) float64 { return float64(u.Held) }),
	newMeasure("kubeconnect_queue_capacity", "queue",
		"The capacity of a bounded resource. A call that does not fit waits, or is rejected if it cannot wait, or if a caller has too many waiting.",
		prometheus.GaugeValue, func(u fairqueue.Use) float64 { return float64(u.Capacity) }),
	newMeasure("kubeconnect_queue_waiting", "queue",
		"Calls and streams that wait for a bounded resource.",
		prometheus.GaugeValue, func(u fairqueue.Use) float64 { return float64(u.Waiting) }),
}

// Describe implements prometheus.Collector.
func (q *queues) Describe(descs chan<- *prometheus.Desc) {
	for _, measure := range queueMeasures {
		descs <- measure.desc
	}
}

// Collect implements prometheus.Collector.
func (q *queues) Collect(metrics chan<- prometheus.Metric) {
	for name, use := range q.use() {
		for _, measure := range queueMeasures {
			metrics <- measure.metric(use, name)
		}
	}
}

// NoteUnreadable records that connect has answered a request for a procedure itself, before any interceptor: it could not
// read the request as a call.
func (m *Metrics) NoteUnreadable(c *call.Call) {
	if c.Record.Procedure == "" || c.HasOutcome {
		return
	}
	code := connect.CodeInvalidArgument
	switch c.Record.Status {
	case http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusUnsupportedMediaType, http.StatusNotImplemented:
		code = connect.CodeUnimplemented
	}
	c.Record.IsRefused = true
	m.ended(c, connect.NewError(code, "the request is no call of a protocol that is served: its headers or its query are invalid"))
}

// NotePanic records that the handler of a call has panicked, if it has not ended in another way. Otherwise the log, the
// metrics and the traces would have the call as successful. Requests that are no calls have no end.
func (m *Metrics) NotePanic(c *call.Call) {
	if c.Record.Procedure != "" && !c.HasOutcome {
		m.ended(c, connect.NewError(connect.CodeInternal, "the handler has panicked"))
	}
}
