package auth

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// errShutDown is returned by reviews after the service has shut down.
var errShutDown = errors.New("shutting down")

// errUndecided is the error of a review that timed out although there was a connection to the API
// server: an authorizer or authenticator of the API server is slow, or the review is queued there.
var errUndecided = errors.New("the API server has not decided in time")

// errAuthorizerFails is the error of a review that is answered without a decision, because an authorizer
// of the API server has failed. The API server itself answers such a request with an internal error, and
// not with a denial.
var errAuthorizerFails = errors.New("an authorizer of the API server fails")

// errNoSlot is returned by a review that is not allowed to wait, or has waited for too long.
var errNoSlot = errors.New("too many reviews are queued")

// errNoSlotForUnknownToken is the errNoSlot of unknown tokens.
var errNoSlotForUnknownToken = fmt.Errorf("%w of unknown tokens", errNoSlot)

// errNoSlotForVerification is the errNoSlot of client certificates.
var errNoSlotForVerification = fmt.Errorf("%w of client certificates", errNoSlot)

// tokenReviewError is the error of a TokenReview. The cause may contain the token: it is only for the
// breaker, and is neither returned nor logged.
type tokenReviewError struct {
	text  string // without the token
	cause error
}

func (e *tokenReviewError) Error() string { return e.text }

// maxRetryAfter bounds the Retry-After of rejected callers, in seconds.
const maxRetryAfter = 5

// throttledError returns the error for a caller that got no slot. The retry delay is random, so that
// callers that were rejected together do not return together.
func throttledError(err error) error {
	problem := "too many permission reviews of this caller are queued"
	switch {
	case errors.Is(err, errNoSlotForUnknownToken):
		problem = "too many calls with unknown tokens from this address, or from all addresses"
	case errors.Is(err, errNoSlotForVerification):
		problem = "too many connections with unknown client certificates from this address"
	}
	seconds := 1 + rand.IntN(maxRetryAfter)
	return apierrors.NewTooManyRequests(fmt.Sprintf("%s: call again in %d s", problem, seconds), seconds)
}

// unauthenticated returns an [ErrUnauthenticated] with a reason.
func unauthenticated(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrUnauthenticated, fmt.Errorf(format, args...))
}

// unavailable returns the error for a question that the cluster could not be asked. It does not
// contain the API server's status: a 401 or 403 would concern the service, and callers would apply
// it to themselves. If the caller's own context is done, it returns the cause of that. The details
// are only in the log, because they contain addresses inside the cluster. If the breaker has blocked
// the review, the error contains the time to call again.
func unavailable(ctx context.Context, question string, err error) error {
	var blocked *blockedError
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("asking the cluster %s: %w", question, context.Cause(ctx))
	case !errors.As(err, &blocked):
		return apierrors.NewServiceUnavailable("the cluster could not be asked " + question + "; try again")
	}
	seconds := int(blocked.retryIn/time.Second) + 1
	failed := apierrors.NewServiceUnavailable(fmt.Sprintf("the cluster cannot be asked %s: %s; call again in %d s", question, blocked, seconds))
	failed.ErrStatus.Details = &metav1.StatusDetails{RetryAfterSeconds: int32(seconds)}
	return failed
}
