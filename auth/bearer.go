package auth

import (
	"net/http"
	"strings"
)

// maxToken is the maximum length of a bearer token. Tokens of service accounts have about 1 KiB;
// those of OIDC providers grow with the number of groups.
const maxToken = 64 << 10

// bearerToken returns the token in a request's Authorization header, or "" if there is no such
// header. Its errors are [ErrUnauthenticated] and contain nothing of the header except the name of
// a known scheme.
func bearerToken(header http.Header) (string, error) {
	values := header.Values("Authorization")
	if len(values) == 0 {
		return "", nil
	}
	if len(values) > 1 {
		return "", unauthenticated("there are %d Authorization headers: send one", len(values))
	}
	scheme, token, _ := strings.Cut(strings.Trim(values[0], " \t"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return "", unauthenticated("%s: send \"Authorization: Bearer TOKEN\"", wrongScheme(scheme))
	}
	return checkToken(strings.TrimLeft(token, " "))
}

func wrongScheme(scheme string) string {
	for _, known := range []string{"Basic", "Digest", "Negotiate"} {
		if strings.EqualFold(scheme, known) {
			return "the cluster does not support " + known + " authentication"
		}
	}
	return "the Authorization header does not begin with Bearer"
}

func checkToken(token string) (string, error) {
	switch {
	case token == "":
		return "", unauthenticated("the Authorization header has no token: send \"Authorization: Bearer TOKEN\"")
	case len(token) > maxToken:
		return "", unauthenticated("the bearer token has %d bytes: at most %d are accepted", len(token), maxToken)
	case strings.ContainsFunc(token, notInToken):
		return "", unauthenticated("the bearer token contains a character that is not allowed, " +
			"such as a space or a comma: send only the token")
	}
	return token, nil
}

// notInToken reports whether a character is not allowed in a token. It is more tolerant than RFC
// 6750 and accepts all visible ASCII characters, because tokens from files can contain them, except
// a comma, which would join two headers.
func notInToken(r rune) bool { return r <= ' ' || r > '~' || r == ',' }
