package server

import (
	"context"
	"fmt"

	"connectrpc.com/connect"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kubeconnect/kubeconnect/informerhub"
)

func badRequest(format string, args ...any) error {
	return apierrors.NewBadRequest(fmt.Sprintf(format, args...))
}

// laterField is a request field that the API has and the service does not serve
// yet.
type laterField struct {
	name string
	set  bool
}

// refuse answers UNIMPLEMENTED if any of the fields is set: better than to ignore
// what a caller relies on.
func refuse(fields ...laterField) error {
	for _, field := range fields {
		if field.set {
			return connect.NewError(connect.CodeUnimplemented,
				fmt.Errorf("%s is not served yet: leave it out", field.name))
		}
	}
	return nil
}

// resolve finds the resource that a request names.
func (s *resources) resolve(ctx context.Context, name string) (informerhub.Resource, error) {
	if name == "" {
		return informerhub.Resource{}, badRequest("resource is required: name one in kubectl's syntax, such as \"pods\" or \"deployments.apps\"")
	}
	return s.hub.Resolver().Resolve(ctx, name)
}

// cacheFor answers the cache of the resource that a request names.
func (s *resources) cacheFor(ctx context.Context, name string) (*informerhub.Cache, error) {
	resource, err := s.resolve(ctx, name)
	if err != nil {
		return nil, err
	}
	if !resource.Watchable {
		return nil, apierrors.NewMethodNotSupported(resource.GroupResource(), "list and watch")
	}
	return s.hub.Cache(ctx, resource)
}

// checkName refuses a request for one object that does not name it.
func checkName(resource informerhub.Resource, namespace, name string) error {
	switch {
	case name == "":
		return badRequest("name is required")
	case resource.Namespaced && namespace == "":
		return badRequest("namespace is required: %s live in namespaces", resource.Name)
	case !resource.Namespaced && namespace != "":
		return badRequest("%s have no namespaces: leave the namespace out", resource.Name)
	}
	return nil
}
