package main

import (
	"context"
	"errors"
	"runtime/debug"
)

// serve builds the service, and serves until the context is done. reload is nil if there is no
// configuration file.
func serve(ctx context.Context, s settings, reload *reloader) error {
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
	running, err := built.start(ctx)
	if err == nil {
		err = running.wait(ctx)
	}
	return errors.Join(err, running.shutdown())
}
