package informerhub

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kubeconnect/kubeconnect/informerhub/discovery"
)

// followServices compares the caches of custom resources with discovery whenever an APIService
// changes, until the context ends. A cache whose resource has become part of an aggregated API
// ends. If APIServices cannot be watched, the caches are compared at an interval.
func (s *definitionsSession) followServices(ctx context.Context) {
	for ctx.Err() == nil {
		refusal := s.watchServices(ctx)
		if apierrors.IsForbidden(refusal) {
			s.warnServices.Do(func() {
				slog.Warn("APIServices cannot be watched; "+
					"a group that moves to another server is noticed after half a minute", "error", refusal)
			})
		}
		for began := time.Now(); ctx.Err() == nil && time.Since(began) < definitionsRetry; {
			if !apierrors.IsNotFound(refusal) {
				s.check(ctx, s.upstreamsOf(""), false, func(*upstream) bool { return false })
			}
			pause(ctx, definitionsInterval)
		}
	}
}

// watchServices watches APIServices until the context ends or the API server denies it.
func (s *definitionsSession) watchServices(ctx context.Context) error {
	return s.watchMetadata(ctx, discovery.APIServices, &serviceStore{session: s}, func() {})
}

// serviceStore is the store of a Reflector of APIServices. It stores nothing.
type serviceStore struct {
	session *definitionsSession
	listed  sync.Once
}

// Add implements cache.ReflectorStore.
func (s *serviceStore) Add(object any) error { return s.Update(object) }

// Update implements cache.ReflectorStore.
func (s *serviceStore) Update(object any) error {
	// An APIService is named VERSION.GROUP.
	_, group, _ := strings.Cut(object.(*Object).Name(), ".")
	s.session.recordRegrouped(group)
	return nil
}

// Delete implements cache.ReflectorStore. A resource that is no longer aggregated is cached once it
// is discovered again.
func (s *serviceStore) Delete(any) error { return nil }

// Resync implements cache.ReflectorStore. It does nothing.
func (s *serviceStore) Resync() error { return nil }

// Replace implements cache.ReflectorStore. The first list needs no comparison, because its
// APIServices existed when the caches were compared with discovery: see verify.
func (s *serviceStore) Replace([]any, string) error {
	first := false
	s.listed.Do(func() { first = true })
	if !first {
		s.session.recordRegrouped("")
	}
	return nil
}
