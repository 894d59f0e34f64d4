package informerhub

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// UnavailableError is the error of an unreachable API server. Its message is for the log, because
// it contains an address inside the cluster.
type UnavailableError struct {
	Host string // host that was contacted
	Err  error
}

func (e *UnavailableError) Error() string {
	return fmt.Sprintf("the API server at %s cannot be reached: %v", e.Host, e.Err)
}

func (e *UnavailableError) Unwrap() error { return e.Err }

// asUnavailable converts an error to an UnavailableError, unless it is a response of the API server
// or the end of the caller's context.
func asUnavailable(ctx context.Context, client rest.Interface, err error) error {
	var status apierrors.APIStatus
	switch {
	case apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse) && apierrors.IsBadRequest(err):
		// No API server responds like this; something else is listening there.
		cause, _ := apierrors.StatusCause(err, metav1.CauseTypeUnexpectedServerResponse)
		err = fmt.Errorf("%v: %s", err, cause.Message)
	case errors.As(err, &status):
		return err
	case ctx.Err() != nil:
		return fmt.Errorf("waiting for the API server: %w", context.Cause(ctx))
	}
	return &UnavailableError{Host: client.Get().URL().Host, Err: err}
}

// ResourceGoneError is the error for a resource that the cluster no longer serves: its CRD was
// deleted, no longer serves this version, or was recreated.
type ResourceGoneError struct{ Resource Resource }

func (e *ResourceGoneError) Error() string {
	return fmt.Sprintf("the cluster no longer serves %s", e.Resource)
}

// SnapshotError is the error for a cache without a snapshot, because the API server does not send
// one to the service. It does not depend on the caller: another replica, or a later call, may
// succeed.
type SnapshotError struct {
	Resource Resource
	Err      error // the last error of the API server, or errNoSnapshot
}

func (e *SnapshotError) Error() string {
	if isDenied(e.Err) {
		return fmt.Sprintf("the service may not list %s: its operator must give it that permission",
			e.Resource.GroupResource())
	}
	return fmt.Sprintf("the service has no snapshot of %s yet: %v; "+
		"try again, and if this lasts ask the operator of the service",
		e.Resource.GroupResource(), e.Err)
}

func (e *SnapshotError) Unwrap() error { return e.Err }

// errNoSnapshot is the error of a slow API server that has not failed.
var errNoSnapshot = errors.New("the API server has not sent all of it")

// ErrClosed is the error of methods that are called after Close.
var ErrClosed = errors.New("the hub has been closed")

// ErrForgotten is the error for a version whose state the cache can no longer reconstruct.
var ErrForgotten = errors.New("the cache does not reach back to this version")

// ErrUndone is the error for a version of a history that has been undone.
var ErrUndone = errors.New("this version is of a history that has been undone")

// ErrInterrupted is the error of an interrupted Next.
var ErrInterrupted = errors.New("the watcher was interrupted")

var errNoHistory = errors.New("the cache has no API server to query")

var errHistoryEnded = errors.New("the API server ended its history early")

// errHistoryExpired is the error for a version that the API server no longer has.
var errHistoryExpired = errors.New("the API server's history does not go back that far")

// errHistorySilent is the error of a request during which the API server sent nothing that ends
// the history.
var errHistorySilent = errors.New("the API server has not reported how far its history reaches")

// errUncacheable is the error for a resource that must not be cached.
var errUncacheable = errors.New("the resource is not cached")

var errNoProgress = errors.New("the API server has not reported its progress")
