package auth

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// errEnded is what look-ups answer when the service ends.
var errEnded = errors.New("shutting down")

// unauthenticated is an [ErrUnauthenticated] that says why.
func unauthenticated(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrUnauthenticated, fmt.Errorf(format, args...))
}

// unavailable says that the cluster could not be asked something. It is no answer to
// the caller's question, so the API server's status is not handed on: a 401 or 403
// would be about the service, and callers would take it for theirs. The end of the
// caller's own context stays what it is.
// What exactly went wrong is in the log, for it names addresses of the cluster's inside.
func unavailable(ctx context.Context, question string) error {
	if ctx.Err() != nil {
		return fmt.Errorf("asking the cluster %s: %w", question, context.Cause(ctx))
	}
	return apierrors.NewServiceUnavailable("the cluster could not be asked " + question + "; try again")
}
