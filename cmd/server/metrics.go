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

// serveMetrics serves the collected metrics, those of Go and the process, the load for peers, and the
// pages for administrators unless admin is nil, at a separate address. It does nothing if the address is
// empty. The caller must call stop, which closes all connections.
func serveMetrics(address string, load, admin http.Handler, collected ...prometheus.Collector) (stop func(), err error) {
	if address == "" {
		return func() {}, nil
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("--metrics-listen %s: %w", address, err)
	}
	slog.Info("metrics", "address", "http://"+listener.Addr().String()+"/metrics")
	Server := &http.Server{
		Handler:           metricsHandler(load, admin, collected),
		ReadHeaderTimeout: 10 * time.Second,
		WriteTimeout:      scrapeTimeout,
		MaxHeaderBytes:    serving.MaxHeaderBytes,
		ErrorLog:          logging.NewConnectionLog(),
		IdleTimeout:       2 * time.Minute,
	}
	bound := serving.Bound(listener, serving.OpenFiles().ForMetrics(maxMetricsConnections), maxMetricsConnectionsOfAddress, nil)
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

// metricsHandler serves GET of /metrics, of the load path, and of the paths of admin unless it is nil.
func metricsHandler(load, admin http.Handler, collected []prometheus.Collector) http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector())
	registry.MustRegister(collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	registry.MustRegister(collected...)
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", limitConcurrency(maxScrapes, maxScrapesOfAddress, promhttp.HandlerFor(registry, promhttp.HandlerOpts{
		ErrorLog: slog.NewLogLogger(slog.Default().Handler(), slog.LevelError),
	})))
	mux.Handle("GET "+loadPath, limitConcurrency(maxScrapes, maxScrapesOfAddress, load))
	if admin != nil {
		mux.Handle("/admin", admin)
		mux.Handle("/admin/", admin)
		mux.Handle("/debug/pprof/", admin)
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
