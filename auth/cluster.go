package auth

import (
	"context"
	"crypto/tls"
	"net/http"
	"slices"
	"sync"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
)

// ClusterAuthenticatorOptions are the settings of a [ClusterAuthenticator]. The zero value is
// usable.
type ClusterAuthenticatorOptions struct {
	// Audiences are the accepted audiences of bearer tokens; a token needs one of them. Default:
	// those of the API server, so that every token for the API server is accepted.
	Audiences []string
	// KeepTokens makes a [ClientFactory] act as a caller with the caller's own bearer token, and
	// without any permission of the service. Callers with a client certificate can then only read
	// from the cache.
	KeepTokens bool
	// FollowedTTL is how long the review of a service account's token is cached while the issuer's
	// keys, the service account and the token's pod are followed, through Objects, and all of them
	// exist. Default: none; each token is reviewed every 10 s.
	FollowedTTL time.Duration
	// Metadata reads the metadata of service accounts and pods. It is required for FollowedTTL, and
	// needs the permission to list and watch both; without the permission, tokens are reviewed
	// every 10 s.
	Metadata metadata.Interface
	// Grace is how much longer than it is cached the review of an accepted token counts while the API
	// server does not review it, but not beyond the token's expiration. Default: none.
	Grace time.Duration
}

// ClusterAuthenticator authenticates callers by the bearer token of the request or, without a
// token, by the client certificate of the connection (see [WithPeer]). The zero value rejects every
// caller.
type ClusterAuthenticator struct {
	tokens       *tokens
	clientCA     *clientCA
	certificates *certificates
	keepTokens   bool
}

// NewClusterAuthenticator returns an authenticator that uses client. The client needs the
// permission to create tokenreviews and, for client certificates, the role
// extension-apiserver-authentication-reader in kube-system.
func NewClusterAuthenticator(client kubernetes.Interface, options ClusterAuthenticatorOptions) *ClusterAuthenticator {
	authorities := newClientCA(client.CoreV1())
	follows := &dependencies{}
	if options.FollowedTTL > 0 {
		follows = newDependencies(client, options.Metadata, options.FollowedTTL)
	}
	return &ClusterAuthenticator{
		tokens:       newTokens(client.AuthenticationV1(), options.Audiences, follows, options.Grace),
		clientCA:     authorities,
		certificates: newCertificates(authorities),
		keepTokens:   options.KeepTokens,
	}
}

// Run keeps the authorities of client certificates up to date. It returns when the context is done
// and all goroutines of the authenticator have ended; later calls fail. Before Run, client
// certificates are not accepted. Call it once.
func (c *ClusterAuthenticator) Run(ctx context.Context) {
	var running sync.WaitGroup
	running.Go(func() { c.clientCA.run(ctx) })
	running.Go(func() { c.tokens.dependencies.run(ctx) })
	<-ctx.Done()
	c.tokens.lookups.end()
	running.Wait()
}

// TLSConfig returns a copy of base that additionally requests a certificate of the cluster's
// authorities from clients. Clients need not have one, and browsers without such a certificate do
// not ask their users. base must not have a GetConfigForClient.
func (c *ClusterAuthenticator) TLSConfig(base *tls.Config) *tls.Config {
	return c.clientCA.requestCertificates(base)
}

// Authenticate implements [Authenticator]. If the request has a token, only the token counts: after
// a rejected token, the certificate is not used.
func (c *ClusterAuthenticator) Authenticate(ctx context.Context, header http.Header) (Identity, error) {
	if c.tokens == nil {
		return Identity{}, errNoCluster
	}
	token, err := bearerToken(header)
	if err != nil {
		return Identity{}, err
	}
	identity, err := c.identify(ctx, token)
	if err != nil {
		return Identity{}, err
	}
	if c.keepTokens {
		identity.token = func() string { return token }
	}
	return identity, nil
}

var errNoCluster = unauthenticated("no cluster is configured for authentication: every call is rejected")

func (c *ClusterAuthenticator) identify(ctx context.Context, token string) (Identity, error) {
	switch peer := peerFrom(ctx); {
	case token != "":
		return c.tokens.authenticate(ctx, token)
	case len(peer.certificates) > 0:
		return c.certificates.authenticate(ctx, peer)
	}
	return Identity{}, unauthenticated("request has no credential: send \"Authorization: Bearer TOKEN\", " +
		"or connect by TLS with a client certificate of the cluster")
}

const (
	userAnonymous        = "system:anonymous"
	groupUnauthenticated = "system:unauthenticated"
)

// checkUser rejects anonymous users.
func checkUser(name string, groups []string) error {
	if name == "" || name == userAnonymous || slices.Contains(groups, groupUnauthenticated) {
		return unauthenticated("the credential names no user: anonymous calls are not accepted")
	}
	return nil
}

// ReviewStats returns the statistics of TokenReviews.
func (c *ClusterAuthenticator) ReviewStats() ReviewStats {
	if c.tokens == nil {
		return ReviewStats{}
	}
	return c.tokens.lookups.stats()
}
