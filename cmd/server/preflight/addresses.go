package preflight

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// maxDocument bounds the issuer's document.
const maxDocument = 1 << 20

// issuerDocument is what an OpenID issuer publishes about itself, as far as the console needs it.
type issuerDocument struct {
	Issuer                string
	AuthorizationEndpoint string   `json:"authorization_endpoint"`
	TokenEndpoint         string   `json:"token_endpoint"`
	Challenges            []string `json:"code_challenge_methods_supported"`
}

// issuer reads the document of the OpenID issuer. Only the page connects to the issuer, so this machine
// may be unable to.
func issuer(ctx context.Context, transport http.RoundTripper, features Features) Result {
	const check = "OpenID issuer"
	const consequence = "Users cannot sign in to the console with it."
	document, err := readIssuer(ctx, transport, features.IssuerURL)
	if err != nil {
		return worse(Warning, check, err.Error(), consequence+" Only browsers connect to it, so this is no fault if they can.",
			"Correct --oidc-issuer-url, or open this address in a browser.")
	}
	endpoint, _ := url.Parse(document.TokenEndpoint)
	own, _ := url.Parse(features.IssuerURL)
	switch {
	case document.Issuer != features.IssuerURL:
		return worse(Failed, check, fmt.Sprintf("%s calls itself %q", features.IssuerURL, document.Issuer), consequence,
			"Set --oidc-issuer-url to exactly that name, with or without the slash at its end.")
	case document.AuthorizationEndpoint == "" || document.TokenEndpoint == "":
		return worse(Failed, check, features.IssuerURL+" has no authorization or token endpoint", consequence,
			"Use an issuer with the authorization code flow.")
	case len(document.Challenges) > 0 && !slices.Contains(document.Challenges, "S256"):
		return worse(Failed, check, features.IssuerURL+" does not support PKCE with S256", consequence, "Enable PKCE at the issuer.")
	case endpoint == nil || origin(endpoint) != origin(own) && !slices.Contains(features.EndpointOrigins, origin(endpoint)):
		return worse(Failed, check, "the token endpoint "+document.TokenEndpoint+" is at another origin", consequence,
			"Add its origin to --oidc-endpoint-origins.")
	}
	return ok(check, features.IssuerURL+" responds")
}

func origin(address *url.URL) string { return address.Scheme + "://" + address.Host }

func readIssuer(ctx context.Context, transport http.RoundTripper, issuer string) (document issuerDocument, err error) {
	address := strings.TrimSuffix(issuer, "/") + "/.well-known/openid-configuration"
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return document, err
	}
	client := &http.Client{Transport: transport, Timeout: timeout}
	defer client.CloseIdleConnections()
	response, err := client.Do(request)
	if err != nil {
		return document, err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return document, fmt.Errorf("%s responds with status %s", address, response.Status)
	}
	if err := json.NewDecoder(io.LimitReader(response.Body, maxDocument)).Decode(&document); err != nil {
		return document, fmt.Errorf("%s responds with something else than JSON", address)
	}
	return document, nil
}

// peers looks up the addresses of the other replicas.
func peers(ctx context.Context, address string) Result {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return worse(Failed, "peers", err.Error(), "The service does not start.", "Correct --peers.")
	}
	found, err := net.DefaultResolver.LookupHost(ctx, host)
	if err != nil {
		return worse(Warning, "peers", err.Error(), "Streams do not move between replicas.",
			"Correct --peers. The name of a Service is known inside the cluster only, and while it has ready pods.")
	}
	return ok("peers", fmt.Sprintf("%s has %d addresses", host, len(found)))
}
