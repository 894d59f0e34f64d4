package auth

import (
	"net/http"
	"strings"
)

// maxToken is how long a bearer token may be. Those of service accounts have about
// 1 KiB, those of OIDC providers some more for each group.
const maxToken = 64 << 10

// bearerToken is the token in a request's Authorization header, "" if there is no such
// header. Its errors are [ErrUnauthenticated] and repeat nothing of the header but the
// name of a scheme that is known.
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
			return "the cluster knows no " + known + " authentication"
		}
	}
	return "the Authorization header does not begin with Bearer"
}

func checkToken(token string) (string, error) {
	switch {
	case token == "":
		return "", unauthenticated("the Authorization header has no token: send \"Authorization: Bearer TOKEN\"")
	case len(token) > maxToken:
		return "", unauthenticated("the bearer token has %d bytes: at most %d are taken", len(token), maxToken)
	case strings.ContainsFunc(token, notInToken):
		return "", unauthenticated("the bearer token has a character in it that no token may have, such as a space or a comma: send the token alone")
	}
	return token, nil
}

// notInToken is true of what RFC 6750 does not let be in a token, generously: other
// visible characters are let through, for tokens from files may have them. A comma
// would join two headers.
func notInToken(r rune) bool { return r <= ' ' || r > '~' || r == ',' }
