package main

import (
	"context"
	"log/slog"
	"time"

	"github.com/kubeconnect/kubeconnect/informerhub"
)

// contactInterval is how often the contact to the API server is checked.
const contactInterval = time.Second

// followContact logs when the contact to the API server is lost and when it has returned, until the
// context is done. A connection that is half-open returns no error for a minute, so the errors of
// requests alone do not show in the log since when the data is stale.
func followContact(ctx context.Context, freshness func() informerhub.Freshness) {
	stale := false
	for ; ctx.Err() == nil; sleep(ctx, contactInterval) {
		fresh := freshness()
		if fresh.Stale == stale {
			continue
		}
		stale = fresh.Stale
		if stale {
			slog.Warn("no contact to the API server: the served data is stale", "last_contact", fresh.LastContact.UTC())
		} else {
			slog.Info("contact to the API server again: the served data is current")
		}
	}
}
