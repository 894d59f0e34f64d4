package config

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/pflag"

	"github.com/kubeconnect/kubeconnect/cmd/server/logging"
	"github.com/kubeconnect/kubeconnect/server/edge"
	"github.com/kubeconnect/kubeconnect/server/kubeapi"
)

// UsageColumns is the maximum width of the output of --help, and of the help of a flag.
const UsageColumns = 100

// FlagGroup is a group of flags that have a heading in --help, and in docs/flags.md.
type FlagGroup struct {
	Title string
	Flags *pflag.FlagSet
}

// FlagGroups returns all flags, which set s. They are also the fields of the configuration file.
func (s *Settings) FlagGroups() []FlagGroup {
	return []FlagGroup{
		newFlagGroup("Configuration file", s.addConfigFlags),
		newFlagGroup("Cluster", s.addClusterFlags),
		newFlagGroup("Address and TLS", s.addListenFlags),
		newFlagGroup("Callers", s.addCallerFlags),
		newFlagGroup("Sign-in to the console", s.OIDC.addFlags),
		newFlagGroup("Limits for callers", s.addLimitFlags),
		newFlagGroup("Replicas", s.addReplicaFlags),
		newFlagGroup("Caches", s.addCacheFlags),
		newFlagGroup("Process", s.addProcessFlags),
	}
}

func newFlagGroup(title string, add func(*pflag.FlagSet)) FlagGroup {
	flags := pflag.NewFlagSet(title, pflag.ContinueOnError)
	flags.SortFlags = false
	add(flags)
	flags.VisitAll(func(flag *pflag.Flag) { flag.DefValue = readableDefault(flag) })
	return FlagGroup{title, flags}
}

func (s *Settings) addConfigFlags(flags *pflag.FlagSet) {
	flags.StringVar(&s.Config, configFlag, "",
		"a YAML `file` with values of the flags below, which take precedence; limits are reloaded")
}

func (s *Settings) addClusterFlags(flags *pflag.FlagSet) {
	flags.StringVar(&s.Kubeconfig, "kubeconfig", "", "the kubeconfig `file` of the cluster to serve")
	flags.StringVar(&s.Context, "context", "",
		"the `name` of the kubeconfig's context; its current one by default")
	flags.StringSliceVar(&s.Namespaces, "namespaces", nil,
		"a `namespace` to read, or a pattern such as team-*; all that are allowed by default; repeatable")
	flags.StringVar(&s.NamespaceSelector, "namespace-selector", "",
		"a label `selector` of the namespaces to read, such as team=shop; none by default")
	flags.StringArrayVar(&s.Select, "select", nil,
		"the only objects to cache, as `resource=selector` of labels, such as pods=app=web; repeatable")
	flags.StringArrayVar(&s.SelectFields, "select-fields", nil,
		"the same by fields, as `resource=selector`, such as pods=spec.nodeName=node-1; repeatable")
}

func (s *Settings) addListenFlags(flags *pflag.FlagSet) {
	flags.StringVar(&s.Listen, "listen", "127.0.0.1:8080",
		"the `host:port` to serve on; without a host all addresses; port 0 selects a free port")
	flags.StringVar(&s.CertFile, "tls-cert-file", "",
		"a PEM `file` with the certificate chain; without it, plain text is served")
	flags.StringVar(&s.KeyFile, "tls-private-key-file", "",
		"a PEM `file` with the private key of --tls-cert-file")
	flags.BoolVar(&s.allowPlaintext, "allow-plaintext", false,
		"serve plain text beyond this machine; only behind a proxy that terminates TLS")
	flags.StringSliceVar(&s.CORSOrigins, "cors-origin", nil,
		"an `origin` whose pages are allowed to call, such as https://app.example.com; repeatable")
	choose(flags, (*string)(&s.KubeAPI), "kube-api",
		"what is served of Kubernetes' own API: everything, reads only, or nothing",
		string(kubeapi.All), string(kubeapi.Read), string(kubeapi.Off))
}

func (s *Settings) addCallerFlags(flags *pflag.FlagSet) {
	choose(flags, &s.Auth, "auth",
		"how callers are authenticated: by the cluster, or not at all (as the kubeconfig's user; loopback)",
		AuthCluster, AuthNone)
	flags.StringSliceVar(&s.Audiences, "auth-audience", nil,
		"an accepted `audience` of bearer tokens; the API server's own by default; repeatable")
	choose(flags, &s.WriteAs, "write-as",
		"how writes, logs and uncached reads are made as the caller: by its token, or by impersonation",
		WriteAsToken, WriteAsImpersonate, WriteAsConstrainedImpersonate)
	flags.DurationVar(&s.RecheckInterval, "recheck-interval", 10*time.Second,
		"how often the credential and permissions of an open stream are re-checked; at least 1s")
	s.Reviews.addFlags(flags)
}

func (s *Settings) addLimitFlags(flags *pflag.FlagSet) {
	flags.IntVar(&s.Limits.Streams, "caller-max-streams", 5000,
		"how many streams a caller can have open; 0 is no limit")
	flags.IntVar(&s.Limits.CredentialStreams, "credential-max-streams", 2000,
		"how many of these streams each credential of a caller can have; 0 is no limit")
	flags.IntVar(&s.Limits.Rate, "caller-request-rate", 500,
		"how many calls a second a caller can make in the long run; 0 is no limit")
	flags.IntVar(&s.Limits.Burst, "caller-request-burst", 2000,
		"how many calls a caller can make at once after an idle time")
	flags.IntVar(&s.Limits.Calls, "caller-max-calls", 20,
		"how many concurrent calls a caller can make, streams excluded; 0 is no limit")
	flags.IntVar(&s.MaxConnections, "max-connections", 4096,
		"how many connections can be open")
	flags.IntVar(&s.MaxConnectionsPerAddress, "max-connections-per-address", 2048,
		"how many of these connections one address, or one /64 of IPv6, can have")
	flags.VisitAll(func(flag *pflag.Flag) { markReloadable(flags, flag.Name) })
}

func (s *Settings) addReplicaFlags(flags *pflag.FlagSet) {
	flags.DurationVar(&s.MaxStreamAge, "max-stream-age", 45*time.Minute,
		"how long a watch stays open, plus or minus a third, before it moves; 0 disables it")
	flags.StringVar(&s.Peers, "peers", "",
		"the other replicas, as `host:port` of their --metrics-listen, to balance streams with")
	flags.StringVar(&s.TokenGeneration, "token-generation", "",
		"any `text`, the same at all replicas; change it after etcd was restored from a backup")
}

func (s *Settings) addCacheFlags(flags *pflag.FlagSet) {
	flags.StringSliceVar(&s.Preload, "preload", nil,
		"a `resource` that is cached from the start, also while it is unused; repeatable")
	flags.StringSliceVar(&s.Uncached, "uncached", nil,
		"a `resource` that is never cached, such as secrets; repeatable")
	flags.StringSliceVar(&s.CacheAggregated, "cache-aggregated", nil,
		"an API `group` that is cached although an aggregated API serves it; repeatable")
	flags.DurationVar(&s.CacheIdleTimeout, "cache-idle-timeout", 10*time.Minute,
		"how long an unused cache is kept, except those of --preload")
	flags.BoolVar(&s.KeepManagedFields, "keep-managed-fields", false,
		"keep metadata.managedFields, which is about half of an object")
}

func (s *Settings) addProcessFlags(flags *pflag.FlagSet) {
	flags.StringVar(&s.memoryLimit, "memory-limit", "",
		"the memory to stay below, as a Kubernetes `quantity` such as 2Gi; GOMEMLIMIT by default")
	choose(flags, (*string)(&s.Compress), "compress",
		"how unary responses of 4 KiB and more are compressed, for clients that accept it",
		string(edge.CompressNone), string(edge.CompressGzip))
	flags.StringVar(&s.MetricsListen, "metrics-listen", "",
		"a separate `host:port` for metrics; none by default")
	choose(flags, &s.MetricsAuth, "metrics-auth",
		"who can read metrics: everyone, or users that the cluster allows to get the path /metrics", AuthNone, AuthCluster)
	flags.BoolVar(&s.MetricsTLS, "metrics-tls", false,
		"serve --metrics-listen over TLS, with the certificate of --tls-cert-file")
	flags.StringVar(&s.AdminTokenFile, "admin-token-file", "",
		"a `file` with the token for /admin and /debug/pprof at --metrics-listen; none by default")
	flags.Var(levelValue{&s.LogLevel}, "log-level", "the minimum level of log lines on standard error")
	choose(flags, &s.LogFormat, "log-format", "the format of log lines", logging.Text, logging.JSON)
	flags.Float64Var(&s.LogSample, "log-sample", 0.001,
		"the `fraction` of successful calls that is logged, 0 to 1; failed calls and changes always are")
	flags.StringVar(&s.AuditLog, "audit-log", "",
		"the `file` of an audit log of all reads, or - for standard output; none by default")
	flags.StringVar(&s.AuditPolicy, "audit-policy", "",
		"a `file` with the rules of the audit log: a Policy of audit.k8s.io/v1; all calls by default")
	flags.BoolVar(&s.Tracing, "tracing", false,
		"export traces of OpenTelemetry, as its OTEL_ environment variables say")
	markReloadable(flags, "log-level", "log-sample")
}

// choice is the value of a flag that accepts only some texts.
type choice struct {
	target  *string
	allowed []string
}

// NewChoice returns the value of a flag that accepts only the allowed texts. The first one is the default.
func NewChoice(target *string, allowed ...string) pflag.Value {
	*target = allowed[0]
	return choice{target, allowed}
}

// choose defines a flag that accepts only the allowed texts. The first one is the default.
func choose(flags *pflag.FlagSet, target *string, name, help string, allowed ...string) {
	flags.Var(NewChoice(target, allowed...), name, help)
}

// String implements [pflag.Value].
func (c choice) String() string { return *c.target }

// Set implements [pflag.Value].
func (c choice) Set(text string) error {
	if !slices.Contains(c.allowed, text) {
		return fmt.Errorf("must be %s", strings.Join(c.allowed, " or "))
	}
	*c.target = text
	return nil
}

// Type implements [pflag.Value]. It is printed by --help.
func (c choice) Type() string { return strings.Join(c.allowed, "|") }

// levelValue is the value of a flag with a level of log lines.
type levelValue struct{ target *slog.Level }

// String implements [pflag.Value].
func (l levelValue) String() string { return strings.ToLower(l.target.String()) }

// Set implements [pflag.Value].
func (l levelValue) Set(text string) error {
	level, ok := logging.Levels[strings.ToLower(text)]
	if !ok {
		return errors.New("must be debug, info, warn or error")
	}
	*l.target = level
	return nil
}

// Type implements [pflag.Value].
func (l levelValue) Type() string { return "debug|info|warn|error" }

// reloadable annotates the flags whose values in the configuration file can change while the service
// runs.
const reloadable = "reloadable"

func markReloadable(flags *pflag.FlagSet, names ...string) {
	for _, name := range names {
		flags.Lookup(name).Annotations = map[string][]string{reloadable: nil}
	}
}

func isReloadable(flag *pflag.Flag) bool {
	_, ok := flag.Annotations[reloadable]
	return ok
}

// zeroUnits matches the end of a duration that has no effect.
var zeroUnits = regexp.MustCompile("([hm])(0[ms])+$")

// readableDefault returns a flag's default as an operator writes it: 45m instead of 45m0s.
func readableDefault(flag *pflag.Flag) string {
	switch text := flag.DefValue; {
	case flag.Value.Type() == "duration":
		return zeroUnits.ReplaceAllString(text, "$1")
	case strings.HasPrefix(flag.Value.Type(), "string") && text != "[]":
		return strings.Trim(text, "[]")
	default:
		return text
	}
}

// IsDefault reports whether a setting has its default value.
func IsDefault(name, value string) bool { return defaultSettings()[name] == value }

// defaultSettings returns the default values of all settings.
var defaultSettings = sync.OnceValue(func() Values {
	all := Values{}
	for _, group := range new(Settings).FlagGroups() {
		maps.Copy(all, ValuesOf(group.Flags))
	}
	return all
})
