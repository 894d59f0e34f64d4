package edge

import (
	"fmt"
	"math"

	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"

	"github.com/kubeconnect/kubeconnect/auth"
	"github.com/kubeconnect/kubeconnect/internal/fairqueue"
)

// CredentialKey returns a key that distinguishes the credentials of one user, as far as the API
// server identifies them: the pods of a service account, whichever token each of them uses, and
// tokens and certificates with an ID. All other credentials of a user share a key.
func CredentialKey(identity auth.Identity) string {
	for _, key := range []string{serviceaccount.PodUIDKey, user.CredentialIDKey} {
		if values := identity.Extra[key]; len(values) == 1 && values[0] != "" {
			return CallerKey(identity) + keyBorder + values[0]
		}
	}
	return CallerKey(identity)
}

// newCredentialStreams returns the queue of streams by credential; 0 is no limit.
func newCredentialStreams(perCredential int) *fairqueue.Queue {
	return fairqueue.New(fairqueue.Limits{Total: math.MaxInt64, PerKey: int64(perCredential)})
}

// HoldStreams counts streams of a credential of a caller until release is called. It returns a
// *LimitError if the credential would have more streams than allowed.
func (c *Callers) HoldStreams(name, credential string, streams int) (release func(), err error) {
	if streams == 0 {
		return func() {}, nil
	}
	release, ok := c.credentials.TryAcquire(credential, int64(streams))
	if !ok {
		return nil, &LimitError{Limit: LimitCredentialStreams, Over: fmt.Sprintf("stream limit reached: %d streams open with this credential", c.limitsNow().CredentialStreams), Wait: c.retryAfter(name)}
	}
	return release, nil
}
