package discovery

import (
	"context"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/kubeconnect/kubeconnect/informerhub/object"
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

// AsUnavailable converts an error of a client to an UnavailableError, unless it is a response of the
// API server or the end of the caller's context.
func AsUnavailable(ctx context.Context, client rest.Interface, err error) error {
	if apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse) && apierrors.IsBadRequest(err) {
		// No API server responds like this; something else is listening there.
		cause, _ := apierrors.StatusCause(err, metav1.CauseTypeUnexpectedServerResponse)
		err = fmt.Errorf("%v: %s", err, cause.Message)
	}
	return UnavailableAt(ctx, client.Get().URL().Host, err)
}

// UnavailableAt is AsUnavailable for a request to a host, of which every response is the API
// server's.
func UnavailableAt(ctx context.Context, host string, err error) error {
	var status apierrors.APIStatus
	switch {
	case errors.As(err, &status):
		return err
	case ctx.Err() != nil:
		return fmt.Errorf("waiting for the API server: %w", context.Cause(ctx))
	}
	return &UnavailableError{Host: host, Err: err}
}

// ResourceGoneError is the error for a resource that the cluster no longer serves: its CRD was
// deleted, no longer serves this version, or was recreated.
type ResourceGoneError struct{ Resource object.Resource }

func (e *ResourceGoneError) Error() string {
	return fmt.Sprintf("the cluster no longer serves %s", e.Resource)
}

// UnknownResourceError is the error for a name that matches no resource of the cluster.
type UnknownResourceError struct {
	Name       string
	NearMisses []string // up to three similar names
}

func (e *UnknownResourceError) Error() string {
	if len(e.NearMisses) == 0 {
		return fmt.Sprintf("the cluster serves no resource %q", e.Name)
	}
	return fmt.Sprintf("the cluster serves no resource %q; did you mean %s?",
		e.Name, quotedList(e.NearMisses))
}

func quotedList(names []string) string {
	quoted := make([]string, len(names))
	for i, name := range names {
		quoted[i] = fmt.Sprintf("%q", name)
	}
	return strings.Join(quoted, " or ")
}

// GroupUnavailableError is the error for an API group whose resources are unknown at the moment,
// because the server behind an aggregated API does not respond.
type GroupUnavailableError struct {
	Name  string // of the requested resource
	Group string
}

func (e *GroupUnavailableError) Error() string {
	return fmt.Sprintf("the API group %q does not answer, so %q cannot be served now: "+
		"try again, and if this lasts look at the group's APIService",
		e.Group, e.Name)
}

// NoSchemaError is the error for a kind without a published schema.
type NoSchemaError struct{ Resource object.Resource }

func (e *NoSchemaError) Error() string {
	return fmt.Sprintf("the API server publishes no schema of %s, the kind of %s", e.Resource.Kind, e.Resource)
}
