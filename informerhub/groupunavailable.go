package informerhub

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/discovery"
)

// GroupUnavailableError says that the API server does not know at the moment what a group of
// its APIs serves, because the server behind an aggregated API does not answer.
type GroupUnavailableError struct {
	Name  string // of the resource that was looked for
	Group string
}

func (e *GroupUnavailableError) Error() string {
	return fmt.Sprintf("the API group %q does not answer, so %q cannot be served now: try again, and if this lasts look at the group's APIService",
		e.Group, e.Name)
}

// unavailable returns an error if a resource's name has a group that discovery could not ask.
func (c *catalogue) unavailable(name string) error {
	for groupVersion, err := range c.failed {
		if group := groupVersion.Group; isAway(err) && group != "" && strings.HasSuffix(name, "."+group) {
			return &GroupUnavailableError{Name: name, Group: group}
		}
	}
	return nil
}

// isAway reports whether discovery could not ask a group. A group that is not found, or has no
// resources, is not served.
func isAway(err error) bool {
	var stale discovery.StaleGroupVersionError
	var status apierrors.APIStatus
	return errors.As(err, &stale) || errors.As(err, &status) && status.Status().Code >= http.StatusInternalServerError
}
