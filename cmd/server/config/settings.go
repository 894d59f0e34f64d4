package config

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/kubeconnect/kubeconnect/auth"
	"github.com/kubeconnect/kubeconnect/server/edge"
	"github.com/kubeconnect/kubeconnect/server/edge/gate"
	"github.com/kubeconnect/kubeconnect/server/edge/origins"
	"github.com/kubeconnect/kubeconnect/server/kubeapi"
)

// Settings are the values of the flags, the environment variables and the configuration file.
type Settings struct {
	Config                   string
	Kubeconfig               string
	Context                  string
	Namespaces               []string
	NamespaceSelector        string
	Select                   []string
	SelectFields             []string
	Listen                   string
	Auth                     string
	Audiences                []string
	WriteAs                  string
	RecheckInterval          time.Duration
	Reviews                  Reviews
	OIDC                     OIDC
	CertFile                 string
	KeyFile                  string
	allowPlaintext           bool
	CORSOrigins              []string
	KubeAPI                  kubeapi.Mode
	Limits                   gate.Limits
	MaxStreamAge             time.Duration
	Peers                    string
	MaxConnections           int
	MaxConnectionsPerAddress int
	KeepManagedFields        bool
	CacheIdleTimeout         time.Duration
	TokenGeneration          string
	Preload                  []string
	Uncached                 []string
	CacheAggregated          []string
	memoryLimit              string
	Compress                 edge.Compression
	MetricsListen            string
	MetricsAuth              string
	MetricsTLS               bool
	AdminTokenFile           string
	LogLevel                 slog.Level
	LogFormat                string
	LogSample                float64
	AuditLog                 string
	AuditPolicy              string
	Tracing                  bool
}

const (
	AuthCluster = "cluster"
	AuthNone    = "none"
)

const (
	WriteAsImpersonate            = "impersonate"
	WriteAsConstrainedImpersonate = "impersonate-constrained"
	WriteAsToken                  = "token"
)

// liftLimits sets the limits that were not set explicitly: to none if all callers are the same caller, and
// otherwise to their defaults.
func (s *Settings) liftLimits(flags *pflag.FlagSet, mode string) {
	for name, limit := range map[string]*int{
		"caller-max-streams":     &s.Limits.Streams,
		"credential-max-streams": &s.Limits.CredentialStreams,
		"caller-request-rate":    &s.Limits.Rate,
		"caller-max-calls":       &s.Limits.Calls,
	} {
		if flag := flags.Lookup(name); !flag.Changed {
			_ = flag.Value.Set(flag.DefValue) // which is valid
			if mode == AuthNone {
				*limit = 0
			}
		}
	}
}

func (s Settings) check() error {
	if _, err := s.MemoryLimitBytes(); err != nil {
		return err
	}
	if s.MaxStreamAge < 0 {
		return fmt.Errorf("--max-stream-age %s: must be at least 0", s.MaxStreamAge)
	}
	if err := errors.Join(s.checkPeers(), s.checkNamespaces()); err != nil {
		return err
	}
	if s.CacheIdleTimeout <= 0 {
		return fmt.Errorf("--cache-idle-timeout %s: must be greater than 0", s.CacheIdleTimeout)
	}
	if !(s.LogSample >= 0 && s.LogSample <= 1) { // NaN is neither
		return fmt.Errorf("--log-sample %v: must be from 0 to 1", s.LogSample)
	}
	if s.AuditPolicy != "" && s.AuditLog == "" {
		return errors.New("--audit-policy requires --audit-log, where the events are written")
	}
	if slices.Contains(s.Preload, "") {
		return errors.New("--preload: must name a resource, such as pods")
	}
	if slices.Contains(s.Uncached, "") {
		return errors.New("--uncached: must name a resource, such as secrets")
	}
	if slices.Contains(s.CacheAggregated, "") {
		return errors.New("--cache-aggregated: must name an API group, such as metrics.example.com")
	}
	if (s.CertFile == "") != (s.KeyFile == "") {
		return errors.New("--tls-cert-file and --tls-private-key-file must be set together")
	}
	if err := errors.Join(s.checkLimits(), s.checkOrigins()); err != nil {
		return err
	}
	if err := s.checkRights(); err != nil {
		return err
	}
	if s.Auth == AuthCluster {
		return s.checkPlaintext()
	}
	if err := auth.CheckLoopback(s.Listen); err != nil {
		return fmt.Errorf("--auth none: %w", err)
	}
	return nil
}

// checkNamespaces checks what limits the namespaces, and the objects in them.
func (s Settings) checkNamespaces() error {
	for _, one := range s.Select {
		resource, selector, ok := strings.Cut(one, "=")
		if _, err := labels.Parse(selector); !ok || resource == "" || selector == "" || err != nil {
			return fmt.Errorf("--select %q: must be RESOURCE=SELECTOR, such as pods=app=web", one)
		}
	}
	for _, one := range s.SelectFields {
		resource, selector, ok := strings.Cut(one, "=")
		if _, err := fields.ParseSelector(selector); !ok || resource == "" || selector == "" || err != nil {
			return fmt.Errorf("--select-fields %q: must be RESOURCE=SELECTOR, such as pods=spec.nodeName=node-1", one)
		}
	}
	for _, name := range s.Namespaces {
		if err := checkNamespace(name); err != nil {
			return err
		}
	}
	if _, err := labels.Parse(s.NamespaceSelector); err != nil {
		return fmt.Errorf("--namespace-selector %q: %w", s.NamespaceSelector, err)
	}
	return nil
}

// checkNamespace rejects a value of --namespaces that no namespace can match. Otherwise the namespace that it should name would be
// left out silently.
func checkNamespace(name string) error {
	const ofPatterns, ofNames = `*?[]^\`, "abcdefghijklmnopqrstuvwxyz0123456789-"
	isValid := len(validation.IsDNS1123Label(name)) == 0
	if strings.ContainsAny(name, ofPatterns) {
		_, err := path.Match(name, "")
		isValid = err == nil && !strings.ContainsFunc(name, func(r rune) bool { return !strings.ContainsRune(ofNames+ofPatterns, r) })
	}
	if isValid {
		return nil
	}
	return fmt.Errorf("--namespaces %q: must be the name of a namespace, or a pattern of names such as team-*", name)
}

// CacheLimit names a resource that is not cached, or not as a whole, by the value of a flag. A name that matches no resource has no
// effect.
type CacheLimit struct{ Flag, Resource string }

// CacheLimits returns the limits of --uncached, --select and --select-fields.
func (s Settings) CacheLimits() (limits []CacheLimit) {
	add := func(flag string, values []string) {
		for _, value := range values {
			name, _, _ := strings.Cut(value, "=")
			limits = append(limits, CacheLimit{flag, name})
		}
	}
	add("--uncached", s.Uncached)
	add("--select", s.Select)
	add("--select-fields", s.SelectFields)
	return limits
}

func (s Settings) checkRights() error {
	switch {
	case s.RecheckInterval < time.Second:
		return fmt.Errorf("--recheck-interval %s: must be at least 1s", s.RecheckInterval)
	case slices.Contains(s.Audiences, ""):
		return errors.New("--auth-audience: must not be empty; omit the flag for the API server's own audience")
	}
	return errors.Join(s.checkAdmin(), s.checkMetrics(), s.Reviews.check(), s.OIDC.check(s.Auth))
}

// checkMetrics rejects --metrics-auth if nobody could be authenticated, or if tokens would be sent in plain
// text on the network.
func (s Settings) checkMetrics() error {
	switch {
	case s.MetricsTLS && s.MetricsListen == "":
		return errors.New("--metrics-tls requires --metrics-listen")
	case s.MetricsTLS && s.CertFile == "":
		return errors.New("--metrics-tls requires --tls-cert-file and --tls-private-key-file, whose certificate it uses")
	case s.MetricsAuth == AuthNone:
		return nil
	case s.MetricsListen == "":
		return errors.New("--metrics-auth cluster requires --metrics-listen")
	case s.Auth != AuthCluster:
		return errors.New("--metrics-auth cluster requires --auth cluster")
	case !s.MetricsTLS && !s.allowPlaintext && auth.CheckLoopback(s.MetricsListen) != nil:
		return fmt.Errorf("--metrics-listen %s would receive tokens in plain text from beyond this machine: set --metrics-tls, "+
			"or --allow-plaintext behind a proxy that terminates TLS", s.MetricsListen)
	}
	return nil
}

func (s Settings) checkAdmin() error {
	if s.AdminTokenFile != "" && s.MetricsListen == "" {
		return errors.New("--admin-token-file requires --metrics-listen, where administrators connect")
	}
	return nil
}

func (s Settings) checkPeers() error {
	if s.Peers == "" {
		return nil
	}
	if host, port, err := net.SplitHostPort(s.Peers); err != nil || host == "" || port == "" {
		return fmt.Errorf("--peers %q: must be HOST:PORT", s.Peers)
	}
	if s.MetricsListen == "" {
		return errors.New("--peers requires --metrics-listen, where replicas publish their load")
	}
	return nil
}

func (s Settings) checkLimits() error {
	if s.Limits.Streams < 0 {
		return fmt.Errorf("--caller-max-streams %d: must be at least 1, or 0 for no limit", s.Limits.Streams)
	}
	if s.Limits.CredentialStreams < 0 {
		return fmt.Errorf("--credential-max-streams %d: must be at least 1, or 0 for no limit",
			s.Limits.CredentialStreams)
	}
	if s.Limits.Rate < 0 {
		return fmt.Errorf("--caller-request-rate %d: must be at least 1, or 0 for no limit", s.Limits.Rate)
	}
	if s.Limits.Burst < 1 {
		return fmt.Errorf("--caller-request-burst %d: must be at least 1", s.Limits.Burst)
	}
	if s.Limits.Calls < 0 {
		return fmt.Errorf("--caller-max-calls %d: must be at least 1, or 0 for no limit", s.Limits.Calls)
	}
	return s.checkConnections()
}

func (s Settings) checkConnections() error {
	if s.MaxConnections < 1 {
		return fmt.Errorf("--max-connections %d: must be at least 1", s.MaxConnections)
	}
	if s.MaxConnectionsPerAddress < 1 {
		return fmt.Errorf("--max-connections-per-address %d: must be at least 1", s.MaxConnectionsPerAddress)
	}
	return nil
}

// checkOrigins rejects --cors-origin if a page's origin would be its only credential.
func (s Settings) checkOrigins() error {
	for _, origin := range s.CORSOrigins {
		if err := origins.CheckOrigin(origin); err != nil {
			return fmt.Errorf("--cors-origin: %w", err)
		}
	}
	if s.Auth == AuthNone && len(s.CORSOrigins) > 0 {
		return errors.New("--cors-origin requires --auth cluster: without authentication, calls of other sites " +
			"would act as the kubeconfig's user; let the server of your page forward the calls instead")
	}
	return nil
}

// checkPlaintext rejects serving credentials in plain text on the network.
func (s Settings) checkPlaintext() error {
	if s.CertFile != "" || s.allowPlaintext || auth.CheckLoopback(s.Listen) == nil {
		return nil
	}
	return fmt.Errorf("--listen %s would serve plain text beyond this machine: set --tls-cert-file and "+
		"--tls-private-key-file, or --allow-plaintext behind a proxy that terminates TLS", s.Listen)
}

// MemoryLimitBytes returns the value of --memory-limit; 0 if it is not set.
func (s Settings) MemoryLimitBytes() (int64, error) {
	if s.memoryLimit == "" {
		return 0, nil
	}
	limit, err := resource.ParseQuantity(s.memoryLimit)
	if err != nil || limit.Value() <= 0 {
		return 0, fmt.Errorf("--memory-limit %q: must be a quantity of bytes, such as 512Mi or 2Gi", s.memoryLimit)
	}
	return limit.Value(), nil
}

// Reviews are the settings of the reviews of callers.
type Reviews struct {
	Extra              []string
	PermissionInterval time.Duration
	TokenInterval      time.Duration
	Grace              time.Duration
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

func (s *Reviews) addFlags(flags *pflag.FlagSet) {
	flags.DurationVar(&s.TokenInterval, "token-review-interval", 5*time.Minute,
		"how long the review of a service account's token is cached at most; 10s to 5m")
	flags.DurationVar(&s.PermissionInterval, "permission-review-interval", minReviewInterval,
		"how long a permission decision is cached at most; 10s to 5m")
	flags.DurationVar(&s.Grace, "permission-grace", 0,
		"how much longer the last decision counts while the API server gives no other one; 0s to 5m")
	flags.StringSliceVar(&s.Extra, "authorizer-extra", nil,
		"a `key` of a user's extra that an authorizer other than RBAC uses; repeatable")
}

func (s Reviews) check() error {
	for _, key := range s.Extra {
		if !auth.IsCredentialExtra(key) {
			return fmt.Errorf("--authorizer-extra %q: must be authentication.kubernetes.io/ followed by "+
				"credential-id, pod-name, pod-uid, node-name or node-uid; "+
				"all other keys are always part of reviews", key)
		}
	}
	if s.Grace < 0 || s.Grace > maxPermissionGrace {
		return fmt.Errorf("--permission-grace %s: must be 0s to %s", s.Grace, maxPermissionGrace)
	}
	if err := checkReviewInterval("--permission-review-interval", s.PermissionInterval); err != nil {
		return err
	}
	return checkReviewInterval("--token-review-interval", s.TokenInterval)
}

func checkReviewInterval(flag string, interval time.Duration) error {
	if interval < minReviewInterval || interval > maxReviewInterval {
		return fmt.Errorf("%s %s: must be %s to %s", flag, interval, minReviewInterval, maxReviewInterval)
	}
	return nil
}

// FollowedTTL returns how long decisions are cached while their dependencies are followed; 0 if
// nothing is followed.
func FollowedTTL(interval time.Duration) time.Duration {
	if interval == minReviewInterval {
		return 0
	}
	return interval
}
