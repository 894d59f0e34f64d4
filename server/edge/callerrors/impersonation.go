package callerrors

import (
	"errors"
	"regexp"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kubeconnect/kubeconnect/informerhub"
)

// impersonationDenied matches the API server's message about a request that the service is not allowed to make
// as the caller.
var impersonationDenied = regexp.MustCompile(`User "[^"]*" cannot impersonate(-on)?(:[a-z*-]+)* (resource|path) `)

// withGrant returns the error with who can grant what is missing, if the service is not allowed to make a request
// as the caller. The API server's message names the service's account, and a verb that few people know.
func withGrant(err error) error {
	var failed *apierrors.StatusError
	var snapshot *informerhub.SnapshotError
	if !errors.As(err, &failed) || errors.As(err, &snapshot) || !apierrors.IsForbidden(failed) || !impersonationDenied.MatchString(failed.ErrStatus.Message) {
		return err
	}
	status := *failed.ErrStatus.DeepCopy()
	status.Message += "; this permission is missing to the service, not to its caller: an administrator of the cluster can grant it to the " +
		"service's account (the Helm chart's values writes.allowed and writes.mode)"
	return &apierrors.StatusError{ErrStatus: status}
}
