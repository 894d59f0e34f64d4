package main

import (
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/kubeconnect/kubeconnect/server/edge"
)

// usageColumns is the maximum width of the output of --help, and of the help of a flag.
const usageColumns = 100

// flagGroup is a group of flags that have a heading in --help, and in docs/flags.md.
type flagGroup struct {
	title string
	flags *pflag.FlagSet
}

// flagGroups returns all flags, which set s. They are also the fields of the configuration file.
func (s *settings) flagGroups() []flagGroup {
	return []flagGroup{
		newFlagGroup("Configuration file", s.addConfigFlags),
		newFlagGroup("Cluster", s.addClusterFlags),
		newFlagGroup("Address and TLS", s.addListenFlags),
		newFlagGroup("Callers", s.addCallerFlags),
		newFlagGroup("Sign-in to the console", s.oidc.addFlags),
		newFlagGroup("Limits for callers", s.addLimitFlags),
		newFlagGroup("Replicas", s.addReplicaFlags),
		newFlagGroup("Caches", s.addCacheFlags),
		newFlagGroup("Process", s.addProcessFlags),
	}
}

func newFlagGroup(title string, add func(*pflag.FlagSet)) flagGroup {
	flags := pflag.NewFlagSet(title, pflag.ContinueOnError)
	flags.SortFlags = false
	add(flags)
	flags.VisitAll(func(flag *pflag.Flag) { flag.DefValue = readableDefault(flag) })
	return flagGroup{title, flags}
}

func (s *settings) addConfigFlags(flags *pflag.FlagSet) {
	flags.StringVar(&s.config, configFlag, "",
		"a YAML `file` with values of the flags below, which take precedence; limits are reloaded")
}

func (s *settings) addClusterFlags(flags *pflag.FlagSet) {
	flags.StringVar(&s.kubeconfig, "kubeconfig", "", "the kubeconfig `file` of the cluster to serve")
	flags.StringVar(&s.context, "context", "",
		"the `name` of the kubeconfig's context; its current one by default")
}

func (s *settings) addListenFlags(flags *pflag.FlagSet) {
	flags.StringVar(&s.listen, "listen", "127.0.0.1:8080",
		"the `host:port` to serve on; without a host all addresses; port 0 selects a free port")
	flags.StringVar(&s.certFile, "tls-cert-file", "",
		"a PEM `file` with the certificate chain; without it, plain text is served")
	flags.StringVar(&s.keyFile, "tls-private-key-file", "",
		"a PEM `file` with the private key of --tls-cert-file")
	flags.BoolVar(&s.allowPlaintext, "allow-plaintext", false,
		"serve plain text beyond this machine; only behind a proxy that terminates TLS")
	flags.StringSliceVar(&s.corsOrigins, "cors-origin", nil,
		"an `origin` whose pages are allowed to call, such as https://app.example.com; repeatable")
}

func (s *settings) addCallerFlags(flags *pflag.FlagSet) {
	choose(flags, &s.auth, "auth",
		"how callers are authenticated: by the cluster, or not at all (as the kubeconfig's user; loopback)",
		authCluster, authNone)
	flags.StringSliceVar(&s.audiences, "auth-audience", nil,
		"an accepted `audience` of bearer tokens; the API server's own by default; repeatable")
	choose(flags, &s.writeAs, "write-as",
		"how writes, logs and uncached reads are made as the caller: by its token, or by impersonation",
		writeAsToken, writeAsImpersonate)
	flags.DurationVar(&s.recheckInterval, "recheck-interval", 10*time.Second,
		"how often the credential and permissions of an open stream are re-checked; at least 1s")
	s.reviews.addFlags(flags)
}

func (s *settings) addLimitFlags(flags *pflag.FlagSet) {
	flags.IntVar(&s.limits.Streams, "caller-max-streams", 5000,
		"how many streams a caller can have open; 0 is no limit")
	flags.IntVar(&s.limits.CredentialStreams, "credential-max-streams", 2000,
		"how many of these streams each credential of a caller can have; 0 is no limit")
	flags.IntVar(&s.limits.Rate, "caller-request-rate", 500,
		"how many calls a second a caller can make in the long run; 0 is no limit")
	flags.IntVar(&s.limits.Burst, "caller-request-burst", 2000,
		"how many calls a caller can make at once after an idle time")
	flags.IntVar(&s.limits.Calls, "caller-max-calls", 20,
		"how many concurrent calls a caller can make, streams excluded; 0 is no limit")
	flags.IntVar(&s.maxConnections, "max-connections", 4096,
		"how many connections can be open")
	flags.IntVar(&s.maxConnectionsPerAddress, "max-connections-per-address", 2048,
		"how many of these connections one address, or one /64 of IPv6, can have")
	flags.VisitAll(func(flag *pflag.Flag) { markReloadable(flags, flag.Name) })
}

func (s *settings) addReplicaFlags(flags *pflag.FlagSet) {
	flags.DurationVar(&s.maxStreamAge, "max-stream-age", 45*time.Minute,
		"how long a watch stays open, plus or minus a third, before it moves; 0 disables it")
	flags.StringVar(&s.peers, "peers", "",
		"the other replicas, as `host:port` of their --metrics-listen, to balance streams with")
	flags.StringVar(&s.tokenGeneration, "token-generation", "",
		"any `text`, the same at all replicas; change it after etcd was restored from a backup")
}

func (s *settings) addCacheFlags(flags *pflag.FlagSet) {
	flags.StringSliceVar(&s.preload, "preload", nil,
		"a `resource` that is cached from the start, also while it is unused; repeatable")
	flags.StringSliceVar(&s.uncached, "uncached", nil,
		"a `resource` that is never cached, such as secrets; repeatable")
	flags.StringSliceVar(&s.cacheAggregated, "cache-aggregated", nil,
		"an API `group` that is cached although an aggregated API serves it; repeatable")
	flags.DurationVar(&s.cacheIdleTimeout, "cache-idle-timeout", 10*time.Minute,
		"how long an unused cache is kept, except those of --preload")
	flags.BoolVar(&s.keepManagedFields, "keep-managed-fields", false,
		"keep metadata.managedFields, which is about half of an object")
}

func (s *settings) addProcessFlags(flags *pflag.FlagSet) {
	flags.StringVar(&s.memoryLimit, "memory-limit", "",
		"the memory to stay below, as a Kubernetes `quantity` such as 2Gi; GOMEMLIMIT by default")
	choose(flags, (*string)(&s.compress), "compress",
		"how unary responses of 4 KiB and more are compressed, for clients that accept it",
		string(edge.CompressNone), string(edge.CompressGzip))
	flags.StringVar(&s.metricsListen, "metrics-listen", "",
		"a separate `host:port` for metrics without authentication; none by default")
	flags.StringVar(&s.adminTokenFile, "admin-token-file", "",
		"a `file` with the token for /admin and /debug/pprof at --metrics-listen; none by default")
	flags.Var(levelValue{&s.logLevel}, "log-level", "the minimum level of log lines on standard error")
	choose(flags, &s.logFormat, "log-format", "the format of log lines", logText, logJSON)
	flags.Float64Var(&s.logSample, "log-sample", 0.001,
		"the `fraction` of successful calls that is logged, 0 to 1; failed calls and changes always are")
	flags.BoolVar(&s.tracing, "tracing", false,
		"export traces of OpenTelemetry, as its OTEL_ environment variables say")
	markReloadable(flags, "log-level", "log-sample")
}

// choice is the value of a flag that accepts only some texts.
type choice struct {
	target  *string
	allowed []string
}

// choose defines a flag that accepts only the allowed texts. The first one is the default.
func choose(flags *pflag.FlagSet, target *string, name, help string, allowed ...string) {
	*target = allowed[0]
	flags.Var(choice{target, allowed}, name, help)
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
	level, ok := logLevels[strings.ToLower(text)]
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
	case flag.Value.Type() == "stringSlice" && text != "[]":
		return strings.Trim(text, "[]")
	default:
		return text
	}
}
