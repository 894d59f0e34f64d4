package main

import (
	"errors"
	"log/slog"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/kubeconnect/kubeconnect/server"
)

// defaults are the settings of a command line without flags.
var defaults = settings{listen: "127.0.0.1:8080", auth: "cluster", writeAs: "token", recheckInterval: 10 * time.Second, cacheIdleTimeout: 10 * time.Minute, limits: server.Limits{Streams: 2000, Rate: 500, Burst: 2000, Calls: 20}, maxConnections: 4096, maxConnectionsPerAddress: 2048, compress: "none"}

// unlimited are the limits where nobody is asked who is calling.
var unlimited = server.Limits{Burst: 2000}

func with(change func(*settings)) settings {
	s := defaults
	change(&s)
	return s
}

func TestSettingsAreReadFromFlagsAndTheEnvironment(t *testing.T) {
	origins := []string{"https://a.example", "http://b.example:1", "https://c.example"}
	uncached := []string{"secrets", "ingresses.networking.k8s.io"}
	aggregated := []string{"a.example", "b.example"}
	for name, test := range map[string]struct {
		args        string
		environment map[string]string
		want        settings
	}{
		"nothing": {want: defaults},
		"every flag": {
			args: "--kubeconfig k --context c --listen 0.0.0.0:1 --auth cluster --auth-audience x --auth-audience y,z --write-as impersonate --recheck-interval 1m --tls-cert-file cert --tls-private-key-file key " +
				"--allow-plaintext --cors-origin https://a.example --cors-origin http://b.example:1,https://c.example --caller-max-streams 1 --caller-request-rate 2 --caller-request-burst 3 --caller-max-calls 4 --max-connections 5 --max-connections-per-address 6 --keep-managed-fields --cache-idle-timeout 1h --token-generation g --uncached secrets,ingresses.networking.k8s.io --cache-aggregated a.example,b.example --memory-limit 2Gi --compress gzip --metrics-listen 127.0.0.1:2 --log-level debug",
			want: settings{"k", "c", "0.0.0.0:1", "cluster", []string{"x", "y", "z"}, "impersonate", time.Minute, "cert", "key", true, origins, server.Limits{Streams: 1, Rate: 2, Burst: 3, Calls: 4}, 5, 6, true, time.Hour, "g", uncached, aggregated, "2Gi", "gzip", "127.0.0.1:2", slog.LevelDebug},
		},
		"every variable": {
			environment: map[string]string{
				"KUBECONNECT_KUBECONFIG": "k", "KUBECONNECT_CONTEXT": "c", "KUBECONNECT_LISTEN": "0.0.0.0:1", "KUBECONNECT_AUTH": "cluster",
				"KUBECONNECT_AUTH_AUDIENCE": "x,y,z", "KUBECONNECT_WRITE_AS": "impersonate", "KUBECONNECT_RECHECK_INTERVAL": "1m",
				"KUBECONNECT_TLS_CERT_FILE": "cert", "KUBECONNECT_TLS_PRIVATE_KEY_FILE": "key", "KUBECONNECT_ALLOW_PLAINTEXT": "true",
				"KUBECONNECT_CORS_ORIGIN":        "https://a.example,http://b.example:1,https://c.example",
				"KUBECONNECT_CALLER_MAX_STREAMS": "1", "KUBECONNECT_CALLER_REQUEST_RATE": "2", "KUBECONNECT_CALLER_REQUEST_BURST": "3",
				"KUBECONNECT_CALLER_MAX_CALLS": "4", "KUBECONNECT_MAX_CONNECTIONS": "5", "KUBECONNECT_MAX_CONNECTIONS_PER_ADDRESS": "6",
				"KUBECONNECT_KEEP_MANAGED_FIELDS": "1", "KUBECONNECT_CACHE_IDLE_TIMEOUT": "1h", "KUBECONNECT_TOKEN_GENERATION": "g", "KUBECONNECT_UNCACHED": "secrets,ingresses.networking.k8s.io", "KUBECONNECT_CACHE_AGGREGATED": "a.example,b.example", "KUBECONNECT_MEMORY_LIMIT": "2Gi", "KUBECONNECT_COMPRESS": "gzip", "KUBECONNECT_METRICS_LISTEN": "127.0.0.1:2", "KUBECONNECT_LOG_LEVEL": "warn",
			},
			want: settings{"k", "c", "0.0.0.0:1", "cluster", []string{"x", "y", "z"}, "impersonate", time.Minute, "cert", "key", true, origins, server.Limits{Streams: 1, Rate: 2, Burst: 3, Calls: 4}, 5, 6, true, time.Hour, "g", uncached, aggregated, "2Gi", "gzip", "127.0.0.1:2", slog.LevelWarn},
		},
		"the flag wins": {
			args: "--listen 127.0.0.1:1 --keep-managed-fields=false",
			environment: map[string]string{
				"KUBECONNECT_LISTEN": "127.0.0.1:2", "KUBECONNECT_CONTEXT": "c", "KUBECONNECT_KEEP_MANAGED_FIELDS": "true",
			},
			want: with(func(s *settings) { s.listen, s.context = "127.0.0.1:1", "c" }),
		},
		"the flag wins over a variable without sense": {
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
		"nobody asked, on this machine": {
			args: "--auth none --listen localhost:0",
			want: with(func(s *settings) { s.auth, s.listen, s.limits = "none", "localhost:0", unlimited }),
		},
		"nobody asked, but held to a limit": {
			args:        "--auth none --caller-max-streams 2000",
			environment: map[string]string{"KUBECONNECT_CALLER_REQUEST_RATE": "7"},
			want:        with(func(s *settings) { s.auth, s.limits.Rate, s.limits.Calls = "none", 7, 0 }),
		},
		"TLS to the network": {
			args: "--listen :443 --tls-cert-file a --tls-private-key-file b",
			want: with(func(s *settings) { s.listen, s.certFile, s.keyFile = ":443", "a", "b" }),
		},
		"plain text to the network, on purpose": {
			args: "--listen :80 --allow-plaintext",
			want: with(func(s *settings) { s.listen, s.allowPlaintext = ":80", true }),
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := readSettings(strings.Fields(test.args), lookupIn(test.environment))
			if err != nil || !reflect.DeepEqual(got, test.want) {
				t.Errorf("reads %+v, %v\nwant  %+v", got, err, test.want)
			}
		})
	}
}

func TestSettingsWithoutSenseAreToldByTheirNames(t *testing.T) {
	for name, test := range map[string]struct {
		args        string
		environment map[string]string
		says        string
	}{
		"a flag that is not known":              {args: "--nosuch", says: "--nosuch"},
		"an argument":                           {args: "serve", says: `"serve"`},
		"a level that is not known":             {args: "--log-level loud", says: "--log-level"},
		"an authentication not known":           {args: "--auth maybe", says: "--auth"},
		"a limit that is no quantity":           {args: "--memory-limit much", says: "--memory-limit"},
		"a compression that is not known":       {args: "--compress zstd", says: "--compress"},
		"changes as somebody":                   {args: "--write-as me", says: "--write-as"},
		"a resource without a name":             {args: "--uncached secrets, ", says: "--uncached"},
		"a group without a name":                {args: "--cache-aggregated=a.example, ", says: "--cache-aggregated"},
		"checked all the time":                  {args: "--recheck-interval 0s", says: "--recheck-interval"},
		"an audience without a name":            {args: "--auth-audience x,", says: "--auth-audience"},
		"no time at all":                        {args: "--cache-idle-timeout 0s", says: "--cache-idle-timeout"},
		"a certificate without a key":           {args: "--tls-cert-file a", says: "--tls-private-key-file"},
		"a key without a certificate":           {args: "--tls-private-key-file a", says: "--tls-cert-file"},
		"nobody asked, in the network":          {args: "--auth none --listen 0.0.0.0:8080", says: "loopback"},
		"nobody asked, in the network by TLS":   {args: "--auth none --listen :443 --tls-cert-file a --tls-private-key-file b", says: "loopback"},
		"nobody asked, in plain text":           {args: "--auth none --listen :80 --allow-plaintext", says: "loopback"},
		"pages of every site":                   {args: "--cors-origin https://a.example,*", says: "name each origin in full"},
		"pages of a site told with a path":      {args: "--cors-origin https://a.example/", says: "--cors-origin"},
		"pages of other sites, nobody asked":    {args: "--auth none --cors-origin https://a.example", says: "--auth cluster"},
		"fewer streams than none":               {args: "--caller-max-streams -1", says: "--caller-max-streams"},
		"fewer calls than none":                 {args: "--caller-request-rate -1", says: "--caller-request-rate"},
		"no call at all":                        {args: "--caller-request-burst 0", says: "--caller-request-burst"},
		"fewer calls at a time than none":       {args: "--caller-max-calls -1", says: "--caller-max-calls"},
		"no connection at all":                  {args: "--max-connections 0", says: "--max-connections"},
		"no connection of an address":           {args: "--max-connections-per-address 0", says: "--max-connections-per-address"},
		"plain text to the network":             {args: "--listen 0.0.0.0:80", says: "--allow-plaintext"},
		"an address without a port":             {args: "--auth none --listen localhost", says: "HOST:PORT"},
		"a variable that is no bool":            {environment: map[string]string{"KUBECONNECT_KEEP_MANAGED_FIELDS": "perhaps"}, says: "KUBECONNECT_KEEP_MANAGED_FIELDS"},
		"an authentication by a wrong variable": {environment: map[string]string{"KUBECONNECT_AUTH": "off"}, says: "--auth"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := readSettings(strings.Fields(test.args), lookupIn(test.environment)); err == nil || !strings.Contains(err.Error(), test.says) {
				t.Errorf("says %v, want %q in it", err, test.says)
			}
		})
	}
}

func TestEveryWrongVariableIsTold(t *testing.T) {
	_, err := readSettings(nil, lookupIn(map[string]string{"KUBECONNECT_KEEP_MANAGED_FIELDS": "x", "KUBECONNECT_ALLOW_PLAINTEXT": "y"}))
	for _, name := range []string{"KUBECONNECT_KEEP_MANAGED_FIELDS", "KUBECONNECT_ALLOW_PLAINTEXT"} {
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("says %v, without %s", err, name)
		}
	}
}

func TestHelpIsNoFailure(t *testing.T) {
	if err := run(t.Context(), []string{"--help"}); !errors.Is(err, pflag.ErrHelp) {
		t.Errorf("answers %v", err)
	}
}

func lookupIn(environment map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		value, ok := environment[name]
		return value, ok
	}
}
