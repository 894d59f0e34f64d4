package main

import (
	"context"
	"log/slog"

	"k8s.io/klog/v2"
)

// What client-go logs goes where everything goes. It is told so once, before anything
// of it runs, for it reads that without a lock.
func init() { klog.SetSlogLogger(slog.New(defaultHandler{})) }

// defaultHandler is whatever slog's default handler is at the time.
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
