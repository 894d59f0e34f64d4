package change

import (
	"context"

	"k8s.io/client-go/rest"

	"github.com/kubeconnect/kubeconnect/auth"
	"github.com/kubeconnect/kubeconnect/server/internal/apierror"
)

// Writer makes changes as one caller, to resources of all groups. It is safe for concurrent use.
type Writer struct {
	Clients *auth.Clients
	// Sends is called before a change is sent. Default: nothing.
	Sends func()
}

// Result is the API server's response to a change.
type Result struct {
	Body     []byte   // as the API server sent it: an object, a list or a Status
	Created  bool     // the change has created the object
	Warnings []string // of the API server
}

// Do makes a change, and returns the API server's response. The error is the API server's, with a
// clearer message where that does not describe the fault, or a *discovery.UnavailableError.
func (w Writer) Do(ctx context.Context, dest Target, change Change) (Result, error) {
	change, version, err := w.ofExisting(ctx, dest, change)
	if err != nil {
		return Result{}, err
	}
	// The REST clients of the clientset's groups differ only in the path, which dest replaces.
	request, err := change.request(w.Clients.Typed.CoreV1().RESTClient(), dest)
	if err != nil {
		return Result{}, err
	}
	if w.Sends != nil {
		w.Sends()
	}
	response, err := send(ctx, dest.addTo(request))
	if err != nil {
		return Result{}, asVersionConflict(clarified(err, dest, change), dest, version)
	}
	return resultOf(response)
}

func send(ctx context.Context, request *rest.Request) (rest.Result, error) {
	ctx, outcome := WithOutcome(ctx)
	response := request.Do(ctx)
	if err := response.Error(); err != nil {
		return response, outcome.Complete(apierror.Unavailable(ctx, err))
	}
	return response, nil
}

func resultOf(response rest.Result) (result Result, err error) {
	result.Body, err = response.WasCreated(&result.Created).Raw()
	for _, warning := range response.Warnings() {
		result.Warnings = append(result.Warnings, warning.Text)
	}
	return result, err
}
