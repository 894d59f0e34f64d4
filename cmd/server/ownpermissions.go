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
)

// Without the permission to ask who is calling and what they may do, the service answers no call.
// The API server says so only when there is a call, and only to that. So the service asks for its
// own permissions, by SelfSubjectAccessReviews, which every account may create.

const (
	// ownPermissionsInterval is how often the API server is asked. Each time is one request for each
	// permission.
	ownPermissionsInterval = 10 * time.Second
	// ownPermissionsRetry is how long to wait when it could not be asked.
	ownPermissionsRetry = time.Second
	// ownPermissionTimeout bounds one request.
	ownPermissionTimeout = 5 * time.Second
)

// neededPermissions are what the service must be allowed to answer any call under --auth cluster.
var neededPermissions = []authorizationv1.ResourceAttributes{
	{Verb: "create", Group: "authentication.k8s.io", Version: "v1", Resource: "tokenreviews"},
	{Verb: "create", Group: "authorization.k8s.io", Version: "v1", Resource: "subjectaccessreviews"},
}

// ownPermissions are what is known of the service's own permissions. Its methods are safe for
// concurrent use.
type ownPermissions struct {
	client kubernetes.Interface
	needed []authorizationv1.ResourceAttributes

	mu      sync.Mutex // guards the fields below
	known   bool
	missing []string
}

// follow asks for the permissions at an interval until the context ends.
func (o *ownPermissions) follow(ctx context.Context) {
	for ctx.Err() == nil {
		interval := ownPermissionsInterval
		if !o.look(ctx) {
			interval = ownPermissionsRetry
		}
		sleep(ctx, interval)
	}
}

// look asks once, and reports whether the API server has answered.
func (o *ownPermissions) look(ctx context.Context) bool {
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

// allows asks for one permission. An API server that refuses the question itself leaves it open, and
// the permission is taken to be there.
func (o *ownPermissions) allows(ctx context.Context, permission authorizationv1.ResourceAttributes) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, ownPermissionTimeout)
	defer cancel()
	review, err := o.client.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, &authorizationv1.SelfSubjectAccessReview{
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
		slog.Error("the service answers no calls, because its account lacks permissions", "missing", missing)
	}
	o.known, o.missing = true, missing
}

// lacking returns an error that says which permissions are missing, if any are. They are not
// missing as long as the API server has not said so.
func (o *ownPermissions) lacking() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.missing) == 0 {
		return nil
	}
	return fmt.Errorf("the service's account may not %s", strings.Join(o.missing, ", "))
}

// granted returns nil when the API server has said that no permission is missing.
func (o *ownPermissions) granted() error {
	o.mu.Lock()
	known := o.known
	o.mu.Unlock()
	if !known && len(o.needed) > 0 {
		return errors.New("the API server has not said yet what the service may do")
	}
	return o.lacking()
}
