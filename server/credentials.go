package server

import (
	"fmt"
	"math"

	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"

	"github.com/kubeconnect/kubeconnect/auth"
	"github.com/kubeconnect/kubeconnect/internal/fairqueue"
)

// credentialOf returns what tells the holders of one user's credentials apart, as far as the API server
// says it: the pods of a service account, whichever token each has at the moment, and tokens and
// certificates with an ID. Where it says nothing, all credentials of a user are one.
func credentialOf(identity auth.Identity) string {
	for _, key := range []string{serviceaccount.PodUIDKey, user.CredentialIDKey} {
		if values := identity.Extra[key]; len(values) == 1 && values[0] != "" {
			return callerOf(identity) + "\x00" + values[0]
		}
	}
	return callerOf(identity)
}

// newCredentialStreams returns the streams of credentials; nil for no limit.
func newCredentialStreams(perCredential int) *fairqueue.Queue {
	if perCredential == 0 {
		return nil
	}
	return fairqueue.New(fairqueue.Limits{Total: math.MaxInt64, PerKey: int64(perCredential)})
}

// holdStreams counts some streams more to a credential of a caller, until release. It returns a
// *limitError if these are more than one credential may have.
func (c *callers) holdStreams(name, credential string, streams int) (release func(), err error) {
	if c.credentials == nil || streams == 0 {
		return func() {}, nil
	}
	release, ok := c.credentials.TryAcquire(credential, int64(streams))
	if !ok {
		return nil, &limitError{fmt.Sprintf("you would have more than %d streams open with this credential, which is as many as one may", c.limits.CredentialStreams), c.nextTurn(name)}
	}
	return release, nil
}
