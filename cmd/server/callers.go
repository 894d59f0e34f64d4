package main

import (
	"context"
	"crypto/tls"
	"net/http"
	"sync"

	"github.com/kubeconnect/kubeconnect/auth"
	"github.com/kubeconnect/kubeconnect/server"
)

// The kinds of reviews, as metrics name them.
const (
	tokenReview         = "TokenReview"
	subjectAccessReview = "SubjectAccessReview"
)

// callers is how the service knows who calls and what they may do.
type callers struct {
	authenticator auth.Authenticator
	authorizer    *auth.Authorizer
	// guard lets in what is allowed to ask at all.
	guard func(http.Handler) http.Handler
	// asking has callers asked for a client certificate.
	asking func(*tls.Config) *tls.Config
	// reviews are what the cluster was asked about them, by the kind of review.
	reviews map[string]server.ReviewSource
	// run keeps what is known of them, until the context ends.
	run func(context.Context)
}

// callersOf is what the settings say.
func callersOf(s settings, clients *auth.ClientFactory) callers {
	client := clients.Own().Typed
	authorizer := auth.NewAuthorizer(client, auth.AuthorizerOptions{Extra: s.reviews.extra, FollowedTTL: followedTTL(s.reviews.permissionInterval)})
	if s.auth == authNone {
		return callers{
			authenticator: auth.KubeconfigUser{},
			authorizer:    authorizer, // not run: nobody's rights are followed
			guard:         auth.Loopback,
			asking:        func(base *tls.Config) *tls.Config { return base },
			reviews:       map[string]server.ReviewSource{subjectAccessReview: authorizer},
			run:           func(context.Context) {},
		}
	}
	cluster := auth.NewCluster(client, auth.ClusterOptions{
		Audiences:   s.audiences,
		KeepTokens:  s.writeAs == writeAsToken,
		FollowedTTL: followedTTL(s.reviews.tokenInterval),
		Objects:     clients.Metadata(),
	})
	return callers{
		authenticator: cluster,
		authorizer:    authorizer,
		guard:         func(next http.Handler) http.Handler { return auth.StripImpersonation(auth.NotePeer(next)) },
		asking:        cluster.TLSConfig,
		reviews:       map[string]server.ReviewSource{tokenReview: cluster, subjectAccessReview: authorizer},
		run: func(ctx context.Context) {
			var running sync.WaitGroup
			running.Go(func() { cluster.Run(ctx) })
			running.Go(func() { authorizer.Run(ctx) })
			running.Wait()
		},
	}
}
