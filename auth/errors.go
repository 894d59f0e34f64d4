package auth

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// errEnded is what look-ups answer when the service ends.
var errEnded = errors.New("shutting down")

// errNoTurn is what a look-up answers that may not wait, or has waited for long enough.
var errNoTurn = errors.New("too many look-ups before this one")

// errNoNewcomer is the errNoTurn of tokens that are not known.
var errNoNewcomer = fmt.Errorf("%w, of newcomers", errNoTurn)

// errNoVerification is the errNoTurn of client certificates.
var errNoVerification = fmt.Errorf("%w, of client certificates", errNoTurn)

// maxReturn is the longest time, in seconds, after which who has had no turn is told to
// call again.
const maxReturn = 5

// turnedAway says that a caller has had no turn, and when to call again: by chance, so
// that those who were refused together do not come back together.
func turnedAway(err error) error {
	what := "too many questions about you wait for the cluster's answer"
	switch {
	case errors.Is(err, errNoNewcomer):
		what = "too many calls from your address, or in all, have tokens that are not known yet"
	case errors.Is(err, errNoVerification):
		what = "too many connections from your address have client certificates that are not known yet"
	}
	seconds := 1 + rand.IntN(maxReturn)
	return apierrors.NewTooManyRequests(fmt.Sprintf("%s: call again in %d s", what, seconds), seconds)
}

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
