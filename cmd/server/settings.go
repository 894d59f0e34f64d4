package main

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/kubeconnect/kubeconnect/auth"
	"github.com/kubeconnect/kubeconnect/server/edge"
	"github.com/kubeconnect/kubeconnect/server/edge/gate"
	"github.com/kubeconnect/kubeconnect/server/edge/origins"
)

// settings are the values of the flags, the environment variables and the configuration file.
type settings struct {
	config                   string
	kubeconfig               string
	context                  string
	listen                   string
	auth                     string
	audiences                []string
	writeAs                  string
	recheckInterval          time.Duration
	reviews                  reviewSettings
	oidc                     oidcSettings
	certFile                 string
	keyFile                  string
	allowPlaintext           bool
	corsOrigins              []string
	limits                   gate.Limits
	maxStreamAge             time.Duration
	peers                    string
	maxConnections           int
	maxConnectionsPerAddress int
	keepManagedFields        bool
	cacheIdleTimeout         time.Duration
	tokenGeneration          string
	preload                  []string
	uncached                 []string
	cacheAggregated          []string
	memoryLimit              string
	compress                 edge.Compression
	metricsListen            string
	adminTokenFile           string
	logLevel                 slog.Level
	logFormat                string
	logSample                float64
	tracing                  bool
}

const (
	authCluster = "cluster"
	authNone    = "none"
)

const (
	writeAsImpersonate = "impersonate"
	writeAsToken       = "token"
)

// liftLimits sets the limits that were not set explicitly: to none if all callers are the same caller, and
// otherwise to their defaults.
func (s *settings) liftLimits(flags *pflag.FlagSet, mode string) {
	for name, limit := range map[string]*int{
		"caller-max-streams":     &s.limits.Streams,
		"credential-max-streams": &s.limits.CredentialStreams,
		"caller-request-rate":    &s.limits.Rate,
		"caller-max-calls":       &s.limits.Calls,
	} {
		if flag := flags.Lookup(name); !flag.Changed {
			_ = flag.Value.Set(flag.DefValue) // which is valid
			if mode == authNone {
				*limit = 0
			}
		}
	}
}

func (s settings) check() error {
	if _, err := s.memoryLimitBytes(); err != nil {
		return err
	}
	if s.maxStreamAge < 0 {
		return fmt.Errorf("--max-stream-age %s: must be at least 0", s.maxStreamAge)
	}
	if err := s.checkPeers(); err != nil {
		return err
	}
	if s.cacheIdleTimeout <= 0 {
		return fmt.Errorf("--cache-idle-timeout %s: must be greater than 0", s.cacheIdleTimeout)
	}
	if !(s.logSample >= 0 && s.logSample <= 1) { // NaN is neither
		return fmt.Errorf("--log-sample %v: must be from 0 to 1", s.logSample)
	}
	if slices.Contains(s.preload, "") {
		return errors.New("--preload: must name a resource, such as pods")
	}
	if slices.Contains(s.uncached, "") {
		return errors.New("--uncached: must name a resource, such as secrets")
	}
	if slices.Contains(s.cacheAggregated, "") {
		return errors.New("--cache-aggregated: must name an API group, such as metrics.example.com")
	}
	if (s.certFile == "") != (s.keyFile == "") {
		return errors.New("--tls-cert-file and --tls-private-key-file must be set together")
	}
	if err := errors.Join(s.checkLimits(), s.checkOrigins()); err != nil {
		return err
	}
	if err := s.checkRights(); err != nil {
		return err
	}
	if s.auth == authCluster {
		return s.checkPlaintext()
	}
	if err := auth.CheckLoopback(s.listen); err != nil {
		return fmt.Errorf("--auth none: %w", err)
	}
	return nil
}

func (s settings) checkRights() error {
	switch {
	case s.recheckInterval < time.Second:
		return fmt.Errorf("--recheck-interval %s: must be at least 1s", s.recheckInterval)
	case slices.Contains(s.audiences, ""):
		return errors.New("--auth-audience: must not be empty; omit the flag for the API server's own audience")
	}
	return errors.Join(s.checkAdmin(), s.reviews.check(), s.oidc.check(s.auth))
}

func (s settings) checkAdmin() error {
	if s.adminTokenFile != "" && s.metricsListen == "" {
		return errors.New("--admin-token-file requires --metrics-listen, where administrators connect")
	}
	return nil
}

func (s settings) checkPeers() error {
	if s.peers == "" {
		return nil
	}
	if host, port, err := net.SplitHostPort(s.peers); err != nil || host == "" || port == "" {
		return fmt.Errorf("--peers %q: must be HOST:PORT", s.peers)
	}
	if s.metricsListen == "" {
		return errors.New("--peers requires --metrics-listen, where replicas publish their load")
	}
	return nil
}

func (s settings) checkLimits() error {
	if s.limits.Streams < 0 {
		return fmt.Errorf("--caller-max-streams %d: must be at least 1, or 0 for no limit", s.limits.Streams)
	}
	if s.limits.CredentialStreams < 0 {
		return fmt.Errorf("--credential-max-streams %d: must be at least 1, or 0 for no limit",
			s.limits.CredentialStreams)
	}
	if s.limits.Rate < 0 {
		return fmt.Errorf("--caller-request-rate %d: must be at least 1, or 0 for no limit", s.limits.Rate)
	}
	if s.limits.Burst < 1 {
		return fmt.Errorf("--caller-request-burst %d: must be at least 1", s.limits.Burst)
	}
	if s.limits.Calls < 0 {
		return fmt.Errorf("--caller-max-calls %d: must be at least 1, or 0 for no limit", s.limits.Calls)
	}
	return s.checkConnections()
}

func (s settings) checkConnections() error {
	if s.maxConnections < 1 {
		return fmt.Errorf("--max-connections %d: must be at least 1", s.maxConnections)
	}
	if s.maxConnectionsPerAddress < 1 {
		return fmt.Errorf("--max-connections-per-address %d: must be at least 1", s.maxConnectionsPerAddress)
	}
	return nil
}

// checkOrigins rejects --cors-origin if a page's origin would be its only credential.
func (s settings) checkOrigins() error {
	for _, origin := range s.corsOrigins {
		if err := origins.CheckOrigin(origin); err != nil {
			return fmt.Errorf("--cors-origin: %w", err)
		}
	}
	if s.auth == authNone && len(s.corsOrigins) > 0 {
		return errors.New("--cors-origin requires --auth cluster: without authentication, calls of other sites " +
			"would act as the kubeconfig's user; let the server of your page forward the calls instead")
	}
	return nil
}

// checkPlaintext rejects serving credentials in plain text on the network.
func (s settings) checkPlaintext() error {
	if s.certFile != "" || s.allowPlaintext || auth.CheckLoopback(s.listen) == nil {
		return nil
	}
	return fmt.Errorf("--listen %s would serve plain text beyond this machine: set --tls-cert-file and "+
		"--tls-private-key-file, or --allow-plaintext behind a proxy that terminates TLS", s.listen)
}

// memoryLimitBytes returns the value of --memory-limit; 0 if it is not set.
func (s settings) memoryLimitBytes() (int64, error) {
	if s.memoryLimit == "" {
		return 0, nil
	}
	limit, err := resource.ParseQuantity(s.memoryLimit)
	if err != nil || limit.Value() <= 0 {
		return 0, fmt.Errorf("--memory-limit %q: must be a quantity of bytes, such as 512Mi or 2Gi", s.memoryLimit)
	}
	return limit.Value(), nil
}

// reviewSettings are the settings of the reviews of callers.
type reviewSettings struct {
	extra              []string
	permissionInterval time.Duration
	tokenInterval      time.Duration
	grace              time.Duration
}

const (
	// minReviewInterval is how long decisions are cached in any case.
	minReviewInterval = 10 * time.Second
	// maxReviewInterval bounds how late a change that cannot be watched has effect.
	maxReviewInterval = 5 * time.Minute
	// maxPermissionGrace bounds how much later a revocation has effect while the API server gives no
	// decisions.
	maxPermissionGrace = 5 * time.Minute
)

func (s *reviewSettings) addFlags(flags *pflag.FlagSet) {
	flags.DurationVar(&s.tokenInterval, "token-review-interval", 5*time.Minute,
		"how long the review of a service account's token is cached at most; 10s to 5m")
	flags.DurationVar(&s.permissionInterval, "permission-review-interval", minReviewInterval,
		"how long a permission decision is cached at most; 10s to 5m")
	flags.DurationVar(&s.grace, "permission-grace", 0,
		"how much longer the last decision counts while the API server gives no other one; 0s to 5m")
	flags.StringSliceVar(&s.extra, "authorizer-extra", nil,
		"a `key` of a user's extra that an authorizer other than RBAC uses; repeatable")
}

func (s reviewSettings) check() error {
	for _, key := range s.extra {
		if !auth.IsCredentialExtra(key) {
			return fmt.Errorf("--authorizer-extra %q: must be authentication.kubernetes.io/ followed by "+
				"credential-id, pod-name, pod-uid, node-name or node-uid; "+
				"all other keys are always part of reviews", key)
		}
	}
	if s.grace < 0 || s.grace > maxPermissionGrace {
		return fmt.Errorf("--permission-grace %s: must be 0s to %s", s.grace, maxPermissionGrace)
	}
	if err := checkReviewInterval("--permission-review-interval", s.permissionInterval); err != nil {
		return err
	}
	return checkReviewInterval("--token-review-interval", s.tokenInterval)
}

func checkReviewInterval(flag string, interval time.Duration) error {
	if interval < minReviewInterval || interval > maxReviewInterval {
		return fmt.Errorf("%s %s: must be %s to %s", flag, interval, minReviewInterval, maxReviewInterval)
	}
	return nil
}

// followedTTL returns how long decisions are cached while their dependencies are followed; 0 if
// nothing is followed.
func followedTTL(interval time.Duration) time.Duration {
	if interval == minReviewInterval {
		return 0
	}
	return interval
}
