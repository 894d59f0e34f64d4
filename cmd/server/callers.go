package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"

	"k8s.io/client-go/kubernetes"

	"github.com/kubeconnect/kubeconnect/auth"
	"github.com/kubeconnect/kubeconnect/cmd/server/config"
	"github.com/kubeconnect/kubeconnect/cmd/server/preflight"
	"github.com/kubeconnect/kubeconnect/server/edge/callerrors"
	"github.com/kubeconnect/kubeconnect/server/edge/health"
)

// The types of reviews, as metrics name them.
const (
	tokenReview         = "TokenReview"
	subjectAccessReview = "SubjectAccessReview"
)

// callers contains what authenticates and authorizes the callers of the service.
type callers struct {
	authenticator auth.Authenticator
	authorizer    *auth.Authorizer
	// guard rejects requests that are not allowed at all, before authentication.
	guard func(http.Handler) http.Handler
	// ConfigureTLS configures TLS to request a client certificate.
	configureTLS func(*tls.Config) *tls.Config
	// reviews are the statistics of reviews, by their type.
	reviews health.Reviews
	// run keeps the data about callers up to date until the context is done.
	run func(context.Context)
}

// newCallers returns the callers that the settings select.
func newCallers(s config.Settings, clients *auth.ClientFactory) callers {
	client := clients.ForService().Typed
	authorizer := auth.NewAuthorizer(client, auth.AuthorizerOptions{
		Extra:       s.Reviews.Extra,
		FollowedTTL: config.FollowedTTL(s.Reviews.PermissionInterval),
		Grace:       s.Reviews.Grace,
	})
	if s.Auth == config.AuthNone {
		return callers{
			authenticator: auth.KubeconfigAuthenticator{},
			authorizer:    authorizer, // not run: RBAC is not followed
			guard:         auth.LoopbackOnly,
			configureTLS:  func(base *tls.Config) *tls.Config { return base },
			reviews:       health.Reviews{subjectAccessReview: authorizer},
			run:           func(context.Context) {},
		}
	}
	cluster := auth.NewClusterAuthenticator(client, auth.ClusterAuthenticatorOptions{
		Audiences:   s.Audiences,
		KeepTokens:  s.WriteAs == config.WriteAsToken,
		FollowedTTL: config.FollowedTTL(s.Reviews.TokenInterval),
		Metadata:    clients.ServiceMetadata(),
		Grace:       s.Reviews.Grace,
	})
	return callers{
		authenticator: cluster,
		authorizer:    authorizer,
		guard:         func(next http.Handler) http.Handler { return auth.StripImpersonation(auth.WithPeer(next)) },
		configureTLS:  cluster.TLSConfig,
		reviews:       health.Reviews{tokenReview: cluster, subjectAccessReview: authorizer},
		run: func(ctx context.Context) {
			var running sync.WaitGroup
			running.Go(func() { cluster.Run(ctx) })
			running.Go(func() { authorizer.Run(ctx) })
			if s.WriteAs == config.WriteAsConstrainedImpersonate {
				running.Go(func() { warnOfUnlimitedImpersonation(ctx, client) })
			}
			running.Wait()
		},
	}
}

// requireMetrics passes requests of clients that the cluster allows to get the path of the metrics, as the
// components of Kubernetes do.
func (c callers) requireMetrics(next http.Handler) http.Handler {
	return c.guard(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		identity, err := c.authenticator.Authenticate(r.Context(), r.Header)
		var decision auth.Decision
		if err == nil {
			decision, err = c.authorizer.Authorize(r.Context(), identity, auth.Attributes{Verb: "get", Path: metricsPath})
		}
		switch {
		case errors.Is(err, auth.ErrUnauthenticated):
			w.Header().Set("WWW-Authenticate", "Bearer")
			http.Error(w, err.Error(), http.StatusUnauthorized)
		case err != nil:
			http.Error(w, callerrors.StatusOf(err).GetMessage(), http.StatusServiceUnavailable)
		case !decision.Allowed:
			http.Error(w, fmt.Sprintf("%s is not allowed to get the path %s: bind a ClusterRole with nonResourceURLs [%s] and the verb get to it "+
				"(the Helm chart creates one, whose name ends with -metrics-reader)", identity, metricsPath, metricsPath), http.StatusForbidden)
		default:
			next.ServeHTTP(w, r)
		}
	}))
}

// warnOfUnlimitedImpersonation logs if the service's account may impersonate users for every request, although
// the service needs only what is granted for constrained impersonation. It returns when the API server has
// said so, or the context is done.
func warnOfUnlimitedImpersonation(ctx context.Context, client kubernetes.Interface) {
	for ; ctx.Err() == nil; sleep(ctx, readinessInterval) {
		reviewing, cancel := context.WithTimeout(ctx, ownPermissionTimeout)
		all, err := preflight.MayImpersonateForAll(reviewing, client.AuthorizationV1().SelfSubjectAccessReviews())
		cancel()
		if all {
			slog.Warn("the service's account is allowed to impersonate users without a limit, which is more than it needs: " +
				"remove the verb impersonate (or *) on users from its roles")
		}
		if err == nil {
			return
		}
	}
}
