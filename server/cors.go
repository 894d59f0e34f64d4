package server

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	connectcors "connectrpc.com/cors"
	"github.com/rs/cors"
)

// preflightSeconds is how long a browser may remember the answer to a preflight;
// none remembers it longer than this.
const preflightSeconds = 7200

// CORS lets pages of the given origins call, besides those that this service
// serves itself: by Connect and gRPC-Web, with a token in Authorization. Cookies and
// client certificates are not theirs to use. Each origin must pass [CheckOrigin];
// without any, next is answered as it is.
func CORS(origins []string, next http.Handler) http.Handler {
	if len(origins) == 0 {
		return next // no origins would mean all of them to the library
	}
	return cors.New(cors.Options{
		AllowedOrigins: origins,
		AllowedMethods: connectcors.AllowedMethods(),
		AllowedHeaders: append(connectcors.AllowedHeaders(), "Authorization"),
		ExposedHeaders: connectcors.ExposedHeaders(),
		MaxAge:         preflightSeconds,
	}).Handler(next)
}

// CheckOrigin fails unless a text is an origin as browsers send it, such as
// https://app.example.com or http://localhost:3000.
func CheckOrigin(origin string) error {
	if strings.Contains(origin, "*") {
		return fmt.Errorf("origin %q: name each origin in full: with a pattern, any page that somebody can put "+
			"there could use what a browser of yours can reach", origin)
	}
	sent, err := asBrowsersSend(origin)
	if err != nil {
		return fmt.Errorf("origin %q: %w; give one such as https://app.example.com", origin, err)
	}
	if sent != origin {
		return fmt.Errorf("origin %q: a browser never sends this; it sends %q", origin, sent)
	}
	return nil
}

var defaultPorts = map[string]string{"http": ":80", "https": ":443"}

func asBrowsersSend(origin string) (string, error) {
	parsed, err := url.Parse(origin)
	if err != nil {
		return "", errors.New("it cannot be read as a URL")
	}
	port, known := defaultPorts[parsed.Scheme]
	if !known || parsed.Hostname() == "" {
		return "", errors.New("it is not http:// or https:// with a host")
	}
	return parsed.Scheme + "://" + strings.TrimSuffix(strings.ToLower(parsed.Host), port), nil
}
