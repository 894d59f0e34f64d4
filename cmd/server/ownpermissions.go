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
)

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
func newOwnPermissions(s settings, clients *auth.ClientFactory) *ownPermissions {
	permissions := &ownPermissions{client: clients.ForService().Typed}
	if s.auth == authCluster {
		permissions.needed = neededPermissions
	}
	return permissions
}

// follow checks the permissions at an interval until the context is done.
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
