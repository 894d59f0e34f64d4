package target

import (
	"context"
	"errors"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/validate/content"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/informerhub/object"
	"github.com/kubeconnect/kubeconnect/server/edge/bounds"
	"github.com/kubeconnect/kubeconnect/server/internal/apierror"
)

func CheckConsistency(consistency kubeconnectv1.Consistency) error {
	if _, ok := kubeconnectv1.Consistency_name[int32(consistency)]; !ok {
		return apierror.BadRequest("unknown consistency %d: give CACHED or LATEST", consistency)
	}
	return nil
}

func CheckVersion(version string) error {
	if version != "" && !object.IsVersion(version) {
		return apierror.BadRequest("invalid min_resource_version %q: give the resource version of a response", version)
	}
	return nil
}

// AwaitVersion waits until the cache has reached the version that a read must see.
func AwaitVersion(ctx context.Context, cache *informerhub.Cache, version string) error {
	if version == "" {
		return nil
	}
	return cache.Await(ctx, version, VersionTimeout)
}

// CheckName rejects a request for one object that does not name the object.
func CheckName(resource informerhub.Resource, namespace, name string) error {
	if name == "" {
		return apierror.BadRequest("name is required")
	}
	return errors.Join(CheckNamespace(resource, namespace), CheckSegment("name", name))
}

// CheckNamespace rejects a request that lacks the namespace of a namespaced resource, or has one
// for a cluster-scoped resource.
func CheckNamespace(resource informerhub.Resource, namespace string) error {
	switch {
	case resource.Namespaced && namespace == "":
		return NewScopeError(apierror.BadRequest("namespace is required: %s are namespaced", resource.Name))
	case !resource.Namespaced && namespace != "":
		return NewScopeError(apierror.BadRequest("%s have no namespaces: leave the namespace out", resource.Name))
	}
	return CheckSegment("namespace", namespace)
}

// NonObjectSubresources are the subresources that are connections or plain text, with the
// alternative for each.
var NonObjectSubresources = map[string]string{
	"log":         "call PodService.GetLogs",
	"exec":        "use kubectl exec",
	"attach":      "use kubectl attach",
	"portforward": "use kubectl port-forward",
	"proxy":       "use kubectl proxy",
}

// CheckSubresource rejects an invalid name of a subresource, such as "a/../b", and a subresource
// that cannot be read or written as an object.
func CheckSubresource(subresource string) error {
	if instead, ok := NonObjectSubresources[subresource]; ok {
		return apierror.BadRequest("subresource %q is no object: %s", subresource, instead)
	}
	return CheckSegment("subresource", subresource)
}

// CheckSegment rejects a value that is too long, or not a valid segment of the API server's paths.
func CheckSegment(field, value string) error {
	if err := bounds.CheckLength(field, value); err != nil {
		return err
	}
	if wrong := content.IsPathSegmentName(value); len(wrong) > 0 {
		return apierror.BadRequest("invalid %s %q: it %s", field, value, strings.Join(wrong, " and "))
	}
	return nil
}

// VersionTimeout is the time that a read waits for a cache that is older than the version that the read must see,
// or than the version of its resume token.
const VersionTimeout = 5 * time.Second
