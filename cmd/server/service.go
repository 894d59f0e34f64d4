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

	web "github.com/kubeconnect/kubeconnect/clients/web"
	"github.com/kubeconnect/kubeconnect/cmd/server/config"
	"github.com/kubeconnect/kubeconnect/cmd/server/serving"
	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/informerhub/discovery"
	"github.com/kubeconnect/kubeconnect/informerhub/scopes"
	"github.com/kubeconnect/kubeconnect/internal/version"
	"github.com/kubeconnect/kubeconnect/server"
	"github.com/kubeconnect/kubeconnect/server/edge"
	"github.com/kubeconnect/kubeconnect/server/edge/gate"
	"github.com/kubeconnect/kubeconnect/server/edge/health"
	"github.com/kubeconnect/kubeconnect/server/edge/memorylimit"
	"github.com/kubeconnect/kubeconnect/server/edge/observe"
	"github.com/kubeconnect/kubeconnect/server/edge/origins"
	"github.com/kubeconnect/kubeconnect/server/edge/streamlife"
	"github.com/kubeconnect/kubeconnect/server/kubeapi"
)

// service has the parts of the service that the settings select. None of them runs before start.
type service struct {
	settings    config.Settings
	shown       atomic.Pointer[config.Values] // the settings, for administrators
	host        string                        // the API server's
	scopes      *scopes.Scopes
	hub         *informerhub.Hub
	callers     callers
	permissions *ownPermissions
	readiness   *health.Readiness
	metrics     *observe.Metrics
	usage       *observe.Usage
	started     time.Time
	certificate *serving.CertificateExpiry
	connections *serving.Counts
	account     prometheus.Collector // of the service at the API server: when its certificate expires
	memory      *memorylimit.Monitor
	adjuster    *gate.Adjuster
	reload      *config.Reloader // nil without a configuration file
	balance     *streamlife.Balance
	handler     http.Handler
	audit       *auditing          // nil without an audit log
	traces      *traces            // nil without traces
	endStreams  context.CancelFunc // makes open streams end, while other calls may finish
}

// serve builds the service, and serves until the context is done. shown are the values of the settings,
// for administrators. reload is nil if there is no configuration file.
func serve(ctx context.Context, s config.Settings, shown config.Values, reload *config.Reloader) error {
	cluster, err := clusterConfig(s)
	if err != nil {
		return err
	}
	if limit, _ := s.MemoryLimitBytes(); limit > 0 { // check has reported its error
		debug.SetMemoryLimit(limit)
	}
	built, err := newService(ctx, cluster, s, reload)
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

// newService builds the service of a cluster. The caller must start it.
func newService(ctx context.Context, cluster *rest.Config, s config.Settings, reload *config.Reloader) (*service, error) {
	auditing, err := newAuditing(s)
	if err != nil {
		return nil, err
	}
	traces, err := newTraces(ctx, s.Tracing)
	if err != nil {
		return nil, err
	}
	decided, err := newScopes(cluster, s)
	if err != nil {
		traces.stop()
		return nil, err
	}
	hub, err := newHub(cluster, s, traces, decided)
	if err != nil {
		traces.stop()
		return nil, err
	}
	clients, logClients, err := newClients(cluster, s, hub, traces)
	if err != nil {
		hub.Close()
		traces.stop()
		return nil, err
	}
	certificate, peers := &serving.CertificateExpiry{}, newPeers(s.Peers)
	if s.MetricsTLS {
		peers = peers.overTLS(certificate.Leaf)
	}
	streams, readiness := streamlife.NewStreams(s.MaxStreamAge), &health.Readiness{}
	stopping, endStreams := context.WithCancel(context.WithoutCancel(ctx)) // canceled in the shutdown order, not with ctx
	callers := newCallers(s, clients)
	built := &service{
		settings:    s,
		host:        shownHost(cluster),
		scopes:      decided,
		hub:         hub,
		callers:     callers,
		permissions: newOwnPermissions(s, clients),
		readiness:   readiness,
		metrics:     observe.NewMetrics(),
		usage:       observe.NewUsage(),
		started:     time.Now(),
		certificate: certificate,
		connections: serving.NewCounts(),
		account:     newClientCertificateExpiry(cluster),
		memory:      memorylimit.NewMonitor(),
		adjuster:    &gate.Adjuster{},
		reload:      reload,
		balance: streamlife.NewBalance(streamlife.Balance{
			Streams: streams, Readiness: readiness, Caches: hub, Reviews: callers.reviews, Ask: peers.ask,
		}),
		audit:      auditing,
		traces:     traces,
		endStreams: endStreams,
	}
	built.handler = built.newHandler(server.Config{
		Edge:    edge.Config{OnShutdown: func(end func()) (remove func() bool) { return context.AfterFunc(stopping, end) }},
		Clients: clients, LogClients: logClients, Streams: streams,
	})
	return built, nil
}

// newHandler returns the handler of all calls. It completes the configuration.
func (s *service) newHandler(c server.Config) http.Handler {
	c.Hub = s.hub
	c.Edge.Authenticator = s.callers.authenticator
	c.Authorizer = s.callers.authorizer
	c.Recheck = s.settings.RecheckInterval
	c.TokenGeneration = s.settings.TokenGeneration
	c.Readiness = s.readiness
	c.Edge.Compression = s.settings.Compress
	c.Lacking = s.permissions.lacking
	c.Reviews = s.callers.reviews.Err
	c.Edge.Limits = s.settings.Limits
	c.Edge.Metrics = s.metrics
	c.Edge.Usage = s.usage
	console := s.settings.OIDC.Console()
	console.Terminal = s.settings.KubeAPI == kubeapi.All
	c.Console = web.Handler(console)
	c.Edge.CORSOrigins = s.settings.CORSOrigins
	c.KubeAPI = s.settings.KubeAPI
	c.Edge.Replica = replicaName()
	c.Edge.LogSample = s.settings.LogSample
	c.Edge.Adjuster = s.adjuster
	c.Edge.Audit = s.audit.calls()
	c.Edge.Tracer = s.traces.tracer()
	return s.callers.guard(origins.CORS(c.Edge.CORSOrigins, server.New(c)))
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
	admin, err := newAdmin(s.settings.AdminTokenFile, s.state)
	if err != nil {
		return started, err
	}
	if err := s.audit.open(); err != nil {
		return started, err
	}
	started.closeAudit = s.audit.close
	listener, err := serving.Listen(serving.Options{
		Address: s.settings.Listen, CertFile: s.settings.CertFile, KeyFile: s.settings.KeyFile,
		MaxConnections: s.settings.MaxConnections, MaxConnectionsPerAddress: s.settings.MaxConnectionsPerAddress,
		ConfigureTLS: s.callers.configureTLS, Counts: s.connections,
	})
	if err != nil {
		return started, err
	}
	s.certificate.Follow(listener)
	if started.stopMetrics, err = serveMetrics(s.metricsOptions(admin, listener), s.collectors()...); err != nil {
		_ = listener.Close()
		return started, err
	}
	slog.Info("serving", "address", listener.URL(), "cluster", s.host, "auth", s.settings.Auth, "version", version.Get().Version)
	ctx = context.WithoutCancel(ctx) // every part has its place in the shutdown order
	started.stopBackground = startTasks(ctx, s.backgroundTasks(listener)...)
	started.stopAuthentication = startTasks(ctx, s.callers.run)
	started.http = serving.Start(listener, s.handler)
	return started, nil
}

// metricsOptions returns what the settings say about the address for metrics.
func (s *service) metricsOptions(admin http.Handler, callers serving.Endpoint) metricsOptions {
	options := metricsOptions{address: s.settings.MetricsListen, load: s.balance, admin: admin}
	if s.settings.MetricsAuth == config.AuthCluster {
		options.require = s.callers.requireMetrics
	}
	if s.settings.MetricsTLS {
		options.secure = callers.Secure
	}
	return options
}

func (s *service) collectors() []prometheus.Collector {
	all := []prometheus.Collector{
		s.metrics, observe.NewCollector(s.hub, s.callers.reviews), observe.NewTotals(s.hub), observe.NewUnread(s.usage), s.readiness.Metric(), s.memory,
		s.certificate.Metric(), s.account, restClientMetrics, buildInfo(),
	}
	all = append(append(all, s.connections.Metrics()...), s.audit.collectors()...)
	if s.reload != nil {
		all = append(all, s.reload.Collectors()...)
	}
	return all
}

// backgroundTasks returns what runs next to the calls. Each task runs until its context is done.
func (s *service) backgroundTasks(listener serving.Endpoint) []func(context.Context) {
	tasks := []func(context.Context){
		func(ctx context.Context) { warnOfUnknown(ctx, s.hub.Resolver(), s.settings.CacheLimits()) },
		s.scopes.Run,
		s.hub.FollowScopes,
		s.recheckScopes,
		s.announce,
		s.hub.Preload,
		func(ctx context.Context) { followReadiness(ctx, s.hub, s.permissions, s.readiness) },
		func(ctx context.Context) { followContact(ctx, s.hub.Freshness) },
		s.permissions.follow,
		listener.Follow,
		s.memory.Run,
	}
	if s.settings.Peers != "" {
		tasks = append(tasks, s.balance.Run)
	}
	if s.reload != nil {
		s.reload.Apply = func(next config.Settings) {
			s.adjuster.Adjust(next.Limits, next.LogSample)
			listener.SetLimits(next.MaxConnections, next.MaxConnectionsPerAddress)
		}
		tasks = append(tasks, s.reload.Follow)
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

// recheckScopes makes the streams of callers follow the namespaces that the service reads, until the context is done. Those of
// the kubeconfig's user follow them without it.
func (s *service) recheckScopes(ctx context.Context) {
	for {
		changed := s.scopes.Changed()
		select {
		case <-changed:
			s.callers.authorizer.Recheck()
		case <-ctx.Done():
			return
		}
	}
}

// warnOfUnknown logs the names of limits that match no resource, once the API server has responded: a typo would let a resource be
// cached, or all of its objects. It is no error, because the name can be that of a CRD that is created later.
func warnOfUnknown(ctx context.Context, resolver *discovery.Resolver, limits []config.CacheLimit) {
	if !awaitReached(ctx, resolver) {
		return
	}
	for _, limit := range limits {
		if _, err := resolver.Resolve(ctx, limit.Resource); err != nil && ctx.Err() == nil {
			slog.Warn("a name of "+limit.Flag+" matches no resource, and limits nothing; "+
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
