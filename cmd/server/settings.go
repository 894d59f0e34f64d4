package main

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/kubeconnect/kubeconnect/auth"
	"github.com/kubeconnect/kubeconnect/server"
)

// settings are the values of the flags and environment variables.
type settings struct {
	kubeconfig               string
	context                  string
	listen                   string
	auth                     string
	audiences                []string
	writeAs                  string
	recheckInterval          time.Duration
	reviews                  reviewSettings
	certFile                 string
	keyFile                  string
	allowPlaintext           bool
	corsOrigins              []string
	limits                   server.Limits
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
	compress                 server.Compression
	metricsListen            string
	logLevel                 slog.Level
}

const (
	authCluster = "cluster"
	authNone    = "none"
)

const (
	writeAsImpersonate = "impersonate"
	writeAsToken       = "token"
)

const usage = `kubeconnect serves the live state of a Kubernetes cluster over Connect, gRPC and
gRPC-Web, on one port, with a console at /.

Usage:
  kubeconnect [flags]

The cluster is selected by --kubeconfig or --context if given; otherwise, inside a cluster,
it is that cluster, with the service account; otherwise by KUBECONFIG or the default kubeconfig.

Each flag can also be set as an environment variable: --tls-cert-file is
KUBECONNECT_TLS_CERT_FILE. A flag takes precedence.

Flags:
`

// usageColumns is the maximum width of the output of --help.
const usageColumns = 100

// readSettings parses the flags, and the environment variables for flags that are not given.
func readSettings(args []string, lookup func(string) (string, bool)) (settings, error) {
	var s settings
	var level string
	flags := pflag.NewFlagSet("kubeconnect", pflag.ContinueOnError)
	flags.SortFlags = false
	flags.StringVar(&s.kubeconfig, "kubeconfig", "", "the kubeconfig `file` of the cluster to serve")
	flags.StringVar(&s.context, "context", "",
		"the `name` of the kubeconfig's context; its current one by default")
	flags.StringVar(&s.listen, "listen", "127.0.0.1:8080",
		"the `address` to serve on, HOST:PORT; port 0 selects a free port")
	flags.StringVar(&s.auth, "auth", authCluster,
		"how callers are authenticated: \"cluster\" (by the cluster, with a bearer token or a "+
			"client certificate; the cluster decides what they can read) or \"none\" (every "+
			"caller acts as the kubeconfig's user; loopback addresses only)")
	flags.StringSliceVar(&s.audiences, "auth-audience", nil,
		"an accepted `audience` of bearer tokens; repeat the flag, or separate several by "+
			"commas; a token needs one of them. Default: the API server's own audience, so "+
			"that callers send tokens that are also valid for the API server")
	flags.StringVar(&s.writeAs, "write-as", writeAsToken,
		"how writes and uncached reads are authenticated: \"token\" (with the caller's own "+
			"bearer token; callers with a client certificate can only read from the cache, and "+
			"with --auth-audience the API server must accept these tokens too) or "+
			"\"impersonate\" (as the caller, by the permission of the service's account to "+
			"impersonate)")
	flags.DurationVar(&s.recheckInterval, "recheck-interval", 10*time.Second,
		"how `often` the credential and the permissions of an open stream are re-checked, in "+
			"addition to each change of RBAC that is seen; the cluster's decisions are cached "+
			"for at most another 10s, or longer if --token-review-interval or "+
			"--permission-review-interval allows that")
	s.reviews.addFlags(flags)
	flags.StringVar(&s.certFile, "tls-cert-file", "",
		"a PEM `file` with the server's certificate chain; it is reloaded every few seconds, "+
			"with its key. Without it, plain text is served")
	flags.StringVar(&s.keyFile, "tls-private-key-file", "",
		"a PEM `file` with the private key of --tls-cert-file")
	flags.BoolVar(&s.allowPlaintext, "allow-plaintext", false,
		"serve plain text on an address that is not a loopback address; only behind a proxy "+
			"that terminates TLS, because tokens and objects can be read on the network")
	flags.StringSliceVar(&s.corsOrigins, "cors-origin", nil,
		"an `origin`, such as https://app.example.com, whose pages are allowed to call from a "+
			"browser, in addition to the console; repeat the flag, or separate several by "+
			"commas; patterns are not supported. Default: none")
	flags.IntVar(&s.limits.Streams, "caller-max-streams", 5000,
		"how `many` open streams a caller can have; each needs about 50 KB. The pods of a "+
			"DaemonSet share a service account, and are one caller: set the number of nodes "+
			"times the streams of each pod. 0 is no limit, which is the default under --auth "+
			"none, where all callers are the same caller")
	flags.IntVar(&s.limits.CredentialStreams, "credential-max-streams", 2000,
		"how `many` of these streams each credential of a caller can have, so that one pod "+
			"cannot take the streams of all pods of its service account. A credential is a "+
			"pod, a token or a client certificate, as far as the cluster distinguishes them. 0 "+
			"is no limit, which is the default under --auth none")
	flags.IntVar(&s.limits.Rate, "caller-request-rate", 500,
		"how `many` calls a caller can make each second in the long run; opening a stream is "+
			"one call. The default is more than a program with watches needs, and less than a "+
			"program that calls in a loop can make. 0 is no limit, which is the default under "+
			"--auth none")
	flags.IntVar(&s.limits.Burst, "caller-request-burst", 2000,
		"how `many` calls a caller can make at once after an idle time. When a replica has "+
			"ended, this many of its streams can reconnect at once, and the others at the rate")
	flags.IntVar(&s.limits.Calls, "caller-max-calls", 20,
		"how `many` concurrent calls a caller can make, streams excluded; 200 more wait for up "+
			"to 5s. 0 is no limit, which is the default under --auth none")
	flags.DurationVar(&s.maxStreamAge, "max-stream-age", 45*time.Minute,
		"how `long` a watch stays open, plus or minus a third. It then ends with UNAVAILABLE "+
			"where it can be resumed, and its client opens another connection, so that streams "+
			"move to replicas that were started later. 0 disables it")
	flags.StringVar(&s.peers, "peers", "",
		"the other replicas, as `HOST:PORT`: a DNS name that resolves to the addresses of all "+
			"of them, such as that of a headless Service, and the port of their "+
			"--metrics-listen. A replica that has far more watches than its peers ends some, a "+
			"few a second, where they can be resumed; so does a replica that cannot reach the "+
			"API server while a peer can. Peers are not authenticated, and their data is used "+
			"for nothing else. Default: none")
	flags.IntVar(&s.maxConnections, "max-connections", 4096,
		"how `many` connections can be open: above it, the address with the most connections "+
			"loses its newest one")
	flags.IntVar(&s.maxConnectionsPerAddress, "max-connections-per-address", 2048,
		"how `many` of these connections one address, or one /64 of IPv6, can have. The default "+
			"exceeds --credential-max-streams, because some clients open a connection for each "+
			"stream until the first one is established. Raise it if clients come through one "+
			"proxy that opens a connection for each client")
	flags.BoolVar(&s.keepManagedFields, "keep-managed-fields", false,
		"keep metadata.managedFields, which is about half of an object")
	flags.DurationVar(&s.cacheIdleTimeout, "cache-idle-timeout", 10*time.Minute,
		"how `long` an unused cache is kept, except those of --preload")
	flags.StringVar(&s.tokenGeneration, "token-generation", "",
		"any `text`, the same at all replicas: a resume token with another generation leads to "+
			"a snapshot. Change it after etcd was restored from a backup; see "+
			"docs/operations.md")
	flags.StringSliceVar(&s.preload, "preload", nil,
		"a `resource`, as kubectl names it, that is cached from the start, and stays cached "+
			"while it is unused; repeat the flag, or separate several by commas. The service "+
			"is ready when all of these are cached. It does not wait for resources that the "+
			"cluster does not serve, and only briefly for resources that it cannot read if it "+
			"has another one. Leases are cached only if they are named here, because each node "+
			"updates one every ten seconds. Without the flag the service is ready when it has "+
			"reached the API server, and the first caller of each resource waits for it")
	flags.StringSliceVar(&s.uncached, "uncached", nil,
		"a `resource`, as kubectl names it, that is never cached in any version, such as "+
			"secrets; repeat the flag, or separate several by commas. Without a group it is "+
			"excluded in every group: events includes those of events.k8s.io. Each read goes "+
			"to the API server as the caller, as --write-as selects")
	flags.StringSliceVar(&s.cacheAggregated, "cache-aggregated", nil,
		"an API `group`, such as metrics.example.com, that is cached although an aggregated "+
			"API serves it; repeat the flag, or separate several by commas. Name only groups "+
			"whose server shows the same objects to all users who are allowed to list them, "+
			"because they are served what the service's account sees. Default: each read of "+
			"such groups goes to the API server as the caller")
	flags.StringVar(&s.memoryLimit, "memory-limit", "",
		"the memory that the whole process should stay below, as a Kubernetes `quantity` such "+
			"as 2Gi: near it, garbage is collected more often, which costs processor time. "+
			"Default: GOMEMLIMIT")
	flags.StringVar((*string)(&s.compress), "compress", string(server.CompressNone),
		"`how` unary responses of 4 KiB and more are compressed for clients that accept it, as "+
			"nearly all do by default: \"none\", or \"gzip\" at its fastest level. gzip makes "+
			"a list about five times smaller and takes about three times the processor time: "+
			"omit it inside a cluster, and set it if browsers or other clients are behind a "+
			"slow network. Streams are never compressed; requests can be")
	flags.StringVar(&s.metricsListen, "metrics-listen", "",
		"a separate `address`, HOST:PORT, where Prometheus reads /metrics, in plain text and "+
			"without authentication: counts and durations by resource, procedure and code, and "+
			"no name of an object, a namespace or a caller. Use a loopback address, or protect "+
			"it by a NetworkPolicy. Default: none")
	flags.StringVar(&level, "log-level", "info",
		"the minimum level of log lines on standard error: debug, info, warn or error")
	flags.Usage = func() { fmt.Fprint(os.Stderr, usage, flags.FlagUsagesWrapped(usageColumns)) }
	if err := flags.Parse(args); err != nil {
		return s, err
	}
	if flags.NArg() > 0 {
		return s, fmt.Errorf("unexpected argument %q; see --help", flags.Arg(0))
	}
	if err := readEnvironment(flags, lookup); err != nil {
		return s, err
	}
	s.liftLimits(flags)
	if err := s.logLevel.UnmarshalText([]byte(level)); err != nil {
		return s, fmt.Errorf("--log-level %q: must be debug, info, warn or error", level)
	}
	return s, s.check()
}

// readEnvironment sets the flags that were not given from KUBECONNECT_ variables.
func readEnvironment(flags *pflag.FlagSet, lookup func(string) (string, bool)) error {
	var failed error
	flags.VisitAll(func(flag *pflag.Flag) {
		name := "KUBECONNECT_" + strings.ToUpper(strings.ReplaceAll(flag.Name, "-", "_"))
		value, ok := lookup(name)
		if flag.Changed || !ok {
			return
		}
		if err := flags.Set(flag.Name, value); err != nil {
			failed = errors.Join(failed, fmt.Errorf("environment variable %s: %w", name, err))
		}
	})
	return failed
}

// liftLimits removes the limits that were not set explicitly if all callers are the same caller.
func (s *settings) liftLimits(flags *pflag.FlagSet) {
	if s.auth != authNone {
		return
	}
	for name, limit := range map[string]*int{
		"caller-max-streams":     &s.limits.Streams,
		"credential-max-streams": &s.limits.CredentialStreams,
		"caller-request-rate":    &s.limits.Rate,
		"caller-max-calls":       &s.limits.Calls,
	} {
		if !flags.Changed(name) {
			*limit = 0
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
	if s.compress != server.CompressNone && s.compress != server.CompressGzip {
		return fmt.Errorf("--compress %q: must be \"none\" or \"gzip\"", s.compress)
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
	switch s.auth {
	case authCluster:
		return s.checkPlaintext()
	case authNone:
		if err := auth.CheckLoopback(s.listen); err != nil {
			return fmt.Errorf("--auth none: %w", err)
		}
		return nil
	}
	return fmt.Errorf("--auth %q: must be \"cluster\" or \"none\"", s.auth)
}

func (s settings) checkRights() error {
	switch {
	case s.writeAs != writeAsToken && s.writeAs != writeAsImpersonate:
		return fmt.Errorf("--write-as %q: must be \"token\" or \"impersonate\"", s.writeAs)
	case s.recheckInterval < time.Second:
		return fmt.Errorf("--recheck-interval %s: must be at least 1s", s.recheckInterval)
	case slices.Contains(s.audiences, ""):
		return errors.New("--auth-audience: must not be empty; omit the flag for the API server's own audience")
	}
	return s.reviews.check()
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
		if err := server.CheckOrigin(origin); err != nil {
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
