// Package apierror has the errors that several parts of the server return: errors in the form of the
// API server's, and those of requests to the API server.
package apierror

import (
	"context"
	"errors"
	"fmt"
	"net/url"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeconnect/kubeconnect/auth"
	"github.com/kubeconnect/kubeconnect/informerhub/discovery"
)

// BadRequest returns an error that rejects a request, with a message like fmt.Sprintf's.
func BadRequest(format string, args ...any) error {
	return apierrors.NewBadRequest(fmt.Sprintf(format, args...))
}

// Failure returns an error in the form of the API server's errors.
func Failure(reason metav1.StatusReason, format string, args ...any) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Reason: reason, Message: fmt.Sprintf(format, args...)}}
}

// Unavailable returns the error of a request to the API server that was made as a caller: a
// *discovery.UnavailableError if the API server was not reached. The end of ctx, an error response,
// and a request that could not be made are other errors.
func Unavailable(ctx context.Context, err error) error {
	var failed *url.Error
	switch sent := errors.As(err, &failed); {
	case !sent && ctx.Err() == nil:
		return err
	case !sent:
		return discovery.UnavailableAt(ctx, "", err)
	case IsNoFailure(failed.Err) && ctx.Err() == nil:
		return failed.Err
	}
	return discovery.UnavailableAt(ctx, hostOf(failed.URL), failed.Err)
}

// hostOf returns the host in an address; the address itself if it cannot be parsed.
func hostOf(address string) string {
	parsed, err := url.Parse(address)
	if err != nil {
		return address
	}
	return parsed.Host
}

// IsNoFailure reports whether a request to the API server has ended with an error of the caller's:
// a response of the service or the API server, or a client that has disconnected.
func IsNoFailure(err error) bool {
	var status apierrors.APIStatus
	return errors.As(err, &status) || errors.Is(err, auth.ErrUnauthenticated) || errors.Is(err, context.Canceled)
}
