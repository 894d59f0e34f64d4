package config

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"slices"

	"github.com/spf13/pflag"

	"github.com/kubeconnect/kubeconnect/auth"
	web "github.com/kubeconnect/kubeconnect/clients/web"
)

// OIDC are the settings of the console's sign-in by OpenID Connect. They do not affect how
// tokens are authenticated: the API server must trust the issuer.
type OIDC struct {
	IssuerURL       string
	clientID        string
	scopes          []string
	EndpointOrigins []string
}

func (s *OIDC) addFlags(flags *pflag.FlagSet) {
	flags.StringVar(&s.IssuerURL, "oidc-issuer-url", "",
		"the `URL` of an OpenID issuer that the API server trusts, to sign in to the console with")
	flags.StringVar(&s.clientID, "oidc-client-id", "",
		"the `ID` of the console at the issuer, a public client; an audience that the API server accepts")
	flags.StringSliceVar(&s.scopes, "oidc-scopes", []string{"openid", "profile", "email"},
		"a `scope` that the console requests, such as groups or offline_access; repeatable")
	flags.StringSliceVar(&s.EndpointOrigins, "oidc-endpoint-origins", nil,
		"an `origin` of the issuer's token endpoint, if it is not that of the issuer; repeatable")
}

// check returns an error if the settings are invalid, or if no caller has to sign in.
func (s OIDC) check(authMode string) error {
	if s.IssuerURL == "" {
		return s.checkUnused()
	}
	if err := checkIssuer(s.IssuerURL); err != nil {
		return fmt.Errorf("--oidc-issuer-url %q: %w", s.IssuerURL, err)
	}
	for _, origin := range s.EndpointOrigins {
		if err := checkEndpointOrigin(origin); err != nil {
			return fmt.Errorf("--oidc-endpoint-origins %q: %w", origin, err)
		}
	}
	switch {
	case s.clientID == "":
		return errors.New("--oidc-issuer-url requires --oidc-client-id, the ID of the console at the issuer")
	case authMode == AuthNone:
		return errors.New("--oidc-issuer-url requires --auth cluster: without authentication nobody signs in")
	}
	return checkScopes(s.scopes)
}

func (s OIDC) checkUnused() error {
	if s.clientID != "" || len(s.EndpointOrigins) > 0 {
		return errors.New("--oidc-client-id and --oidc-endpoint-origins require --oidc-issuer-url")
	}
	return nil
}

func checkIssuer(issuer string) error {
	parsed, err := parseSecure(issuer)
	if err != nil {
		return err
	}
	if parsed.User != nil || parsed.RawQuery != "" || parsed.ForceQuery || parsed.Fragment != "" {
		return errors.New("must have no user, query or fragment; give the value of iss in the issuer's tokens")
	}
	return nil
}

func checkEndpointOrigin(origin string) error {
	parsed, err := parseSecure(origin)
	if err != nil {
		return err
	}
	if parsed.Scheme+"://"+parsed.Host != origin {
		return errors.New("must be an origin, without a path, such as https://tokens.example.com")
	}
	return nil
}

// plainHost matches hosts that are safe in a Content-Security-Policy, where other characters have a
// meaning.
var plainHost = regexp.MustCompile(`^([A-Za-z0-9.-]+|\[[0-9A-Fa-f:]+\])(:[0-9]+)?$`)

// parseSecure parses a URL whose connections are encrypted, or do not leave this machine.
func parseSecure(text string) (*url.URL, error) {
	parsed, err := url.Parse(text)
	if err != nil || !plainHost.MatchString(parsed.Host) {
		return nil, errors.New("must be a URL with a host, such as https://issuer.example.com")
	}
	isLocal := auth.CheckLoopback(net.JoinHostPort(parsed.Hostname(), "0")) == nil
	if parsed.Scheme != "https" && (parsed.Scheme != "http" || !isLocal) {
		return nil, errors.New("must begin with https://; http:// is accepted for loopback addresses only")
	}
	return parsed, nil
}

// scopeName is the syntax of a scope (RFC 6749, section 3.3).
var scopeName = regexp.MustCompile(`^[\x21\x23-\x5B\x5D-\x7E]+$`)

func checkScopes(scopes []string) error {
	for _, scope := range scopes {
		if !scopeName.MatchString(scope) {
			return fmt.Errorf("--oidc-scopes %q: must be a scope without spaces, such as email", scope)
		}
	}
	if !slices.Contains(scopes, "openid") {
		return errors.New("--oidc-scopes: must include openid, because the issuer returns no ID token without it")
	}
	return nil
}

// Console returns the configuration of the console.
func (s OIDC) Console() web.Config {
	if s.IssuerURL == "" {
		return web.Config{}
	}
	return web.Config{Issuer: &web.Issuer{
		URL: s.IssuerURL, ClientID: s.clientID, Scopes: s.scopes, EndpointOrigins: s.EndpointOrigins,
	}}
}
