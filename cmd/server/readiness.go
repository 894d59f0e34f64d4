package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/kubeconnect/kubeconnect/auth"
	"github.com/kubeconnect/kubeconnect/cmd/server/config"
	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/informerhub/discovery"
	"github.com/kubeconnect/kubeconnect/server/edge/health"
)

const (
	// readinessInterval is how often readiness is checked. A check is free while there is a
	// snapshot, and otherwise requests the API server's version.
	readinessInterval = time.Second
	// reachedInterval is how often the API server's version is requested while it responds.
	reachedInterval = 5 * time.Second
)

// followReadiness updates the readiness of the service until the context is done. Missing
// permissions prevent it from becoming ready, so that a rollout stops. They do not end readiness
// later: all replicas lack them, and an error that reports them is better than no response.
func followReadiness(
	ctx context.Context, hub *informerhub.Hub, permissions *ownPermissions, readiness *health.Readiness,
) {
	granted := permissions.granted
	for logged := "not looked at"; ctx.Err() == nil; {
		err := whyNotReady(ctx, hub)
		if err == nil {
			err = granted()
		}
		if ctx.Err() != nil {
			return
		}
		readiness.Set(err == nil)
		if err == nil {
			granted = func() error { return nil }
		}
		logged = logReadiness(err, logged)
		interval := readinessInterval
		if err == nil && !hub.HasSnapshot() {
			interval = reachedInterval
		}
		sleep(ctx, interval)
	}
}

// whyNotReady returns why the service cannot serve reads: preloaded resources have no snapshot, or
// no resource has a snapshot and the API server is unreachable.
func whyNotReady(ctx context.Context, hub *informerhub.Hub) error {
	if err := hub.Warm(); err != nil {
		return err
	}
	if hub.HasSnapshot() {
		return nil
	}
	return hub.Resolver().Ping(ctx)
}

// logReadiness logs the readiness when it has changed, and returns the reason that was logged last.
func logReadiness(err error, logged string) string {
	reason := ""
	if err != nil {
		reason = err.Error()
	}
	switch {
	case reason == logged:
	case err == nil:
		slog.Info("ready")
	default:
		slog.Warn("not ready", "error", err)
	}
	return reason
}

// awaitReached blocks until the API server has responded once. It returns false if the context is
// done first.
func awaitReached(ctx context.Context, resolver *discovery.Resolver) bool {
	for ctx.Err() == nil {
		if resolver.Ping(ctx) == nil {
			return true
		}
		sleep(ctx, readinessInterval)
	}
	return false
}

// sleep blocks for some time, or until the context is done.
func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

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

// Without the permission to create reviews of callers, the service cannot serve any call. The API
// server reports that only in response to a call's review. Therefore the service checks its own
// permissions by SelfSubjectAccessReviews, which every account is allowed to create.

const (
	// ownPermissionsInterval is how often the permissions are checked. Each check is one request
	// for each permission.
	ownPermissionsInterval = 10 * time.Second
	// ownPermissionsRetry is the delay after a failed check.
	ownPermissionsRetry = time.Second
	// ownPermissionTimeout bounds one request.
	ownPermissionTimeout = 5 * time.Second
)

// neededPermissions are the permissions that every call needs under --auth cluster.
var neededPermissions = []authorizationv1.ResourceAttributes{
	{Verb: "create", Group: "authentication.k8s.io", Version: "v1", Resource: "tokenreviews"},
	{Verb: "create", Group: "authorization.k8s.io", Version: "v1", Resource: "subjectaccessreviews"},
}

// ownPermissions contains the service's own permissions. Its methods are safe for concurrent use.
type ownPermissions struct {
	client kubernetes.Interface
	needed []authorizationv1.ResourceAttributes

	mu      sync.Mutex // guards the fields below
	known   bool
	missing []string
}

// newOwnPermissions returns the permissions that the service needs with the settings.
func newOwnPermissions(s config.Settings, clients *auth.ClientFactory) *ownPermissions {
	permissions := &ownPermissions{client: clients.ForService().Typed}
	if s.Auth == config.AuthCluster {
		permissions.needed = neededPermissions
	}
	return permissions
}

// Follow checks the permissions at an interval until the context is done.
func (o *ownPermissions) follow(ctx context.Context) {
	for ctx.Err() == nil {
		interval := ownPermissionsInterval
		if !o.check(ctx) {
			interval = ownPermissionsRetry
		}
		sleep(ctx, interval)
	}
}

// check checks the permissions once, and reports whether the API server has responded.
func (o *ownPermissions) check(ctx context.Context) bool {
	var missing []string
	for _, permission := range o.needed {
		allowed, err := o.allows(ctx, permission)
		if err != nil {
			return false
		}
		if !allowed {
			missing = append(missing, permission.Verb+" "+permission.Resource+"."+permission.Group)
		}
	}
	o.set(missing)
	return true
}

// allows checks one permission. If the API server rejects the review itself, the permission is
// assumed to be granted.
func (o *ownPermissions) allows(ctx context.Context, permission authorizationv1.ResourceAttributes) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, ownPermissionTimeout)
	defer cancel()
	reviews := o.client.AuthorizationV1().SelfSubjectAccessReviews()
	review, err := reviews.Create(ctx, &authorizationv1.SelfSubjectAccessReview{
		Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &permission},
	}, metav1.CreateOptions{})
	switch {
	case apierrors.IsForbidden(err), apierrors.IsNotFound(err):
		return true, nil
	case err != nil:
		return false, err
	}
	return review.Status.Allowed, nil
}

func (o *ownPermissions) set(missing []string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if before := strings.Join(o.missing, ", "); before != strings.Join(missing, ", ") && len(missing) > 0 {
		slog.Error("the service cannot serve calls, because its account lacks permissions; "+
			"kubeconnect check prints the commands that grant them", "missing", missing)
	}
	o.known, o.missing = true, missing
}

// lacking returns an error with the missing permissions, or nil. A permission is missing only after
// the API server has denied it.
func (o *ownPermissions) lacking() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.missing) == 0 {
		return nil
	}
	return fmt.Errorf("the service's account is not allowed to %s", strings.Join(o.missing, ", "))
}

// granted returns nil if the API server has confirmed that no permission is missing.
func (o *ownPermissions) granted() error {
	o.mu.Lock()
	known := o.known
	o.mu.Unlock()
	if !known && len(o.needed) > 0 {
		return errors.New("the API server has not confirmed the service's permissions yet")
	}
	return o.lacking()
}
