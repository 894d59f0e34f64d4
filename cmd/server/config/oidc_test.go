package config

import (
	"reflect"
	"strings"
	"testing"

	web "github.com/kubeconnect/kubeconnect/clients/web"
)

func TestOIDC_InvalidSettingsAreNamed(t *testing.T) {
	const valid = "--oidc-issuer-url https://issuer.example --oidc-client-id console "
	for name, test := range map[string]struct{ args, says string }{
		"plain text on the network":          {"--oidc-issuer-url http://issuer.example --oidc-client-id a", "https://"},
		"another protocol":                   {"--oidc-issuer-url ftp://localhost --oidc-client-id a", "https://"},
		"an issuer without a protocol":       {"--oidc-issuer-url issuer.example --oidc-client-id a", "--oidc-issuer-url"},
		"an issuer with a query":             {"--oidc-issuer-url https://issuer.example?a=b --oidc-client-id a", "query"},
		"an issuer with a user":              {"--oidc-issuer-url https://me@issuer.example --oidc-client-id a", "user"},
		"an issuer with a fragment":          {"--oidc-issuer-url https://issuer.example#a --oidc-client-id a", "fragment"},
		"an issuer that changes the policy":  {"--oidc-issuer-url https://issuer.example;script-src --oidc-client-id a", "--oidc-issuer-url"},
		"an issuer that is a pattern":        {"--oidc-issuer-url https://*.example --oidc-client-id a", "--oidc-issuer-url"},
		"an issuer without a client":         {"--oidc-issuer-url https://issuer.example", "--oidc-client-id"},
		"a client without an issuer":         {"--oidc-client-id console", "--oidc-issuer-url"},
		"an endpoint without an issuer":      {"--oidc-endpoint-origins https://tokens.example", "--oidc-issuer-url"},
		"an endpoint with a path":            {valid + "--oidc-endpoint-origins https://tokens.example/token", "without a path"},
		"an endpoint in plain text":          {valid + "--oidc-endpoint-origins http://tokens.example", "--oidc-endpoint-origins"},
		"scopes without openid":              {valid + "--oidc-scopes email", "openid"},
		"an empty scope":                     {valid + "--oidc-scopes openid,", "--oidc-scopes"},
		"a scope that is not one":            {valid + `--oidc-scopes openid,a\b`, "--oidc-scopes"},
		"no authentication, and a sign-in":   {valid + "--auth none", "--auth cluster"},
		"a pattern of origins of endpoints":  {valid + "--oidc-endpoint-origins https://*.example", "--oidc-endpoint-origins"},
		"a loopback name that is not one":    {"--oidc-issuer-url http://localhost.example --oidc-client-id a", "https://"},
		"an issuer whose path has a newline": {"--oidc-issuer-url https://issuer.example/\x7f --oidc-client-id a", "--oidc-issuer-url"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Read(strings.Split(strings.TrimSpace(test.args), " "), lookupIn(nil))
			if err == nil || !strings.Contains(err.Error(), test.says) {
				t.Errorf("error is %v, want %q in it", err, test.says)
			}
		})
	}
}

func TestOIDC_ConfiguresTheConsole(t *testing.T) {
	for name, test := range map[string]struct {
		args string
		want web.Config
	}{
		"no issuer": {"", web.Config{}},
		"an issuer with the default scopes": {
			"--oidc-issuer-url https://issuer.example/a/ --oidc-client-id console",
			web.Config{Issuer: &web.Issuer{URL: "https://issuer.example/a/", ClientID: "console", Scopes: []string{"openid", "profile", "email"}}},
		},
		"an issuer on this machine, with another origin of its tokens": {
			"--oidc-issuer-url http://127.0.0.1:5556/dex --oidc-client-id c --oidc-scopes openid,groups --oidc-endpoint-origins http://[::1]:5557",
			web.Config{Issuer: &web.Issuer{
				URL: "http://127.0.0.1:5556/dex", ClientID: "c", Scopes: []string{"openid", "groups"}, EndpointOrigins: []string{"http://[::1]:5557"},
			}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := Read(strings.Fields(test.args), lookupIn(nil))
			if got := s.OIDC.Console(); err != nil || !reflect.DeepEqual(got, test.want) {
				t.Errorf("got %+v, %v, want %+v", got, err, test.want)
			}
		})
	}
}
