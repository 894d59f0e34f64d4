package main

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"runtime/debug"
	"sync"
	"time"

	"k8s.io/client-go/rest"

	"github.com/kubeconnect/kubeconnect/auth"
	web "github.com/kubeconnect/kubeconnect/clients/web"
	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/informerhub/discovery"
	"github.com/kubeconnect/kubeconnect/server"
	"github.com/kubeconnect/kubeconnect/server/edge"
	"github.com/kubeconnect/kubeconnect/server/write"
)

const (
	// shutdownTimeout bounds the time for calls to finish at shutdown.
	shutdownTimeout = 10 * time.Second
	// maxStreams bounds the concurrent calls on one HTTP/2 connection.
	maxStreams = 1000
	// maxHeaderBytes bounds the headers of a request, including the token. They are kept as long as
	// its stream.
	maxHeaderBytes = 32 << 10
	// maxUnreadBytes and maxUnreadOfStream bound the buffered bytes of request bodies that are not
	// being read yet, for a connection and for a stream.
	maxUnreadBytes    = 256 << 10
	maxUnreadOfStream = 64 << 10
	// maxFrameBytes bounds the buffer that a connection reads frames into.
	maxFrameBytes = 16 << 10
	// writeTimeout bounds a request without an admitted caller; server.New removes it for admitted
	// ones.
	writeTimeout = time.Minute
	// writeByteTimeout is how long a connection can block without accepting a written byte.
	writeByteTimeout = 30 * time.Second
)

// serve builds the service, and serves until the context is done.
func serve(ctx context.Context, s settings) error {
	config, err := clusterConfig(s)
	if err != nil {
		return err
	}
	if limit, _ := s.memoryLimitBytes(); limit > 0 { // check has reported its error
		debug.SetMemoryLimit(limit)
	}
	hub, err := informerhub.New(config, informerhub.Options{
		KeepManagedFields: s.keepManagedFields,
		IdleTimeout:       s.cacheIdleTimeout,
		Preload:           s.preload,
		Uncached:          s.uncached,
		CacheAggregated:   s.cacheAggregated,
	})
	if err != nil {
		return err
	}
	defer hub.Close()
	asCallers := rest.CopyConfig(config)
	hub.ObserveCallers(asCallers)
	clients, err := auth.NewClientFactory(asCallers, write.NoteOutcome)
	if err != nil {
		return err
	}
	logClients, err := newLogClients(config)
	if err != nil {
		return err
	}
	stopping, stop := context.WithCancel(context.WithoutCancel(ctx)) // canceled in the shutdown order, not with ctx
	defer stop()
	readiness := &edge.Readiness{}
	permissions := &ownPermissions{client: clients.Own().Typed}
	if s.auth == authCluster {
		permissions.needed = neededPermissions
	}
	callers, metrics := newCallers(s, clients), edge.NewMetrics()
	memory := edge.NewMemoryLimit()
	streams := edge.NewStreams(s.maxStreamAge)
	balance := edge.NewBalance(edge.Balance{
		Streams: streams, Readiness: readiness, Caches: hub, Ask: newPeers(s.peers).ask,
	})
	collector := edge.NewCollector(hub, callers.reviews)
	stopMetrics, err := serveMetrics(s.metricsListen, balance, metrics, collector, memory)
	if err != nil {
		return err
	}
	defer stopMetrics() // last, so that finishing calls are counted
	handler := server.New(server.Config{
		Hub:             hub,
		Authenticator:   callers.authenticator,
		Authorizer:      callers.authorizer,
		Recheck:         s.recheckInterval,
		TokenGeneration: s.tokenGeneration,
		Clients:         clients,
		LogClients:      logClients,
		Readiness:       readiness,
		Compression:     s.compress,
		Lacking:         permissions.lacking,
		Streams:         streams,
		Limits:          s.limits,
		Metrics:         metrics,
		Console:         web.Handler(),
		OnShutdown:      func(end func()) (remove func() bool) { return context.AfterFunc(stopping, end) },
		CORSOrigins:     s.corsOrigins,
	})
	handler = callers.guard(edge.CORS(s.corsOrigins, handler))
	listener, err := listen(s, callers.configureTLS)
	if err != nil {
		return err
	}
	slog.Info("serving", "address", listener.url(), "cluster", config.Host, "auth", s.auth)

	bgCtx, stopBackground := context.WithCancel(stopping)
	var background sync.WaitGroup
	background.Go(func() {
		if awaitReached(bgCtx, hub.Resolver()) {
			warnOfUnknown(bgCtx, hub.Resolver(), s.uncached)
		}
	})
	background.Go(func() { hub.Preload(bgCtx) })
	background.Go(func() { followReadiness(bgCtx, hub, permissions, readiness) })
	background.Go(func() { permissions.follow(bgCtx) })
	background.Go(func() { listener.follow(bgCtx) })
	background.Go(func() { memory.Run(bgCtx) })
	if s.peers != "" {
		background.Go(func() { balance.Run(bgCtx) })
	}
	endStreams := func() {
		stopBackground()
		background.Wait() // so that readiness is not set to true after this
		readiness.Set(false)
		stop()
	}
	defer endStreams()
	authCtx, stopAuth := context.WithCancel(context.WithoutCancel(ctx)) // finishing calls still need authentication
	var authDone sync.WaitGroup
	authDone.Go(func() { callers.run(authCtx) })
	defer authDone.Wait()
	defer stopAuth()
	return serveHTTP(ctx, listener, handler, endStreams)
}

// serveHTTP serves HTTP/1.1 and HTTP/2, in plain text and over TLS, until the context is done. Then
// it calls endStreams, and lets the other calls finish.
func serveHTTP(ctx context.Context, listener net.Listener, handler http.Handler, endStreams func()) error {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(true)
	protocols.SetUnencryptedHTTP2(true)
	http2 := &http.HTTP2Config{
		MaxConcurrentStreams:          maxStreams,
		MaxReceiveBufferPerConnection: maxUnreadBytes,
		MaxReceiveBufferPerStream:     maxUnreadOfStream,
		MaxReadFrameSize:              maxFrameBytes,
		SendPingTimeout:               30 * time.Second,
		WriteByteTimeout:              writeByteTimeout,
	}
	connections := &drainable{open: map[*http.Server]struct{}{}, newServer: func() *http.Server {
		return &http.Server{
			Handler:           handler,
			Protocols:         protocols,
			HTTP2:             http2,
			MaxHeaderBytes:    maxHeaderBytes,
			ReadHeaderTimeout: 10 * time.Second,
			WriteTimeout:      writeTimeout,
			IdleTimeout:       2 * time.Minute,
		}
	}}
	served := make(chan error, 1)
	go func() { served <- connections.serve(listener) }()
	select {
	case err := <-served:
		return errors.Join(err, connections.close())
	case <-ctx.Done():
	}
	slog.Info("shutting down")
	endStreams()
	_ = listener.Close()
	<-served // no connection is accepted after this
	deadline, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
	defer cancel()
	return connections.shutdown(deadline)
}

// warnOfUnknown logs the names of --uncached that match no resource: a typo would let a resource be
// cached.
func warnOfUnknown(ctx context.Context, resolver *discovery.Resolver, names []string) {
	for _, name := range names {
		if _, err := resolver.Resolve(ctx, name); err != nil && ctx.Err() == nil {
			slog.Warn("a name of --uncached matches no resource; "+
				"it applies only to resources that are created with this name later", "error", err)
		}
	}
}
