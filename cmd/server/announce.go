package main

import (
	"context"
	"log/slog"
	"strings"
	"time"
)

// announceTimeout bounds the requests by which the service finds out what it may read.
const announceTimeout = 10 * time.Second

// commonResources are those about which a start line says what the service may read. They are resolved as callers name them.
var commonResources = []string{"pods", "services", "configmaps", "secrets", "events", "deployments.apps", "nodes", "namespaces"}

// announce logs, once the API server has responded, as which user the service reads the cluster, and what: a developer who starts it
// with few permissions sees here what will be missing.
func (s *service) announce(ctx context.Context) {
	if !awaitReached(ctx, s.hub.Resolver()) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, announceTimeout)
	defer cancel()
	user := s.scopes.User(ctx)
	var lacking, limited []string
	var namespaces []string
	for _, name := range commonResources {
		resource, err := s.hub.Resolver().Resolve(ctx, name)
		if err != nil || !resource.Cacheable() {
			continue
		}
		names, err := s.hub.Namespaces(ctx, resource)
		switch {
		case err != nil:
			return // it is logged when a caller asks
		case names == nil:
		case len(names) == 0:
			lacking = append(lacking, resource.GroupResource().String())
		default:
			limited, namespaces = append(limited, resource.GroupResource().String()), longer(namespaces, names)
		}
	}
	logReads(user, limited, namespaces, lacking)
}

// logReads logs what a user reads: some resources in some namespaces, and others not at all.
func logReads(user string, limited, namespaces, lacking []string) {
	attributes := []any{"user", user}
	if len(limited) > 0 {
		attributes = append(attributes, "namespaces", listed(namespaces), "of", listed(limited))
	} else {
		attributes = append(attributes, "namespaces", "all")
	}
	if len(lacking) == 0 {
		slog.Info("reads the cluster", attributes...)
		return
	}
	attributes = append(attributes, "not_allowed", listed(lacking))
	if len(lacking) < len(commonResources) {
		slog.Info("reads a part of the cluster; the rest is read as the caller", attributes...)
		return
	}
	slog.Warn("may list nothing in the namespaces that are known: name others by --namespaces, or grant list and watch", "user", user)
}

// maxListed bounds the names in a start line.
const maxListed = 10

func listed(names []string) string {
	if len(names) > maxListed {
		return strings.Join(names[:maxListed], ", ") + ", …"
	}
	return strings.Join(names, ", ")
}

func longer(a, b []string) []string {
	if len(b) > len(a) {
		return b
	}
	return a
}
