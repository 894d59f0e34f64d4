package edge

import (
	"context"
	"slices"
	"sync"
	"time"

	"connectrpc.com/connect"
	"github.com/prometheus/client_golang/prometheus"
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
func (m *Metrics) ended(spec connect.Spec, c *call, err error) {
	if connect.IsNotModifiedError(err) {
		err = nil
	}
	c.record.err, c.hasEnded = err, true
	if !c.record.hasParts { // otherwise each part has been counted
		m.countResource(spec.Procedure, c.record.servedResource())
	}
	code := "ok"
	if err != nil {
		code = connect.CodeOf(err).String()
	}
	m.calls.WithLabelValues(spec.Procedure, code).Inc()
}

// countResource counts a call, or a part of one, about a resource.
func (m *Metrics) countResource(procedure, resource string) {
	m.resources.WithLabelValues(procedure, resource).Inc()
}

// limited counts a call that has failed because of a limit, if it has.
func (m *Metrics) limited(err error) {
	if over := limitOf(err); over != nil {
		m.limits.WithLabelValues(string(over.Limit)).Inc()
	}
}

// sentBytes returns the counter of the bytes that are sent to calls of a procedure about a resource.
func (m *Metrics) sentBytes(procedure, resource string) prometheus.Counter {
	return m.bytes.WithLabelValues(procedure, resource)
}

// refused counts a call that a gate has rejected, because interceptors do not see it. The procedure of a
// stream has a number of open streams from then on: the rules for alerts know streams by that.
func (m *Metrics) refused(spec connect.Spec, c *call, err error) {
	switch {
	case isStream(spec):
		m.streams.WithLabelValues(spec.Procedure)
	case c.record.caller != "": // a client that sends invalid tokens slows down only its own calls
		m.durations.WithLabelValues(spec.Procedure).Observe(time.Since(c.record.began).Seconds())
	}
	c.record.isRefused = true
	m.ended(spec, c, err)
}

// countCalls counts calls, by the codes that mapErrors gives them: it is the outermost interceptor.
// Only methods of the API have interceptors, so no invalid path is counted.
type countCalls struct {
	serverOnly
	metrics *Metrics
}

// WrapUnary implements connect.Interceptor.
func (c countCalls) WrapUnary(next connect.UnaryFunc) connect.UnaryFunc {
	return func(ctx context.Context, request connect.AnyRequest) (connect.AnyResponse, error) {
		call := callFrom(ctx)
		call.isHandled = invalidRequestOf(request) == nil // otherwise mapErrors rejects it
		call.record.describe(request.Any())
		response, err := next(ctx, request)
		c.metrics.durations.WithLabelValues(request.Spec().Procedure).Observe(time.Since(call.record.began).Seconds())
		call.sendWithin(ResponsePatience)
		c.metrics.ended(request.Spec(), call, err)
		return response, err
	}
}

// WrapStreamingHandler implements connect.Interceptor.
func (c countCalls) WrapStreamingHandler(next connect.StreamingHandlerFunc) connect.StreamingHandlerFunc {
	return func(ctx context.Context, conn connect.StreamingHandlerConn) error {
		call := callFrom(ctx)
		call.isHandled = true
		open := c.metrics.streams.WithLabelValues(conn.Spec().Procedure)
		open.Inc()
		defer open.Dec()
		err := next(ctx, describingConn{conn, &call.record})
		c.metrics.ended(conn.Spec(), call, err)
		return err
	}
}
