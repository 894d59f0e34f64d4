package auth

import (
	"fmt"
	"net/http"
	"strings"
	"unicode"
	"unicode/utf8"

	"k8s.io/client-go/transport"
)

// impersonating returns a transport that sends requests as the service and impersonates the caller.
// If headers cannot represent the caller's identity exactly, the transport rejects every request.
func (f *ClientFactory) impersonating(identity Identity) http.RoundTripper {
	config, err := impersonationOf(identity)
	if err != nil {
		return failingTransport{err}
	}
	return transport.NewImpersonatingRoundTripper(config, f.asService)
}

// impersonationOf returns the configuration that impersonates exactly the identity. HTTP/1.1
// removes white space from the ends of a header, so "admin " would become "admin".
func impersonationOf(identity Identity) (transport.ImpersonationConfig, error) {
	extra, err := extraHeaders(identity.Extra)
	if err != nil {
		return transport.ImpersonationConfig{}, err
	}
	for _, part := range []struct {
		what   string
		values []string
	}{{"user name", []string{identity.Username}}, {"UID", []string{identity.UID}}, {"group", identity.Groups}} {
		if err := checkHeaderValues(part.what, part.values); err != nil {
			return transport.ImpersonationConfig{}, err
		}
	}
	return transport.ImpersonationConfig{
		UserName: identity.Username,
		UID:      identity.UID,
		Groups:   identity.Groups,
		Extra:    extra,
	}, nil
}

// extraHeaders returns a user's extra with keys in lower case, as the API server reads them,
// because the names of headers are not case-sensitive.
func extraHeaders(extra map[string][]string) (map[string][]string, error) {
	headers := make(map[string][]string, len(extra))
	for key, values := range extra {
		if err := checkHeaderValues("extra key", []string{key}); err != nil {
			return nil, err
		}
		if err := checkHeaderValues(fmt.Sprintf("extra %q", key), values); err != nil {
			return nil, err
		}
		lower := strings.Map(lowerASCII, key)
		if _, taken := headers[lower]; taken {
			return nil, notImpersonated("several extra keys %q differ only in case", lower)
		}
		headers[lower] = values
	}
	return headers, nil
}

// lowerASCII keeps other letters unchanged: their bytes are escaped in a header's name.
func lowerASCII(r rune) rune {
	if 'A' <= r && r <= 'Z' {
		return r + ('a' - 'A')
	}
	return r
}

func checkHeaderValues(part string, values []string) error {
	for _, value := range values {
		switch {
		case strings.TrimSpace(value) != value:
			return notImpersonated("the %s %q begins or ends with white space", part, value)
		case !utf8.ValidString(value), strings.ContainsFunc(value, unicode.IsControl):
			return notImpersonated("the %s %q contains a control character or is not UTF-8", part, value)
		}
	}
	return nil
}

func notImpersonated(format string, args ...any) error {
	return forbidden(fmt.Sprintf(format, args...) + ", which an HTTP header cannot carry exactly: " +
		"the service cannot impersonate this user; read from the cache, or use another identity")
}
