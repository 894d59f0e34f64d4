package discovery

import (
	"context"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubeconnect/kubeconnect/informerhub/object"
)

// maxTypesAge is the maximum age of a list of types. It bounds the delay until a new CRD is
// visible, and limits frequent callers to one request to the API server a second.
const maxTypesAge = time.Second

// Type is discovery's description of a resource, in the version that the cluster prefers.
type Type struct {
	object.Resource
	Singular     string
	ShortNames   []string
	Categories   []string
	Verbs        []string
	Subresources []string // in order
	Versions     []string // all served versions, the preferred one first
}

// FailedGroupVersion is a version of an API group that discovery could not read, because the API server
// behind it is down.
type FailedGroupVersion struct {
	schema.GroupVersion
	Err error
}

// Types returns the resources that the cluster serves, and the versions of groups whose
// resources are unknown, both in order. The data is at most a second old. The error is an
// [UnavailableError] if discovery could not be read.
func (r *Resolver) Types(ctx context.Context) ([]Type, []FailedGroupVersion, error) {
	recent, err := r.requests.Recent(ctx, maxTypesAge)
	if err != nil {
		return nil, nil, err
	}
	return recent.types(), recent.failures(), nil
}

// preferredFirst returns the versions of a group, the preferred one first.
func preferredFirst(group metav1.APIGroup) []string {
	versions := []string{}
	for _, version := range group.Versions {
		versions = append(versions, version.Version)
	}
	slices.SortStableFunc(versions, func(a, b string) int {
		switch group.PreferredVersion.Version {
		case a:
			return -1
		case b:
			return 1
		}
		return 0
	})
	return versions
}
