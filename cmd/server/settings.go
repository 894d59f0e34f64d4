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

// settings are what the flags and the environment say.
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
gRPC-Web, on one port, with a page at /.

Usage:
  kubeconnect [flags]

Which cluster: --kubeconfig or --context if given; else, inside a cluster, that one,
by the service account; else KUBECONFIG, else the default kubeconfig.

Each flag can also be set as an environment variable: --tls-cert-file is
KUBECONNECT_TLS_CERT_FILE. The flag wins.

Flags:
`

// readSettings reads the flags, and the environment for those that are not given.
func readSettings(args []string, lookup func(string) (string, bool)) (settings, error) {
	var s settings
	var level string
	flags := pflag.NewFlagSet("kubeconnect", pflag.ContinueOnError)
	flags.SortFlags = false
	flags.StringVar(&s.kubeconfig, "kubeconfig", "", "the kubeconfig `file` of the cluster to serve")
	flags.StringVar(&s.context, "context", "", "the `name` of the kubeconfig's context; its current one by default")
	flags.StringVar(&s.listen, "listen", "127.0.0.1:8080", "the `address` to serve on, HOST:PORT; port 0 takes a free one")
	flags.StringVar(&s.auth, "auth", authCluster, "who may call: \"cluster\" (whom the cluster knows, by a bearer token or a client certificate, reading what it may read there) or \"none\" (everyone on this machine, acting as the kubeconfig's user; loopback addresses only)")
	flags.StringSliceVar(&s.audiences, "auth-audience", nil, "an `audience` that bearer tokens must be meant for; repeat it, or separate several by commas, of which one is enough. By default the API server's own: then this service is sent tokens that are good for the API server too")
	flags.StringVar(&s.writeAs, "write-as", writeAsToken, "how changes, and reads that are not from memory, are made: \"token\" (with the caller's own bearer token; who calls with a client certificate can only read from memory, and with --auth-audience the API server must take those tokens too) or \"impersonate\" (as the caller, by the right of the service's account to act as others)")
	flags.DurationVar(&s.recheckInterval, "recheck-interval", 10*time.Second, "how `often` the credential and the rights of a stream are looked at while it runs, beside when a change of RBAC is seen; what the cluster has answered is remembered for another 10s at most")
	s.reviews.addFlags(flags)
	flags.StringVar(&s.certFile, "tls-cert-file", "", "a PEM `file` with the server's certificate chain; it is read again every few seconds, with its key; without it, plain text is served")
	flags.StringVar(&s.keyFile, "tls-private-key-file", "", "a PEM `file` with the private key of --tls-cert-file")
	flags.BoolVar(&s.allowPlaintext, "allow-plaintext", false, "serve plain text on an address that is not a loopback one: whoever is on the way can read tokens and objects; only for behind a proxy that ends TLS")
	flags.StringSliceVar(&s.corsOrigins, "cors-origin", nil, "an `origin`, such as https://app.example.com, whose pages may call from a browser, beside the page served here; repeat it, or separate several by commas; none by default, and no patterns")
	flags.IntVar(&s.limits.Streams, "caller-max-streams", 5000, "how `many` streams a caller may have open at a time; each needs about 50 KB here. The pods of a DaemonSet share a service account, and are one caller: give as many as there are nodes, times the streams of each. 0 is no limit, which is the default under --auth none, where everyone is the same caller")
	flags.IntVar(&s.limits.CredentialStreams, "credential-max-streams", 2000, "how `many` of them each credential of a caller may have, so that one pod does not take those of all pods of its service account: a pod, a token or a client certificate, as far as the cluster tells them apart. 0 is no limit, which is the default under --auth none")
	flags.IntVar(&s.limits.Rate, "caller-request-rate", 500, "how `many` calls a caller may make each second in the long run, opening a stream being one: more than a program needs that watches, less than one that asks in a loop can make. 0 is no limit, which is the default under --auth none")
	flags.IntVar(&s.limits.Burst, "caller-request-burst", 2000, "how `many` calls a caller may make at once after a quiet time: when a replica has gone, so many of its streams come back together, and the others at the rate")
	flags.IntVar(&s.limits.Calls, "caller-max-calls", 20, "how `many` calls, other than streams, a caller may have under way at a time; 200 more wait for up to 5s. 0 is no limit, which is the default under --auth none")
	flags.DurationVar(&s.maxStreamAge, "max-stream-age", 45*time.Minute, "how `long` a watch stays open, give or take a third: then it ends where it can be resumed, with UNAVAILABLE, and its client is asked to open another connection, so that streams find their way to replicas that have started since. 0 is for ever")
	flags.StringVar(&s.peers, "peers", "", "the other replicas, as `HOST:PORT`: a name of the DNS that has the addresses of all of them, such as that of a headless Service, and the port of their --metrics-listen. A replica that has far more watches than its peers ends some, a few a second, where they can be resumed; so does one that has lost the API server, where a peer has not. What peers tell is not authenticated, and is used for nothing else. Nobody by default")
	flags.IntVar(&s.maxConnections, "max-connections", 4096, "how `many` connections may be open at a time: above it, the address that has the most loses its newest one")
	flags.IntVar(&s.maxConnectionsPerAddress, "max-connections-per-address", 2048, "how `many` of them one address may have, and one /64 of IPv6: as many as a caller may have streams, because some clients open a connection for each until the first is there. Give more where clients come through one proxy that opens a connection for each")
	flags.BoolVar(&s.keepManagedFields, "keep-managed-fields", false, "keep metadata.managedFields, which is about half of an object")
	flags.DurationVar(&s.cacheIdleTimeout, "cache-idle-timeout", 10*time.Minute, "how `long` a resource is kept in memory that nobody reads or watches, other than those of --preload")
	flags.StringVar(&s.tokenGeneration, "token-generation", "", "any `text`, the same at all replicas: a resume token that was given out under another one begins with a snapshot. Change it after etcd was restored from a backup; see docs/operations.md")
	flags.StringSliceVar(&s.preload, "preload", nil, "a `resource`, as kubectl names it, that is read into memory at the start and kept there while nobody reads it; repeat it, or separate several by commas. The service is ready when it has all of these; it does not wait for those that the cluster does not serve, and not long for those that it cannot read, as long as it has another one. Leases are kept in memory only if they are named here, because each node changes one every ten seconds. Without it the service is ready when it has reached the API server, and the first caller of each resource waits for it")
	flags.StringSliceVar(&s.uncached, "uncached", nil, "a `resource`, as kubectl names it, that is never kept in memory, in none of its versions, such as secrets; repeat it, or separate several by commas. Without a group it is those of every group: events are those of events.k8s.io too. They are read at the API server as the caller, as --write-as says, each time")
	flags.StringSliceVar(&s.cacheAggregated, "cache-aggregated", nil, "an API `group`, such as metrics.example.com, that is kept in memory although an aggregated API serves it; repeat it, or separate several by commas. Give only groups whose server shows the same objects to all users who may list them: what it shows the service's account is served to them. Without it, such groups are read at the API server as the caller, each time")
	flags.StringVar(&s.memoryLimit, "memory-limit", "", "what the whole process should stay below, as a Kubernetes `quantity` such as 2Gi: near it, memory is given back sooner, at the price of processor time; GOMEMLIMIT by default")
	flags.StringVar((*string)(&s.compress), "compress", string(server.CompressNone), "`how` unary answers of 4 KiB and more are compressed for clients that offer it, as nearly all do by themselves: \"none\", or \"gzip\" at its fastest level. It makes a list about five times smaller and takes about three times its processor time: inside a cluster leave it out, give it where browsers and other clients are behind a slow network. Streams are never compressed; requests may be")
	flags.StringVar(&s.metricsListen, "metrics-listen", "", "an `address` of its own, HOST:PORT, where Prometheus reads /metrics, in plain text and without authentication: counts and times by resource, procedure and code, and no name of an object, a namespace or a caller. Give a loopback address, or have a NetworkPolicy guard it; nowhere by default")
	flags.StringVar(&level, "log-level", "info", "what is logged, to standard error: debug, info, warn or error")
	flags.Usage = func() { fmt.Fprint(os.Stderr, usage, flags.FlagUsages()) }
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
		return s, fmt.Errorf("--log-level %q: give debug, info, warn or error", level)
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

// liftLimits removes those that nobody has asked for where all callers are the
// same one.
func (s *settings) liftLimits(flags *pflag.FlagSet) {
	if s.auth != authNone {
		return
	}
	for name, limit := range map[string]*int{"caller-max-streams": &s.limits.Streams, "credential-max-streams": &s.limits.CredentialStreams, "caller-request-rate": &s.limits.Rate, "caller-max-calls": &s.limits.Calls} {
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
		return fmt.Errorf("--max-stream-age %s: give 0 or more", s.maxStreamAge)
	}
	if err := s.checkPeers(); err != nil {
		return err
	}
	if s.cacheIdleTimeout <= 0 {
		return fmt.Errorf("--cache-idle-timeout %s: give more than 0", s.cacheIdleTimeout)
	}
	if s.compress != server.CompressNone && s.compress != server.CompressGzip {
		return fmt.Errorf("--compress %q: give \"none\" or \"gzip\"", s.compress)
	}
	if slices.Contains(s.preload, "") {
		return errors.New("--preload: name a resource, such as pods")
	}
	if slices.Contains(s.uncached, "") {
		return errors.New("--uncached: name a resource, such as secrets")
	}
	if slices.Contains(s.cacheAggregated, "") {
		return errors.New("--cache-aggregated: name an API group, such as metrics.example.com")
	}
	if (s.certFile == "") != (s.keyFile == "") {
		return errors.New("--tls-cert-file and --tls-private-key-file go together: give both or neither")
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
	return fmt.Errorf("--auth %q: give \"cluster\" or \"none\"", s.auth)
}

func (s settings) checkRights() error {
	switch {
	case s.writeAs != writeAsToken && s.writeAs != writeAsImpersonate:
		return fmt.Errorf("--write-as %q: give \"token\" or \"impersonate\"", s.writeAs)
	case s.recheckInterval < time.Second:
		return fmt.Errorf("--recheck-interval %s: give 1s or more", s.recheckInterval)
	case slices.Contains(s.audiences, ""):
		return errors.New("--auth-audience: give a name; leave the flag out for the API server's own audience")
	}
	return s.reviews.check()
}

func (s settings) checkPeers() error {
	if s.peers == "" {
		return nil
	}
	if host, port, err := net.SplitHostPort(s.peers); err != nil || host == "" || port == "" {
		return fmt.Errorf("--peers %q: give HOST:PORT", s.peers)
	}
	if s.metricsListen == "" {
		return errors.New("--peers goes with --metrics-listen: replicas tell each other their load there")
	}
	return nil
}

func (s settings) checkLimits() error {
	if s.limits.Streams < 0 {
		return fmt.Errorf("--caller-max-streams %d: give 1 or more, or 0 for no limit", s.limits.Streams)
	}
	if s.limits.CredentialStreams < 0 {
		return fmt.Errorf("--credential-max-streams %d: give 1 or more, or 0 for no limit", s.limits.CredentialStreams)
	}
	if s.limits.Rate < 0 {
		return fmt.Errorf("--caller-request-rate %d: give 1 or more, or 0 for no limit", s.limits.Rate)
	}
	if s.limits.Burst < 1 {
		return fmt.Errorf("--caller-request-burst %d: give 1 or more", s.limits.Burst)
	}
	if s.limits.Calls < 0 {
		return fmt.Errorf("--caller-max-calls %d: give 1 or more, or 0 for no limit", s.limits.Calls)
	}
	return s.checkConnections()
}

func (s settings) checkConnections() error {
	if s.maxConnections < 1 {
		return fmt.Errorf("--max-connections %d: give 1 or more", s.maxConnections)
	}
	if s.maxConnectionsPerAddress < 1 {
		return fmt.Errorf("--max-connections-per-address %d: give 1 or more", s.maxConnectionsPerAddress)
	}
	return nil
}

// checkOrigins refuses other pages where nothing but their origin would tell them
// from the user.
func (s settings) checkOrigins() error {
	for _, origin := range s.corsOrigins {
		if err := server.CheckOrigin(origin); err != nil {
			return fmt.Errorf("--cors-origin: %w", err)
		}
	}
	if s.auth == authNone && len(s.corsOrigins) > 0 {
		return errors.New("--cors-origin goes with --auth cluster: without authentication, no page of another site may " +
			"call, for it would act as the kubeconfig's user; have your page's own server pass calls on instead")
	}
	return nil
}

// checkPlaintext refuses to serve credentials in plain text to the network.
func (s settings) checkPlaintext() error {
	if s.certFile != "" || s.allowPlaintext || auth.CheckLoopback(s.listen) == nil {
		return nil
	}
	return fmt.Errorf("--listen %s would serve plain text beyond this machine: give --tls-cert-file and "+
		"--tls-private-key-file, or --allow-plaintext behind a proxy that ends TLS", s.listen)
}

// memoryLimitBytes is what --memory-limit says; 0 if it says nothing.
func (s settings) memoryLimitBytes() (int64, error) {
	if s.memoryLimit == "" {
		return 0, nil
	}
	limit, err := resource.ParseQuantity(s.memoryLimit)
	if err != nil || limit.Value() <= 0 {
		return 0, fmt.Errorf("--memory-limit %q: give a quantity of bytes, such as 512Mi or 2Gi", s.memoryLimit)
	}
	return limit.Value(), nil
}
