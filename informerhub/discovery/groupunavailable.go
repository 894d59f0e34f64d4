package discovery

import (
	"errors"
	"net/http"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
)

// unavailable returns an error if a resource's name has a group that discovery could not read, or
// matches a resource that such a group had when it last responded.
func (s *Snapshot) unavailable(name string) error {
	for _, list := range s.lastKnown {
		groupVersion, _ := schema.ParseGroupVersion(list.GroupVersion)
		if slices.ContainsFunc(list.APIResources, func(served metav1.APIResource) bool {
			return nameMatches(name, groupVersion, served)
		}) {
			return &GroupUnavailableError{Name: name, Group: groupVersion.Group}
		}
	}
	for groupVersion, err := range s.failed {
		if group := groupVersion.Group; isUnavailable(err) && group != "" && strings.HasSuffix(name, "."+group) {
			return &GroupUnavailableError{Name: name, Group: group}
		}
	}
	return nil
}

// lastLists are the resources of each version of a group when it last responded, as long as
// discovery names the group.
type lastLists map[schema.GroupVersion]*metav1.APIResourceList

// update records the result of discovery, and returns the recorded lists of groups that did not
// respond this time.
func (l *lastLists) update(
	served []*metav1.APIResourceList, failed map[schema.GroupVersion]error,
) (unavailable []*metav1.APIResourceList) {
	next := make(lastLists)
	for _, list := range served {
		if groupVersion, err := schema.ParseGroupVersion(list.GroupVersion); err == nil {
			next[groupVersion] = list
		}
	}
	for groupVersion, err := range failed {
		if list := (*l)[groupVersion]; list != nil && isUnavailable(err) {
			next[groupVersion] = list
			unavailable = append(unavailable, list)
		}
	}
	*l = next
	return unavailable
}

// isUnavailable reports whether discovery could not read a group. A group that is not found, or has
// no resources, is not served.
func isUnavailable(err error) bool {
	var stale discovery.StaleGroupVersionError
	var status apierrors.APIStatus
	return errors.As(err, &stale) || errors.As(err, &status) && status.Status().Code >= http.StatusInternalServerError
}
