package main

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/kubeconnect/kubeconnect/cmd/server/serving"
)

// shutdownTimeout bounds the time for calls to finish at shutdown.
const shutdownTimeout = 10 * time.Second

// running has the functions that stop the parts of a service. They are nil for parts that have not
// been started.
type running struct {
	stopBackground     func()
	endReadiness       func()
	endStreams         func()
	http               *serving.Server
	stopAuthentication func()
	stopMetrics        func()
	closeCaches        func()
	closeAudit         func()
	stopTraces         func()
}

// step is a part of a shutdown.
type step struct {
	name string
	stop func() error // nil if there is nothing to stop
}

// shutdownSteps returns the parts of a shutdown in their order, each with the reason for its place.
func (r *running) shutdownSteps() []step {
	return []step{
		{"background tasks", do(r.stopBackground)},                             // nothing sets readiness to true after the next step
		{"readiness", do(r.endReadiness)},                                      // load balancers send new calls to other replicas
		{"streams", do(r.endStreams)},                                          // streams do not end by themselves; they resume at other replicas
		{"listener", r.http.CloseListener},                                     // clients of the ended streams do not return to this one
		{"calls", func() error { return r.http.FinishCalls(shutdownTimeout) }}, // calls have shutdownTimeout, and the parts below still run for them
		{"authentication", do(r.stopAuthentication)},                           // finishing calls needed it
		{"metrics", do(r.stopMetrics)},                                         // finishing calls are counted
		{"caches", do(r.closeCaches)},                                          // finishing calls read from them
		{"audit log", do(r.closeAudit)},                                        // the events of all calls are queued
		{"traces", do(r.stopTraces)},                                           // the spans of all parts have ended
	}
}

// do returns a function without an error as the function of a step.
func do(stop func()) func() error {
	if stop == nil {
		return nil
	}
	return func() error {
		stop()
		return nil
	}
}

// Wait blocks until the context is done, or the listener fails.
func (r *running) wait(ctx context.Context) error {
	err := r.http.Wait(ctx)
	if err == nil {
		slog.Info("shutting down")
	}
	return err
}

// shutdown stops the parts that have been started.
func (r *running) shutdown() (err error) {
	for _, step := range r.shutdownSteps() {
		if step.stop == nil {
			continue
		}
		slog.Debug("shutting down", "part", step.name)
		err = errors.Join(err, step.stop())
	}
	return err
}
