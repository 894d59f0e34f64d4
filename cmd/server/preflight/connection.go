package preflight

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"syscall"
	"time"

	"k8s.io/client-go/rest"
)

const (
	// noticeableSkew is the difference of clocks above which something is wrong with one of them.
	noticeableSkew = 5 * time.Second
	// harmfulSkew is the difference above which tokens are treated as valid or expired at the wrong time.
	harmfulSkew = time.Minute
)

// connection requests the version of the API server, and reports whether it has responded.
func connection(ctx context.Context, config *rest.Config) ([]Result, bool) {
	const check = "connection"
	client, server, err := clientOf(config)
	if err != nil {
		return []Result{worse(Failed, check, err.Error(), "The service does not start.", "Correct the kubeconfig.")}, false
	}
	defer client.CloseIdleConnections()
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, server.JoinPath("version").String(), nil)
	if err != nil {
		return []Result{worse(Failed, check, err.Error(), "The service does not start.", "Correct the kubeconfig.")}, false
	}
	began := time.Now()
	response, err := client.Do(request)
	if err != nil {
		return []Result{unreachable(server, err)}, false
	}
	defer func() { _ = response.Body.Close() }()
	took := time.Since(began)
	var version struct{ GitVersion string }
	if err := json.NewDecoder(io.LimitReader(response.Body, maxDocument)).Decode(&version); err != nil {
		return []Result{worse(Failed, check, fmt.Sprintf("%s responds with status %s, not as an API server", server.Redacted(), response.Status),
			"The service cannot read the cluster.", "Correct the server of the kubeconfig, or the proxy in front of it.")}, false
	}
	found := fmt.Sprintf("%s responds in %s", server.Redacted(), took.Round(time.Millisecond))
	if version.GitVersion != "" {
		found += ", Kubernetes " + version.GitVersion
	}
	results := []Result{ok(check, found), authority(config, response.TLS)}
	return append(results, clock(response.Header.Get("Date"), began.Add(took/2))), true
}

// clientOf returns a client for the API server, and its URL. The client follows no redirect, which would
// send the credential of the service to another host.
func clientOf(config *rest.Config) (*http.Client, *url.URL, error) {
	server, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, nil, err
	}
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, nil, err
	}
	noRedirects := *client // it can be http.DefaultClient
	noRedirects.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &noRedirects, server, nil
}

// unreachable returns the result for an error of a request.
func unreachable(server *url.URL, err error) Result {
	found, remedy := "the API server at "+server.Host+": "+err.Error(), "Look at the address, and at the network between."
	var (
		unknownAuthority x509.UnknownAuthorityError
		otherName        x509.HostnameError
		invalid          x509.CertificateInvalidError
		noAddress        *net.DNSError
		timedOut         net.Error
	)
	switch {
	case errors.As(err, &unknownAuthority):
		found = fmt.Sprintf("the certificate of the API server at %s is not signed by the CA of the kubeconfig", server.Host)
		remedy = "Set certificate-authority-data of the kubeconfig to the CA of this cluster. If it is, something else responds at this address."
	case errors.As(err, &otherName):
		found = fmt.Sprintf("the certificate of the API server is not for %s", server.Hostname())
		remedy = "Use a name of the certificate as the server of the kubeconfig, or set its tls-server-name: " + otherName.Error() + "."
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		found = "the certificate of the API server has expired, or the clock of this machine is wrong: " + invalid.Error()
		remedy = "Renew the certificate of the API server, or correct the clock."
	case errors.As(err, &noAddress):
		found = fmt.Sprintf("the name %s of the API server has no address", noAddress.Name)
		remedy = "Correct the server of the kubeconfig, or the DNS of this machine."
	case errors.Is(err, syscall.ECONNREFUSED):
		found = fmt.Sprintf("nothing accepts connections at %s", server.Host)
		remedy = "Start the API server, or correct the server of the kubeconfig."
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timedOut) && timedOut.Timeout():
		found = fmt.Sprintf("the API server at %s does not respond within %s", server.Host, timeout)
		remedy = "Look at firewalls and at NetworkPolicies: pods of the service must be allowed to connect to the API server."
	}
	return worse(Failed, "connection", found, "The service has no data, and is not ready.", remedy)
}

// authority returns how the API server was authenticated.
func authority(config *rest.Config, state *tls.ConnectionState) Result {
	const check = "API server TLS"
	switch {
	case state == nil:
		return worse(Warning, check, "the connection is in plain text",
			"Credentials and objects can be read on the network.", "Use a server that begins with https:// in the kubeconfig.")
	case config.Insecure:
		return worse(Warning, check, "the kubeconfig has insecure-skip-tls-verify",
			"Another server can take the credential of the service, and those of its callers.",
			"Set certificate-authority-data of the kubeconfig instead.")
	}
	leaf := state.PeerCertificates[0]
	return ok(check, fmt.Sprintf("the certificate is signed by the CA of the kubeconfig, and expires in %s", Left(time.Until(leaf.NotAfter))))
}

// Left returns the time that is left in words, rounded down.
func Left(d time.Duration) string {
	switch hours := int(d.Hours()); {
	case hours < 1:
		return "less than an hour"
	case hours == 1:
		return "1 hour"
	case hours < 48:
		return fmt.Sprintf("%d hours", hours)
	default:
		return fmt.Sprintf("%d days", hours/24)
	}
}

// clock compares the clock of this machine with that of the API server, in a header of which the unit is
// a second.
func clock(header string, now time.Time) Result {
	const check = "clock"
	date, err := http.ParseTime(header)
	if err != nil {
		return worse(Warning, check, "the response of the API server has no date", "", "Compare the clocks by hand.")
	}
	skew := now.Sub(date.Add(time.Second / 2)).Round(time.Second)
	direction := "ahead of"
	if skew < 0 {
		direction = "behind"
	}
	found := fmt.Sprintf("this machine is %s %s the API server", skew.Abs(), direction)
	switch {
	case skew.Abs() > harmfulSkew:
		return worse(Failed, check, found, "Valid tokens and certificates are rejected, or expired ones accepted for longer.",
			"Correct the clock of this machine, or of the API server's.")
	case skew.Abs() > noticeableSkew:
		return worse(Warning, check, found, "Ages and delays are wrong by this time.", "Correct the clocks (NTP).")
	}
	return ok(check, "within 5 seconds of the API server's")
}
