package main

import (
	"context"
	"log/slog"

	"k8s.io/klog/v2"
)

// client-go logs to slog's default handler. The logger is set once, before client-go runs, because
// klog reads it without a lock.
func init() { klog.SetSlogLogger(slog.New(defaultHandler{})) }

// defaultHandler forwards to the current default handler of slog.
type defaultHandler struct{}

func (defaultHandler) Enabled(ctx context.Context, level slog.Level) bool {
	return slog.Default().Handler().Enabled(ctx, level)
}

func (defaultHandler) Handle(ctx context.Context, record slog.Record) error {
	return slog.Default().Handler().Handle(ctx, record)
}

func (defaultHandler) WithAttrs(attributes []slog.Attr) slog.Handler {
	return slog.Default().Handler().WithAttrs(attributes)
}

func (defaultHandler) WithGroup(name string) slog.Handler {
	return slog.Default().Handler().WithGroup(name)
}
