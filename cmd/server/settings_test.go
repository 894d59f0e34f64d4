package main

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
var defaults = settings{
	listen:                   "127.0.0.1:8080",
	auth:                     "cluster",
	writeAs:                  "token",
	recheckInterval:          10 * time.Second,
	reviews:                  reviewSettings{permissionInterval: 10 * time.Second, tokenInterval: 5 * time.Minute},
	oidc:                     oidcSettings{scopes: []string{"openid", "profile", "email"}},
	cacheIdleTimeout:         10 * time.Minute,
	limits:                   gate.Limits{Streams: 5000, CredentialStreams: 2000, Rate: 500, Burst: 2000, Calls: 20},
	maxStreamAge:             45 * time.Minute,
	maxConnections:           4096,
	maxConnectionsPerAddress: 2048,
	compress:                 "none",
	logFormat:                "text",
	logSample:                0.001,
}

// unlimited are the limits without authentication.
var unlimited = gate.Limits{Burst: 2000}

func with(change func(*settings)) settings {
	s := defaults
	change(&s)
	return s
}

// everyFlag has a value for each flag, and the resulting setting.
var everyFlag = []struct {
	flag, value string
	set         func(*settings)
}{
	{"config", "testdata/empty.yaml", func(s *settings) { s.config = "testdata/empty.yaml" }},
	{"kubeconfig", "k", func(s *settings) { s.kubeconfig = "k" }},
	{"context", "c", func(s *settings) { s.context = "c" }},
	{"listen", "0.0.0.0:1", func(s *settings) { s.listen = "0.0.0.0:1" }},
	{"auth", "cluster", func(s *settings) { s.auth = "cluster" }},
	{"auth-audience", "x,y", func(s *settings) { s.audiences = []string{"x", "y"} }},
	{"write-as", "impersonate", func(s *settings) { s.writeAs = "impersonate" }},
	{"recheck-interval", "1m", func(s *settings) { s.recheckInterval = time.Minute }},
	{"authorizer-extra", "authentication.kubernetes.io/pod-uid", func(s *settings) { s.reviews.extra = []string{"authentication.kubernetes.io/pod-uid"} }},
	{"permission-review-interval", "5m", func(s *settings) { s.reviews.permissionInterval = 5 * time.Minute }},
	{"permission-grace", "1m", func(s *settings) { s.reviews.grace = time.Minute }},
	{"token-review-interval", "4m", func(s *settings) { s.reviews.tokenInterval = 4 * time.Minute }},
	{"tls-cert-file", "cert", func(s *settings) { s.certFile = "cert" }},
	{"tls-private-key-file", "key", func(s *settings) { s.keyFile = "key" }},
	{"allow-plaintext", "true", func(s *settings) { s.allowPlaintext = true }},
	{"cors-origin", "https://a.example,http://b.example:1", func(s *settings) { s.corsOrigins = []string{"https://a.example", "http://b.example:1"} }},
	{"oidc-issuer-url", "https://issuer.example/a", func(s *settings) { s.oidc.issuerURL = "https://issuer.example/a" }},
	{"oidc-client-id", "console", func(s *settings) { s.oidc.clientID = "console" }},
	{"oidc-scopes", "openid,groups", func(s *settings) { s.oidc.scopes = []string{"openid", "groups"} }},
	{"oidc-endpoint-origins", "https://tokens.example", func(s *settings) { s.oidc.endpointOrigins = []string{"https://tokens.example"} }},
	{"caller-max-streams", "1", func(s *settings) { s.limits.Streams = 1 }},
	{"credential-max-streams", "8", func(s *settings) { s.limits.CredentialStreams = 8 }},
	{"caller-request-rate", "2", func(s *settings) { s.limits.Rate = 2 }},
	{"caller-request-burst", "3", func(s *settings) { s.limits.Burst = 3 }},
	{"caller-max-calls", "4", func(s *settings) { s.limits.Calls = 4 }},
	{"max-stream-age", "5m", func(s *settings) { s.maxStreamAge = 5 * time.Minute }},
	{"peers", "peers:9090", func(s *settings) { s.peers = "peers:9090" }},
	{"max-connections", "5", func(s *settings) { s.maxConnections = 5 }},
	{"max-connections-per-address", "6", func(s *settings) { s.maxConnectionsPerAddress = 6 }},
	{"keep-managed-fields", "true", func(s *settings) { s.keepManagedFields = true }},
	{"cache-idle-timeout", "1h", func(s *settings) { s.cacheIdleTimeout = time.Hour }},
	{"token-generation", "g", func(s *settings) { s.tokenGeneration = "g" }},
	{"preload", "pods,deployments.apps", func(s *settings) { s.preload = []string{"pods", "deployments.apps"} }},
	{"uncached", "secrets,ingresses.networking.k8s.io", func(s *settings) { s.uncached = []string{"secrets", "ingresses.networking.k8s.io"} }},
	{"cache-aggregated", "a.example,b.example", func(s *settings) { s.cacheAggregated = []string{"a.example", "b.example"} }},
	{"memory-limit", "2Gi", func(s *settings) { s.memoryLimit = "2Gi" }},
	{"compress", "gzip", func(s *settings) { s.compress = "gzip" }},
	{"metrics-listen", "127.0.0.1:2", func(s *settings) { s.metricsListen = "127.0.0.1:2" }},
	{"admin-token-file", "admin", func(s *settings) { s.adminTokenFile = "admin" }},
	{"log-format", "json", func(s *settings) { s.logFormat = "json" }},
	{"log-sample", "0.5", func(s *settings) { s.logSample = 0.5 }},
	{"tracing", "true", func(s *settings) { s.tracing = true }},
	{"log-level", "debug", func(s *settings) { s.logLevel = slog.LevelDebug }},
}

func TestSettings_EveryFlagIsReadFromFlagsEnvironmentAndFile(t *testing.T) {
	var args []string
	environment := make(map[string]string)
	want := with(func(s *settings) {
		for _, one := range everyFlag {
			args = append(args, "--"+one.flag+"="+one.value)
			environment["KUBECONNECT_"+strings.ToUpper(strings.ReplaceAll(one.flag, "-", "_"))] = one.value
			one.set(s)
		}
	})
	fromFile := want
	fromFile.config = fileOf(t, everyField())
	for name, source := range map[string]struct {
		args        []string
		environment map[string]string
		want        settings
	}{
		"flags":     {args: args, want: want},
		"variables": {environment: environment, want: want},
		"a file":    {args: []string{"--config", fromFile.config}, want: fromFile},
	} {
		got, err := readSettings(source.args, lookupIn(source.environment))
		if err != nil || !reflect.DeepEqual(got, source.want) {
			t.Errorf("%s: %+v, %v, want %+v", name, got, err, source.want)
		}
	}
	missing := reflect.ValueOf(want)
	for i := range missing.NumField() {
		name := missing.Type().Field(i).Name
		if name != "auth" && reflect.DeepEqual(fmt.Sprint(missing.Field(i)), fmt.Sprint(reflect.ValueOf(defaults).Field(i))) {
			t.Errorf("no flag of everyFlag sets %s", name)
		}
	}
}

// A flag that takes several values adds up those of each time that it is given.
func TestSettings_RepeatedFlagsAddValues(t *testing.T) {
	got, err := readSettings(strings.Fields("--auth-audience x --auth-audience y,z --uncached secrets --uncached pods"), lookupIn(nil))
	want := with(func(s *settings) { s.audiences, s.uncached = []string{"x", "y", "z"}, []string{"secrets", "pods"} })
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v, want %+v", got, err, want)
	}
}

func TestSettings_FlagsTakePrecedenceOverEnvironment(t *testing.T) {
	for name, test := range map[string]struct {
		args        string
		environment map[string]string
		want        settings
	}{
		"nothing": {want: defaults},
		"the flag takes precedence": {
			args: "--listen 127.0.0.1:1 --keep-managed-fields=false",
			environment: map[string]string{
				"KUBECONNECT_LISTEN": "127.0.0.1:2", "KUBECONNECT_CONTEXT": "c", "KUBECONNECT_KEEP_MANAGED_FIELDS": "true",
			},
			want: with(func(s *settings) { s.listen, s.context = "127.0.0.1:1", "c" }),
		},
		"the flag wins over a variable with an invalid value": {
			args:        "--keep-managed-fields",
			environment: map[string]string{"KUBECONNECT_KEEP_MANAGED_FIELDS": "perhaps"},
			want:        with(func(s *settings) { s.keepManagedFields = true }),
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
			want: with(func(s *settings) { s.auth, s.listen, s.limits = "none", "localhost:0", unlimited }),
		},
		"no authentication, with a limit": {
			args:        "--auth none --caller-max-streams 2000",
			environment: map[string]string{"KUBECONNECT_CALLER_REQUEST_RATE": "7"},
			want:        with(func(s *settings) { s.auth, s.limits = "none", gate.Limits{Streams: 2000, Rate: 7, Burst: 2000} }),
		},
		"TLS on the network": {
			args: "--listen :443 --tls-cert-file a --tls-private-key-file b",
			want: with(func(s *settings) { s.listen, s.certFile, s.keyFile = ":443", "a", "b" }),
		},
		"plain text on the network, explicitly allowed": {
			args: "--listen :80 --allow-plaintext",
			want: with(func(s *settings) { s.listen, s.allowPlaintext = ":80", true }),
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := readSettings(strings.Fields(test.args), lookupIn(test.environment))
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
		"peers without a port":                     {args: "--peers p --metrics-listen :9090", says: "--peers"},
		"peers without metrics":                    {args: "--peers p:1", says: "--metrics-listen"},
		"a connection limit of 0":                  {args: "--max-connections 0", says: "--max-connections"},
		"a connection limit of 0 for an address":   {args: "--max-connections-per-address 0", says: "--max-connections-per-address"},
		"plain text to the network":                {args: "--listen 0.0.0.0:80", says: "--allow-plaintext"},
		"an address without a port":                {args: "--auth none --listen localhost", says: "HOST:PORT"},
		"a variable that is not a bool":            {environment: map[string]string{"KUBECONNECT_KEEP_MANAGED_FIELDS": "perhaps"}, says: "KUBECONNECT_KEEP_MANAGED_FIELDS"},
		"an authentication by a wrong variable":    {environment: map[string]string{"KUBECONNECT_AUTH": "off"}, says: "--auth"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := readSettings(strings.Fields(test.args), lookupIn(test.environment)); err == nil || !strings.Contains(err.Error(), test.says) {
				t.Errorf("error is %v, want %q in it", err, test.says)
			}
		})
	}
}

func TestSettings_EveryInvalidVariableIsNamed(t *testing.T) {
	_, err := readSettings(nil, lookupIn(map[string]string{"KUBECONNECT_KEEP_MANAGED_FIELDS": "x", "KUBECONNECT_ALLOW_PLAINTEXT": "y"}))
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
	for args, want := range map[string]reviewSettings{
		"--authorizer-extra authentication.kubernetes.io/pod-uid,authentication.kubernetes.io/node-name": {
			extra:              []string{"authentication.kubernetes.io/pod-uid", "authentication.kubernetes.io/node-name"},
			permissionInterval: 10 * time.Second, tokenInterval: 5 * time.Minute,
		},
		"--permission-review-interval 5m": {permissionInterval: 5 * time.Minute, tokenInterval: 5 * time.Minute},
		"--token-review-interval 4m":      {permissionInterval: 10 * time.Second, tokenInterval: 4 * time.Minute},
		"--permission-grace 5m":           {permissionInterval: 10 * time.Second, tokenInterval: 5 * time.Minute, grace: 5 * time.Minute},
	} {
		t.Run(args, func(t *testing.T) {
			got, err := readSettings(strings.Fields(args), none)
			if err != nil || !reflect.DeepEqual(got.reviews, want) {
				t.Errorf("reads %+v, %v", got.reviews, err)
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
			if _, err := readSettings(strings.Fields(args), none); err == nil || !strings.Contains(err.Error(), strings.Fields(args)[0]) {
				t.Errorf("error is %v", err)
			}
		})
	}
}
