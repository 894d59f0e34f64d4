package reads

import (
	"context"
	"fmt"

	"github.com/kubeconnect/kubeconnect/auth"
	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/server/edge/conditional"
)

// notModified returns an error that becomes a 304 if the client of a read by GET has the response that
// a cache would give now, for a caller with a scope. It must be called after the caller's permissions
// were checked, and before the cache is read. A stale cache gives a response of its own, because the
// client must learn that it is stale.
func notModified(ctx context.Context, cache *informerhub.Cache, scope auth.Namespaces) error {
	return conditional.Unchanged(ctx, func() (state string, ok bool) {
		return fmt.Sprintf("%+v %t %q", cache.Revision(), scope.All, scope.Names), !cache.Freshness().Stale
	})
}
