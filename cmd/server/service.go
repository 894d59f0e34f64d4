package main

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"net/http"
	"os"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/rest"

	"github.com/kubeconnect/kubeconnect/auth"
	web "github.com/kubeconnect/kubeconnect/clients/web"
	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/informerhub/discovery"
	"github.com/kubeconnect/kubeconnect/internal/version"
	"github.com/kubeconnect/kubeconnect/server"
	"github.com/kubeconnect/kubeconnect/server/edge"
	"github.com/kubeconnect/kubeconnect/server/edge/call"
	"github.com/kubeconnect/kubeconnect/server/edge/gate"
	"github.com/kubeconnect/kubeconnect/server/edge/health"
	"github.com/kubeconnect/kubeconnect/server/edge/memorylimit"
	"github.com/kubeconnect/kubeconnect/server/edge/observe"
	"github.com/kubeconnect/kubeconnect/server/edge/origins"
	"github.com/kubeconnect/kubeconnect/server/edge/streamlife"
	"github.com/kubeconnect/kubeconnect/server/writes/change"
)

// service has the parts of the service that the settings select. None of them runs before start.
type service struct {
	settings    settings
	shown       atomic.Pointer[values] // the settings, for administrators
	host        string                 // the API server's
	hub         *informerhub.Hub
	callers     callers
	permissions *ownPermissions
	readiness   *health.Readiness
	metrics     *observe.Metrics
	usage       *observe.Usage
	started     time.Time
	certificate *certificateExpiry
	connections *connectionCounts
	account     prometheus.Collector // of the service at the API server: when its certificate expires
	memory      *memorylimit.Monitor
	adjuster    *gate.Adjuster
	reload      *reloader // nil without a configuration file
	balance     *streamlife.Balance
	handler     http.Handler
	traces      *traces            // nil without traces
	endStreams  context.CancelFunc // makes open streams end, while other calls may finish
}

// newService builds the service of a cluster. The caller must start it.
func newService(ctx context.Context, config *rest.Config, s settings, reload *reloader) (*service, error) {
	traces, err := newTraces(ctx, s.tracing)
	if err != nil {
		return nil, err
	}
	hub, err := newHub(config, s, traces)
	if err != nil {
		traces.stop()
		return nil, err
	}
	clients, logClients, err := newClients(config, hub, traces)
	if err != nil {
		hub.Close()
		traces.stop()
		return nil, err
	}
	streams, readiness := streamlife.NewStreams(s.maxStreamAge), &health.Readiness{}
	stopping, endStreams := context.WithCancel(context.WithoutCancel(ctx)) // canceled in the shutdown order, not with ctx
	callers := newCallers(s, clients)
	built := &service{
		settings:    s,
		host:        shownHost(config),
		hub:         hub,
		callers:     callers,
		permissions: newOwnPermissions(s, clients),
		readiness:   readiness,
		metrics:     observe.NewMetrics(),
		usage:       observe.NewUsage(),
		started:     time.Now(),
		certificate: &certificateExpiry{},
		connections: newConnectionCounts(),
		account:     newClientCertificateExpiry(config),
		memory:      memorylimit.NewMonitor(),
		adjuster:    &gate.Adjuster{},
		reload:      reload,
		balance: streamlife.NewBalance(streamlife.Balance{
			Streams: streams, Readiness: readiness, Caches: hub, Reviews: callers.reviews, Ask: newPeers(s.peers).ask,
		}),
		traces:     traces,
		endStreams: endStreams,
	}
	built.handler = built.newHandler(server.Config{
		Edge:    edge.Config{OnShutdown: func(end func()) (remove func() bool) { return context.AfterFunc(stopping, end) }},
		Clients: clients, LogClients: logClients, Streams: streams,
	})
	return built, nil
}

// asCaller wraps the transport of requests that are made for a caller.
func asCaller(next http.RoundTripper) http.RoundTripper {
	return change.NoteOutcome(call.SendRequestID(next))
}

// privateShare is the memory of the objects of watches that are not cached.
var privateShare = memorylimit.Share{Divisor: 16, Min: 32 << 20, Max: 256 << 20, Unlimited: 256 << 20}

func newHub(config *rest.Config, s settings, traces *traces) (*informerhub.Hub, error) {
	return informerhub.New(config, informerhub.Options{
		KeepManagedFields: s.keepManagedFields,
		IdleTimeout:       s.cacheIdleTimeout,
		Preload:           s.preload,
		Uncached:          s.uncached,
		CacheAggregated:   s.cacheAggregated,
		PrivateBytes:      int(privateShare.Bytes()),
		Tracer:            traces.tracer(),
	})
}

// newClients returns the clients that act as callers, and those that read logs as callers.
func newClients(config *rest.Config, hub *informerhub.Hub, traces *traces) (clients, logClients *auth.ClientFactory, err error) {
	clients, err = auth.NewClientFactory(hub.PrivateConfig(), func(next http.RoundTripper) http.RoundTripper {
		return asCaller(traces.transport(next))
	})
	if err != nil {
		return nil, nil, err
	}
	logClients, err = newLogClients(config, traces)
	return clients, logClients, err
}

// newHandler returns the handler of all calls. It completes the configuration.
func (s *service) newHandler(config server.Config) http.Handler {
	config.Hub = s.hub
	config.Edge.Authenticator = s.callers.authenticator
	config.Authorizer = s.callers.authorizer
	config.Recheck = s.settings.recheckInterval
	config.TokenGeneration = s.settings.tokenGeneration
	config.Readiness = s.readiness
	config.Edge.Compression = s.settings.compress
	config.Lacking = s.permissions.lacking
	config.Reviews = s.callers.reviews.Err
	config.Edge.Limits = s.settings.limits
	config.Edge.Metrics = s.metrics
	config.Edge.Usage = s.usage
	config.Console = web.Handler(s.settings.oidc.console())
	config.Edge.CORSOrigins = s.settings.corsOrigins
	config.Edge.Replica = replicaName()
	config.Edge.LogSample = s.settings.logSample
	config.Edge.Adjuster = s.adjuster
	config.Edge.Tracer = s.traces.tracer()
	return s.callers.guard(origins.CORS(config.Edge.CORSOrigins, server.New(config)))
}

// start starts the parts of the service. The caller must call shutdown on the result, even if start
// has failed.
func (s *service) start(ctx context.Context) (*running, error) {
	started := &running{
		endReadiness: func() { s.readiness.Set(false) },
		endStreams:   s.endStreams,
		closeCaches:  s.hub.Close,
		stopTraces:   s.traces.stop,
	}
	admin, err := newAdmin(s.settings.adminTokenFile, s.state)
	if err != nil {
		return started, err
	}
	started.stopMetrics, err = serveMetrics(s.settings.metricsListen, s.balance, admin, s.collectors()...)
	if err != nil {
		return started, err
	}
	listener, err := listen(s.settings, s.callers.configureTLS, s.connections)
	if err != nil {
		return started, err
	}
	s.certificate.served.Store(listener.pair)
	slog.Info("serving", "address", listener.url(), "cluster", s.host, "auth", s.settings.auth, "version", version.Get().Version)
	ctx = context.WithoutCancel(ctx) // every part has its place in the shutdown order
	started.stopBackground = startTasks(ctx, s.backgroundTasks(listener)...)
	started.stopAuthentication = startTasks(ctx, s.callers.run)
	started.http = startHTTP(listener, s.handler)
	return started, nil
}

func (s *service) collectors() []prometheus.Collector {
	all := []prometheus.Collector{
		s.metrics, observe.NewCollector(s.hub, s.callers.reviews), observe.NewTotals(s.hub), observe.NewUnread(s.usage), s.readiness.Metric(), s.memory,
		s.certificate.metric(), s.connections.open, s.connections.closed, s.account, restClientMetrics, buildInfo(),
	}
	if s.reload != nil {
		all = append(all, s.reload.metrics.successful, s.reload.metrics.succeeded)
	}
	return all
}

// serve builds the service, and serves until the context is done. shown are the values of the settings,
// for administrators. reload is nil if there is no configuration file.
func serve(ctx context.Context, s settings, shown values, reload *reloader) error {
	config, err := clusterConfig(s)
	if err != nil {
		return err
	}
	if limit, _ := s.memoryLimitBytes(); limit > 0 { // check has reported its error
		debug.SetMemoryLimit(limit)
	}
	built, err := newService(ctx, config, s, reload)
	if err != nil {
		return err
	}
	built.showSettings(shown)
	running, err := built.start(ctx)
	if err == nil {
		err = running.wait(ctx)
	}
	return errors.Join(err, running.shutdown())
}

// backgroundTasks returns what runs next to the calls. Each task runs until its context is done.
func (s *service) backgroundTasks(listener endpoint) []func(context.Context) {
	tasks := []func(context.Context){
		func(ctx context.Context) { warnOfUnknown(ctx, s.hub.Resolver(), s.settings.uncached) },
		s.hub.Preload,
		func(ctx context.Context) { followReadiness(ctx, s.hub, s.permissions, s.readiness) },
		func(ctx context.Context) { followContact(ctx, s.hub.Freshness) },
		s.permissions.follow,
		listener.follow,
		s.memory.Run,
	}
	if s.settings.peers != "" {
		tasks = append(tasks, s.balance.Run)
	}
	if s.reload != nil {
		s.reload.apply = func(next settings) {
			s.adjuster.Adjust(next.limits, next.logSample)
			listener.bound.setLimits(openFiles().callersAtMost(next.maxConnections), next.maxConnectionsPerAddress)
		}
		tasks = append(tasks, s.reload.follow)
	}
	return tasks
}

// startTasks runs tasks until stop, which waits for them.
func startTasks(ctx context.Context, tasks ...func(context.Context)) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	for _, task := range tasks {
		running.Go(func() { task(ctx) })
	}
	return func() {
		cancel()
		running.Wait()
	}
}

// warnOfUnknown logs the names of --uncached that match no resource, once the API server has
// responded: a typo would let a resource be cached.
func warnOfUnknown(ctx context.Context, resolver *discovery.Resolver, names []string) {
	if !awaitReached(ctx, resolver) {
		return
	}
	for _, name := range names {
		if _, err := resolver.Resolve(ctx, name); err != nil && ctx.Err() == nil {
			slog.Warn("a name of --uncached matches no resource; "+
				"it applies only to resources that are created with this name later", "error", err)
		}
	}
}

// replicaSuffixLength is the number of random characters that distinguish the processes of a host.
const replicaSuffixLength = 6

// replicaName returns the name of this process, which begins with the name of the host. It is the same in
// responses, traces, and for administrators.
var replicaName = sync.OnceValue(func() string {
	suffix := strings.ToLower(rand.Text()[:replicaSuffixLength])
	host, err := os.Hostname()
	if err != nil {
		return suffix
	}
	return host + "-" + suffix
})
