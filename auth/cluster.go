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

// ClusterOptions are the settings of a [Cluster]. The zero value is a good one.
type ClusterOptions struct {
	// Audiences are what a bearer token must be meant for, one of them at least. None
	// are the API server's own: then every token for the API server is taken.
	Audiences []string
	// KeepTokens lets a [ClientFactory] act as a caller by the caller's own bearer
	// token, and by no right of the service. Who calls with a certificate can only read
	// then.
	KeepTokens bool
	// FollowedTTL is how long a service account's token is not asked about again while the issuer's
	// keys, the service account and the token's pod are followed, by Objects, and none of them goes.
	// Default: none; the cluster is asked every 10 s.
	FollowedTTL time.Duration
	// Objects reads the metadata of service accounts and pods. It must be there for FollowedTTL, and
	// takes the right to list and watch both; without, tokens are asked about every 10 s.
	Objects metadata.Interface
}

// Cluster asks the cluster who a caller is, by the bearer token of the request or,
// without one, by the client certificate of the connection (see [NotePeer]).
// The zero value refuses everyone.
type Cluster struct {
	tokens       *tokens
	clientCA     *clientCA
	certificates *certificates
	keepTokens   bool
}

// NewCluster makes an authenticator that asks by client, which must have the right to
// create tokenreviews and, for client certificates, the role
// extension-apiserver-authentication-reader in kube-system.
func NewCluster(client kubernetes.Interface, options ClusterOptions) *Cluster {
	authorities := newClientCA(client.CoreV1())
	follows := &dependencies{}
	if options.FollowedTTL > 0 {
		follows = newDependencies(client, options.Objects, options.FollowedTTL)
	}
	return &Cluster{
		tokens:       newTokens(client.AuthenticationV1().TokenReviews(), options.Audiences, follows),
		clientCA:     authorities,
		certificates: newCertificates(authorities),
		keepTokens:   options.KeepTokens,
	}
}

// Run keeps the authorities of client certificates, and returns when the context has
// ended and nothing of the authenticator runs any more; later calls fail. Until it
// runs, client certificates are not accepted. Call it once.
func (c Cluster) Run(ctx context.Context) {
	var running sync.WaitGroup
	running.Go(func() { c.clientCA.run(ctx) })
	running.Go(func() { c.tokens.dependencies.run(ctx) })
	<-ctx.Done()
	c.tokens.lookups.end()
	running.Wait()
}

// TLSConfig is a server's configuration that, beside what base says, asks callers for
// a certificate of the cluster's authorities. They need not have one, and browsers that
// have none of these authorities do not bother their users. base must not have a
// GetConfigForClient.
func (c Cluster) TLSConfig(base *tls.Config) *tls.Config { return c.clientCA.asking(base) }

// Authenticate implements [Authenticator]. A token decides alone: if it is refused, a
// certificate does not help.
func (c Cluster) Authenticate(ctx context.Context, header http.Header) (Identity, error) {
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

var errNoCluster = unauthenticated("there is no cluster to ask who is calling: every call is refused")

func (c Cluster) identify(ctx context.Context, token string) (Identity, error) {
	switch from := peerFrom(ctx); {
	case token != "":
		return c.tokens.authenticate(ctx, token)
	case len(from.certificates) > 0:
		return c.certificates.authenticate(ctx, from)
	}
	return Identity{}, unauthenticated("there is no credential: send \"Authorization: Bearer TOKEN\", " +
		"or connect by TLS with a client certificate of the cluster")
}

const (
	userAnonymous        = "system:anonymous"
	groupUnauthenticated = "system:unauthenticated"
)

// checkUser refuses what is nobody in particular.
func checkUser(name string, groups []string) error {
	if name == "" || name == userAnonymous || slices.Contains(groups, groupUnauthenticated) {
		return unauthenticated("the credential names no user: anonymous calls are not accepted")
	}
	return nil
}
