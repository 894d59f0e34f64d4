package main

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/kubeconnect/kubeconnect/auth"
	"github.com/kubeconnect/kubeconnect/cmd/server/logging"
	"github.com/kubeconnect/kubeconnect/cmd/server/serving"
	"github.com/kubeconnect/kubeconnect/internal/fairqueue"
)

const (
	// maxScrapes bounds the concurrent scrapes, and the concurrent requests for the load, and
	// maxScrapesOfAddress those of one address: a client that does not read its responses keeps them.
	maxScrapes, maxScrapesOfAddress = 16, 2
	// maxMetricsConnections bounds the connections for metrics, and maxMetricsConnectionsOfAddress those of
	// one address. They need no credential.
	maxMetricsConnections          = 256
	maxMetricsConnectionsOfAddress = 64
	// scrapeTimeout bounds the time to read a response.
	scrapeTimeout = 30 * time.Second
)

// metricsPath is the path of the metrics, for which clients need the permission under --metrics-auth cluster.
const metricsPath = "/metrics"

// metricsOptions say where the metrics are served, which clients can read them, and what else is served there.
type metricsOptions struct {
	address string                          // host:port; empty: nowhere
	load    http.Handler                    // for peers
	admin   http.Handler                    // nil: nothing for administrators
	require func(http.Handler) http.Handler // passes the allowed requests for metrics; nil: everyone is allowed
	secure  func(net.Listener) net.Listener // serves over TLS; nil for plain text
}

// serveMetrics serves the collected metrics, and those of Go and the process, at a separate address. The
// caller must call stop, which closes all connections.
func serveMetrics(o metricsOptions, collected ...prometheus.Collector) (stop func(), err error) {
	if o.address == "" {
		return func() {}, nil
	}
	listener, err := net.Listen("tcp", o.address)
	if err != nil {
		return nil, fmt.Errorf("--metrics-listen %s: %w", o.address, err)
	}
	var bound net.Listener = serving.Bound(listener, serving.OpenFiles().ForMetrics(maxMetricsConnections), maxMetricsConnectionsOfAddress, nil)
	scheme := "http"
	if o.secure != nil {
		bound, scheme = o.secure(bound), "https"
	}
	slog.Info("metrics", "address", scheme+"://"+listener.Addr().String()+metricsPath)
	Server := &http.Server{
		Handler:           metricsHandler(o, collected),
		ReadHeaderTimeout: 10 * time.Second,
		WriteTimeout:      scrapeTimeout,
		MaxHeaderBytes:    serving.MaxHeaderBytes,
		ErrorLog:          logging.NewConnectionLog(),
		IdleTimeout:       2 * time.Minute,
	}
	served := make(chan struct{})
	go func() {
		defer close(served)
		if err := Server.Serve(bound); !errors.Is(err, http.ErrServerClosed) {
			slog.Error("metrics are no longer served", "error", err)
		}
	}()
	return func() {
		_ = Server.Close()
		<-served
	}, nil
}

// metricsHandler serves GET of the metrics, of the load path, and of the paths for administrators.
func metricsHandler(o metricsOptions, collected []prometheus.Collector) http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector())
	registry.MustRegister(collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	registry.MustRegister(collected...)
	mux := http.NewServeMux()
	metrics := limitConcurrency(maxScrapes, maxScrapesOfAddress, promhttp.HandlerFor(registry, promhttp.HandlerOpts{
		ErrorLog: slog.NewLogLogger(slog.Default().Handler(), slog.LevelError),
	}))
	if o.require != nil {
		metrics = o.require(metrics) // first, so that a client without permission takes the place of no other
	}
	mux.Handle("GET "+metricsPath, metrics)
	mux.Handle("GET "+loadPath, limitConcurrency(maxScrapes, maxScrapesOfAddress, o.load))
	if o.admin != nil {
		mux.Handle("/admin", o.admin)
		mux.Handle("/admin/", o.admin)
		mux.Handle("/debug/pprof/", o.admin)
	}
	return mux
}

// limitConcurrency passes at most limit concurrent requests to a handler, and ofAddress of one address (see
// auth.PeerNetwork). Further requests get status 503.
func limitConcurrency(limit, ofAddress int64, handler http.Handler) http.Handler {
	requests := fairqueue.New(fairqueue.Limits{Total: limit, PerKey: ofAddress})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		release, ok := requests.TryAcquire(auth.PeerNetwork(r.RemoteAddr).String(), 1)
		if !ok {
			message := fmt.Sprintf("request limit reached: %d of one address, %d in total; try again later", ofAddress, limit)
			http.Error(w, message, http.StatusServiceUnavailable)
			return
		}
		defer release()
		handler.ServeHTTP(w, r)
	})
}
