package config

import (
	"fmt"
	"log/slog"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/kubeconnect/kubeconnect/server/edge/gate"
)

// defaults are the settings of a command line without flags.
var defaults = Settings{
	Listen:                   "127.0.0.1:8080",
	Auth:                     "cluster",
	WriteAs:                  "token",
	KubeAPI:                  "all",
	RecheckInterval:          10 * time.Second,
	Reviews:                  Reviews{PermissionInterval: 10 * time.Second, TokenInterval: 5 * time.Minute},
	OIDC:                     OIDC{scopes: []string{"openid", "profile", "email"}},
	CacheIdleTimeout:         10 * time.Minute,
	Limits:                   gate.Limits{Streams: 5000, CredentialStreams: 2000, Rate: 500, Burst: 2000, Calls: 20},
	MaxStreamAge:             45 * time.Minute,
	MaxConnections:           4096,
	MaxConnectionsPerAddress: 2048,
	Compress:                 "none",
	MetricsAuth:              "none",
	LogFormat:                "text",
	LogSample:                0.001,
}

// unlimited are the limits without authentication.
var unlimited = gate.Limits{Burst: 2000}

func with(change func(*Settings)) Settings {
	s := defaults
	change(&s)
	return s
}

// everyFlag has a value for each flag, and the resulting setting.
var everyFlag = []struct {
	flag, value string
	set         func(*Settings)
}{
	{"config", "testdata/empty.yaml", func(s *Settings) { s.Config = "testdata/empty.yaml" }},
	{"kubeconfig", "k", func(s *Settings) { s.Kubeconfig = "k" }},
	{"context", "c", func(s *Settings) { s.Context = "c" }},
	{"namespaces", "a,team-*", func(s *Settings) { s.Namespaces = []string{"a", "team-*"} }},
	{"namespace-selector", "team=shop", func(s *Settings) { s.NamespaceSelector = "team=shop" }},
	{"select", "pods=app in (a,b)", func(s *Settings) { s.Select = []string{"pods=app in (a,b)"} }},
	{"select-fields", "pods=spec.nodeName=a", func(s *Settings) { s.SelectFields = []string{"pods=spec.nodeName=a"} }},
	{"listen", "0.0.0.0:1", func(s *Settings) { s.Listen = "0.0.0.0:1" }},
	{"auth", "cluster", func(s *Settings) { s.Auth = "cluster" }},
	{"auth-audience", "x,y", func(s *Settings) { s.Audiences = []string{"x", "y"} }},
	{"kube-api", "read", func(s *Settings) { s.KubeAPI = "read" }},
	{"write-as", "impersonate", func(s *Settings) { s.WriteAs = "impersonate" }},
	{"recheck-interval", "1m", func(s *Settings) { s.RecheckInterval = time.Minute }},
	{"authorizer-extra", "authentication.kubernetes.io/pod-uid", func(s *Settings) { s.Reviews.Extra = []string{"authentication.kubernetes.io/pod-uid"} }},
	{"permission-review-interval", "5m", func(s *Settings) { s.Reviews.PermissionInterval = 5 * time.Minute }},
	{"permission-grace", "1m", func(s *Settings) { s.Reviews.Grace = time.Minute }},
	{"token-review-interval", "4m", func(s *Settings) { s.Reviews.TokenInterval = 4 * time.Minute }},
	{"tls-cert-file", "cert", func(s *Settings) { s.CertFile = "cert" }},
	{"tls-private-key-file", "key", func(s *Settings) { s.KeyFile = "key" }},
	{"allow-plaintext", "true", func(s *Settings) { s.allowPlaintext = true }},
	{"cors-origin", "https://a.example,http://b.example:1", func(s *Settings) { s.CORSOrigins = []string{"https://a.example", "http://b.example:1"} }},
	{"oidc-issuer-url", "https://issuer.example/a", func(s *Settings) { s.OIDC.IssuerURL = "https://issuer.example/a" }},
	{"oidc-client-id", "console", func(s *Settings) { s.OIDC.clientID = "console" }},
	{"oidc-scopes", "openid,groups", func(s *Settings) { s.OIDC.scopes = []string{"openid", "groups"} }},
	{"oidc-endpoint-origins", "https://tokens.example", func(s *Settings) { s.OIDC.EndpointOrigins = []string{"https://tokens.example"} }},
	{"caller-max-streams", "1", func(s *Settings) { s.Limits.Streams = 1 }},
	{"credential-max-streams", "8", func(s *Settings) { s.Limits.CredentialStreams = 8 }},
	{"caller-request-rate", "2", func(s *Settings) { s.Limits.Rate = 2 }},
	{"caller-request-burst", "3", func(s *Settings) { s.Limits.Burst = 3 }},
	{"caller-max-calls", "4", func(s *Settings) { s.Limits.Calls = 4 }},
	{"max-stream-age", "5m", func(s *Settings) { s.MaxStreamAge = 5 * time.Minute }},
	{"peers", "peers:9090", func(s *Settings) { s.Peers = "peers:9090" }},
	{"max-connections", "5", func(s *Settings) { s.MaxConnections = 5 }},
	{"max-connections-per-address", "6", func(s *Settings) { s.MaxConnectionsPerAddress = 6 }},
	{"keep-managed-fields", "true", func(s *Settings) { s.KeepManagedFields = true }},
	{"cache-idle-timeout", "1h", func(s *Settings) { s.CacheIdleTimeout = time.Hour }},
	{"token-generation", "g", func(s *Settings) { s.TokenGeneration = "g" }},
	{"preload", "pods,deployments.apps", func(s *Settings) { s.Preload = []string{"pods", "deployments.apps"} }},
	{"uncached", "secrets,ingresses.networking.k8s.io", func(s *Settings) { s.Uncached = []string{"secrets", "ingresses.networking.k8s.io"} }},
	{"cache-aggregated", "a.example,b.example", func(s *Settings) { s.CacheAggregated = []string{"a.example", "b.example"} }},
	{"memory-limit", "2Gi", func(s *Settings) { s.memoryLimit = "2Gi" }},
	{"compress", "gzip", func(s *Settings) { s.Compress = "gzip" }},
	{"metrics-listen", "127.0.0.1:2", func(s *Settings) { s.MetricsListen = "127.0.0.1:2" }},
	{"metrics-auth", "cluster", func(s *Settings) { s.MetricsAuth = "cluster" }},
	{"metrics-tls", "true", func(s *Settings) { s.MetricsTLS = true }},
	{"admin-token-file", "admin", func(s *Settings) { s.AdminTokenFile = "admin" }},
	{"log-format", "json", func(s *Settings) { s.LogFormat = "json" }},
	{"log-sample", "0.5", func(s *Settings) { s.LogSample = 0.5 }},
	{"audit-log", "-", func(s *Settings) { s.AuditLog = "-" }},
	{"audit-policy", "policy.yaml", func(s *Settings) { s.AuditPolicy = "policy.yaml" }},
	{"tracing", "true", func(s *Settings) { s.Tracing = true }},
	{"log-level", "debug", func(s *Settings) { s.LogLevel = slog.LevelDebug }},
}

func TestSettings_EveryFlagIsReadFromFlagsEnvironmentAndFile(t *testing.T) {
	var args []string
	environment := make(map[string]string)
	want := with(func(s *Settings) {
		for _, one := range everyFlag {
			args = append(args, "--"+one.flag+"="+one.value)
			environment["KUBECONNECT_"+strings.ToUpper(strings.ReplaceAll(one.flag, "-", "_"))] = one.value
			one.set(s)
		}
	})
	fromFile := want
	fromFile.Config = fileOf(t, everyField())
	for name, source := range map[string]struct {
		args        []string
		environment map[string]string
		want        Settings
	}{
		"flags":     {args: args, want: want},
		"variables": {environment: environment, want: want},
		"a file":    {args: []string{"--config", fromFile.Config}, want: fromFile},
	} {
		got, err := Read(source.args, lookupIn(source.environment))
		if err != nil || !reflect.DeepEqual(got, source.want) {
			t.Errorf("%s: %+v, %v, want %+v", name, got, err, source.want)
		}
	}
	missing := reflect.ValueOf(want)
	for i := range missing.NumField() {
		name := missing.Type().Field(i).Name
		if name != "Auth" && reflect.DeepEqual(fmt.Sprint(missing.Field(i)), fmt.Sprint(reflect.ValueOf(defaults).Field(i))) {
			t.Errorf("no flag of everyFlag sets %s", name)
		}
	}
}

// A flag that takes several values adds up those of each time that it is given.
func TestSettings_RepeatedFlagsAddValues(t *testing.T) {
	got, err := Read(strings.Fields("--auth-audience x --auth-audience y,z --uncached secrets --uncached pods"), lookupIn(nil))
	want := with(func(s *Settings) { s.Audiences, s.Uncached = []string{"x", "y", "z"}, []string{"secrets", "pods"} })
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v, want %+v", got, err, want)
	}
}

func TestSettings_FlagsTakePrecedenceOverEnvironment(t *testing.T) {
	for name, test := range map[string]struct {
		args        string
		environment map[string]string
		want        Settings
	}{
		"nothing": {want: defaults},
		"the flag takes precedence": {
			args: "--listen 127.0.0.1:1 --keep-managed-fields=false",
			environment: map[string]string{
				"KUBECONNECT_LISTEN": "127.0.0.1:2", "KUBECONNECT_CONTEXT": "c", "KUBECONNECT_KEEP_MANAGED_FIELDS": "true",
			},
			want: with(func(s *Settings) { s.Listen, s.Context = "127.0.0.1:1", "c" }),
		},
		"the flag wins over a variable with an invalid value": {
			args:        "--keep-managed-fields",
			environment: map[string]string{"KUBECONNECT_KEEP_MANAGED_FIELDS": "perhaps"},
			want:        with(func(s *Settings) { s.KeepManagedFields = true }),
		},
		"an empty variable is set": {
			environment: map[string]string{"KUBECONNECT_KUBECONFIG": ""},
			want:        defaults,
		},
		"variables of a Service named kubeconnect": {
			environment: map[string]string{"KUBECONNECT_PORT": "tcp://10.0.0.1:80", "KUBECONNECT_SERVICE_HOST": "10.0.0.1"},
			want:        defaults,
		},
		"no authentication, on this machine": {
			args: "--auth none --listen localhost:0",
			want: with(func(s *Settings) { s.Auth, s.Listen, s.Limits = "none", "localhost:0", unlimited }),
		},
		"no authentication, with a limit": {
			args:        "--auth none --caller-max-streams 2000",
			environment: map[string]string{"KUBECONNECT_CALLER_REQUEST_RATE": "7"},
			want:        with(func(s *Settings) { s.Auth, s.Limits = "none", gate.Limits{Streams: 2000, Rate: 7, Burst: 2000} }),
		},
		"TLS on the network": {
			args: "--listen :443 --tls-cert-file a --tls-private-key-file b",
			want: with(func(s *Settings) { s.Listen, s.CertFile, s.KeyFile = ":443", "a", "b" }),
		},
		"metrics for allowed clients, over TLS": {
			args: "--metrics-auth cluster --metrics-listen :9090 --metrics-tls --tls-cert-file a --tls-private-key-file b",
			want: with(func(s *Settings) {
				s.MetricsAuth, s.MetricsListen, s.MetricsTLS, s.CertFile, s.KeyFile = "cluster", ":9090", true, "a", "b"
			}),
		},
		"metrics for allowed clients, behind a proxy": {
			args: "--metrics-auth cluster --metrics-listen :9090 --allow-plaintext",
			want: with(func(s *Settings) { s.MetricsAuth, s.MetricsListen, s.allowPlaintext = "cluster", ":9090", true }),
		},
		"plain text on the network, explicitly allowed": {
			args: "--listen :80 --allow-plaintext",
			want: with(func(s *Settings) { s.Listen, s.allowPlaintext = ":80", true }),
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Read(strings.Fields(test.args), lookupIn(test.environment))
			if err != nil || !reflect.DeepEqual(got, test.want) {
				t.Errorf("got %+v, %v\nwant  %+v", got, err, test.want)
			}
		})
	}
}

func TestSettings_InvalidValuesAreNamed(t *testing.T) {
	for name, test := range map[string]struct {
		args        string
		environment map[string]string
		says        string
	}{
		"an unknown flag":                          {args: "--nosuch", says: "--nosuch"},
		"an argument":                              {args: "serve", says: `"serve"`},
		"a level between two":                      {args: "--log-level debug-4", says: "--log-level"},
		"a policy without an audit log":            {args: "--audit-policy policy.yaml", says: "--audit-log"},
		"a sample above 1":                         {args: "--log-sample 1.5", says: "--log-sample"},
		"a sample that is not a number":            {args: "--log-sample NaN", says: "--log-sample"},
		"an unknown log format":                    {args: "--log-format xml", says: "--log-format"},
		"an unknown level":                         {args: "--log-level loud", says: "--log-level"},
		"an unknown authentication":                {args: "--auth maybe", says: "--auth"},
		"an invalid memory limit":                  {args: "--memory-limit much", says: "--memory-limit"},
		"an unknown compression":                   {args: "--compress zstd", says: "--compress"},
		"an unknown authentication of writes":      {args: "--write-as me", says: "--write-as"},
		"a resource without a name":                {args: "--uncached secrets, ", says: "--uncached"},
		"a resource to preload without a name":     {args: "--preload pods, ", says: "--preload"},
		"a group without a name":                   {args: "--cache-aggregated=a.example, ", says: "--cache-aggregated"},
		"a recheck interval of 0":                  {args: "--recheck-interval 0s", says: "--recheck-interval"},
		"an audience without a name":               {args: "--auth-audience x,", says: "--auth-audience"},
		"an idle timeout of 0":                     {args: "--cache-idle-timeout 0s", says: "--cache-idle-timeout"},
		"a certificate without a key":              {args: "--tls-cert-file a", says: "--tls-private-key-file"},
		"a key without a certificate":              {args: "--tls-private-key-file a", says: "--tls-cert-file"},
		"no authentication, on the network":        {args: "--auth none --listen 0.0.0.0:8080", says: "loopback"},
		"no authentication, on the network by TLS": {args: "--auth none --listen :443 --tls-cert-file a --tls-private-key-file b", says: "loopback"},
		"no authentication, in plain text":         {args: "--auth none --listen :80 --allow-plaintext", says: "loopback"},
		"pages of every site":                      {args: "--cors-origin https://a.example,*", says: "name each origin in full"},
		"an origin with a path":                    {args: "--cors-origin https://a.example/", says: "--cors-origin"},
		"pages of other sites, nobody asked":       {args: "--auth none --cors-origin https://a.example", says: "--auth cluster"},
		"a negative limit of a credential":         {args: "--credential-max-streams -1", says: "--credential-max-streams"},
		"a negative limit of streams":              {args: "--caller-max-streams -1", says: "--caller-max-streams"},
		"a negative rate":                          {args: "--caller-request-rate -1", says: "--caller-request-rate"},
		"a burst of 0":                             {args: "--caller-request-burst 0", says: "--caller-request-burst"},
		"a negative limit of calls":                {args: "--caller-max-calls -1", says: "--caller-max-calls"},
		"a negative stream age":                    {args: "--max-stream-age -1s", says: "--max-stream-age"},
		"a namespace that is empty":                {args: "--namespaces a,,b", says: "--namespaces"},
		"a pattern that is malformed":              {args: "--namespaces [a", says: "--namespaces"},
		"a malformed selector of namespaces":       {args: "--namespace-selector a==b==c", says: "--namespace-selector"},
		"a selection without a resource":           {args: "--select =app=web", says: "--select"},
		"a selection without a selector":           {args: "--select pods", says: "--select"},
		"a malformed selector of objects":          {args: "--select pods=a==b==c", says: "--select"},
		"a malformed selector of fields":           {args: "--select-fields pods=spec.nodeName", says: "--select-fields"},
		"peers without a port":                     {args: "--peers p --metrics-listen :9090", says: "--peers"},
		"peers without metrics":                    {args: "--peers p:1", says: "--metrics-listen"},
		"authenticated metrics nowhere":            {args: "--metrics-auth cluster", says: "--metrics-listen"},
		"authenticated metrics, nobody asked":      {args: "--auth none --metrics-auth cluster --metrics-listen 127.0.0.1:9090", says: "--auth cluster"},
		"tokens for metrics in plain text":         {args: "--metrics-auth cluster --metrics-listen :9090", says: "--metrics-tls"},
		"metrics over TLS nowhere":                 {args: "--metrics-tls --tls-cert-file a --tls-private-key-file b", says: "--metrics-listen"},
		"metrics over TLS without a certificate":   {args: "--metrics-tls --metrics-listen :9090", says: "--tls-cert-file"},
		"a connection limit of 0":                  {args: "--max-connections 0", says: "--max-connections"},
		"a connection limit of 0 for an address":   {args: "--max-connections-per-address 0", says: "--max-connections-per-address"},
		"plain text to the network":                {args: "--listen 0.0.0.0:80", says: "--allow-plaintext"},
		"an address without a port":                {args: "--auth none --listen localhost", says: "HOST:PORT"},
		"a variable that is not a bool":            {environment: map[string]string{"KUBECONNECT_KEEP_MANAGED_FIELDS": "perhaps"}, says: "KUBECONNECT_KEEP_MANAGED_FIELDS"},
		"an authentication by a wrong variable":    {environment: map[string]string{"KUBECONNECT_AUTH": "off"}, says: "--auth"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := Read(strings.Fields(test.args), lookupIn(test.environment)); err == nil || !strings.Contains(err.Error(), test.says) {
				t.Errorf("error is %v, want %q in it", err, test.says)
			}
		})
	}
}

// TestSettings_NamespacesCanExist has values that can be the name of a namespace, or a pattern of one, and others.
func TestSettings_NamespacesCanExist(t *testing.T) {
	for value, bad := range map[string]string{ // the item that the error names; "ok" for none
		"a": "ok", "team-*": "ok", "team-?": "ok", "team-[ab],[^a-c]*": "ok", `a\b`: "ok", "*": "ok", "0": "ok", strings.Repeat("a", 63): "ok",
		"S-A": "S-A", "-": "-", " s-a ": " s-a ", "": "", "a,": "", ",a": "", "a,,b": "", "a.b": "a.b", "a_b": "a_b", "a-": "a-",
		"a, b": " b", "Team-*": "Team-*", "team-[A-Z]": "team-[A-Z]", "team *": "team *", "[a": "[a", `a\`: `a\`, strings.Repeat("a", 64): strings.Repeat("a", 64),
	} {
		for origin, read := range map[string]func() (Settings, error){
			"flag": func() (Settings, error) { return Read([]string{"--namespaces", value}, lookupIn(nil)) },
			"variable": func() (Settings, error) {
				return Read(nil, lookupIn(map[string]string{"KUBECONNECT_NAMESPACES": value}))
			},
		} {
			_, err := read()
			if says := fmt.Sprintf("--namespaces %q: ", bad); (bad == "ok") != (err == nil) || err != nil && !strings.Contains(err.Error(), says) {
				t.Errorf("%s %q: %v, want %s", origin, value, err, bad)
			}
		}
	}
}

func TestSettings_EveryInvalidVariableIsNamed(t *testing.T) {
	_, err := Read(nil, lookupIn(map[string]string{"KUBECONNECT_KEEP_MANAGED_FIELDS": "x", "KUBECONNECT_ALLOW_PLAINTEXT": "y"}))
	for _, name := range []string{"KUBECONNECT_KEEP_MANAGED_FIELDS", "KUBECONNECT_ALLOW_PLAINTEXT"} {
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("error is %v, without %s", err, name)
		}
	}
}

func lookupIn(environment map[string]string) lookup {
	return func(name string) (string, bool) {
		value, ok := environment[name]
		return value, ok
	}
}

func TestReviewSettings_AreReadFromFlags(t *testing.T) {
	none := func(string) (string, bool) { return "", false }
	for args, want := range map[string]Reviews{
		"--authorizer-extra authentication.kubernetes.io/pod-uid,authentication.kubernetes.io/node-name": {
			Extra:              []string{"authentication.kubernetes.io/pod-uid", "authentication.kubernetes.io/node-name"},
			PermissionInterval: 10 * time.Second, TokenInterval: 5 * time.Minute,
		},
		"--permission-review-interval 5m": {PermissionInterval: 5 * time.Minute, TokenInterval: 5 * time.Minute},
		"--token-review-interval 4m":      {PermissionInterval: 10 * time.Second, TokenInterval: 4 * time.Minute},
		"--permission-grace 5m":           {PermissionInterval: 10 * time.Second, TokenInterval: 5 * time.Minute, Grace: 5 * time.Minute},
	} {
		t.Run(args, func(t *testing.T) {
			got, err := Read(strings.Fields(args), none)
			if err != nil || !reflect.DeepEqual(got.Reviews, want) {
				t.Errorf("reads %+v, %v", got.Reviews, err)
			}
		})
	}
	for _, args := range []string{
		"--authorizer-extra scopes.example.com",
		"--permission-review-interval 1s", "--permission-review-interval 5m1s",
		"--permission-grace -1s", "--permission-grace 5m1s",
		"--token-review-interval 1s", "--token-review-interval 240h",
	} {
		t.Run(args, func(t *testing.T) {
			if _, err := Read(strings.Fields(args), none); err == nil || !strings.Contains(err.Error(), strings.Fields(args)[0]) {
				t.Errorf("error is %v", err)
			}
		})
	}
}
