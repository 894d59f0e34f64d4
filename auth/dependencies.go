package auth

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
)

// maxSkew is the tolerated difference between the clocks of the service and of the API server. From
// this time before its expiration, a token is reviewed every few seconds.
const maxSkew = time.Minute

// dependencies follows the objects and keys that service account tokens depend on: the issuer's
// keys, the service account, and the pod. While all of them exist, an accepted token need not be
// reviewed again. dependencies never accepts a token: only the API server does. The zero value
// follows nothing. The methods are safe for concurrent use.
type dependencies struct {
	ttl      time.Duration // how long the review of a token is cached
	issuer   *issuer
	accounts *liveObjects
	pods     *liveObjects
}

// newDependencies returns dependencies that are read through client and objects.
func newDependencies(client kubernetes.Interface, objects metadata.Interface, ttl time.Duration) *dependencies {
	reviews := client.AuthorizationV1().SelfSubjectAccessReviews()
	return &dependencies{
		ttl:      ttl,
		issuer:   newIssuer(client.Discovery().RESTClient()),
		accounts: newLiveObjects("serviceaccounts", reviews, objects),
		pods:     newLiveObjects("pods", reviews, objects),
	}
}

// run follows the dependencies until the context is done. It follows objects only after a token
// depends on one.
func (d *dependencies) run(ctx context.Context) {
	if d.ttl == 0 {
		return
	}
	var running sync.WaitGroup
	running.Go(func() { d.issuer.run(ctx) })
	running.Go(func() { d.accounts.run(ctx) })
	running.Go(func() { d.pods.run(ctx) })
	running.Wait()
}

// dependenciesOf returns the dependencies of an accepted token, and the time until which it need not be
// reviewed while they exist. The time is zero if they are not known.
func (d *dependencies) dependenciesOf(token string, accepted Identity, reviewed time.Time) (boundTo, time.Time) {
	if d.ttl == 0 || !strings.HasPrefix(accepted.Username, serviceaccount.ServiceAccountUsernamePrefix) {
		return boundTo{}, time.Time{}
	}
	bound, err := d.issuer.verify(token, accepted)
	if err != nil {
		slog.Debug("service account token is reviewed every few seconds", "user", accepted.Username, "error", err)
		return boundTo{}, time.Time{}
	}
	d.accounts.need()
	if bound.pod != "" {
		d.pods.need()
	}
	// Tokens that were reviewed together are not reviewed together again.
	until := reviewed.Add(d.ttl - rand.N(d.ttl/2+1))
	if end := bound.expires.Add(-maxSkew); end.Before(until) {
		until = end
	}
	return bound, until
}

// allExist reports whether all dependencies of a token are known to exist unchanged since the token was
// reviewed.
func (d *dependencies) allExist(bound boundTo, reviewed time.Time) bool {
	return d.issuer.has(bound.key) && d.accounts.has(bound.account, reviewed) &&
		(bound.pod == "" || d.pods.has(bound.pod, reviewed))
}

// isGone reports whether something that a token depends on was seen to be deleted. It returns false if
// the dependencies are not known.
func (d *dependencies) isGone(bound boundTo) bool {
	return bound.account != "" && (d.accounts.isGone(bound.account) || bound.pod != "" && d.pods.isGone(bound.pod))
}
