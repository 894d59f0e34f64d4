package main

import (
	"context"
	"errors"
	"runtime/debug"
)

// serve builds the service, and serves until the context is done. shown are the settings for
// administrators.
func serve(ctx context.Context, s settings, shown map[string]string) error {
	config, err := clusterConfig(s)
	if err != nil {
		return err
	}
	if limit, _ := s.memoryLimitBytes(); limit > 0 { // check has reported its error
		debug.SetMemoryLimit(limit)
	}
	built, err := newService(ctx, config, s)
	if err != nil {
		return err
	}
	built.shown = shown
	running, err := built.start(ctx)
	if err == nil {
		err = running.wait(ctx)
	}
	return errors.Join(err, running.shutdown())
}
