package origins

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	connectcors "connectrpc.com/cors"
	"github.com/rs/cors"

	"github.com/kubeconnect/kubeconnect/server/edge/call"
)

// preflightSeconds is the time that a browser may cache the response to a preflight request. No
// browser caches it longer.
const preflightSeconds = 7200

// CORS allows pages of the given origins to call, in addition to the pages of this service: by
// Connect and gRPC-Web, with a token in Authorization. They cannot use cookies or client
// certificates. Each origin must pass [CheckOrigin]. Without origins, CORS returns next.
func CORS(origins []string, next http.Handler) http.Handler {
	if len(origins) == 0 {
		return next // the library takes no origins for all origins
	}
	return cors.New(cors.Options{
		AllowedOrigins: origins,
		AllowedMethods: connectcors.AllowedMethods(),
		AllowedHeaders: append(connectcors.AllowedHeaders(), "Authorization", "If-None-Match", call.RequestIDHeader,
			"Traceparent", "Tracestate", "Baggage"),
		ExposedHeaders: append(connectcors.ExposedHeaders(), "ETag", call.ReplicaHeader, call.RequestIDHeader),
		MaxAge:         preflightSeconds,
	}).Handler(next)
}

// CheckOrigin returns an error unless origin is an origin as browsers send it, such as
// https://app.example.com or http://localhost:3000.
func CheckOrigin(origin string) error {
	if strings.Contains(origin, "*") {
		return fmt.Errorf("origin %q: name each origin in full: a pattern would allow any page "+
			"that matches it to use what your browsers can reach", origin)
	}
	sent, err := asBrowsersSend(origin)
	if err != nil {
		return fmt.Errorf("origin %q: %w; give one such as https://app.example.com", origin, err)
	}
	if sent != origin {
		return fmt.Errorf("origin %q: browsers send %q instead", origin, sent)
	}
	return nil
}

var defaultPorts = map[string]string{"http": ":80", "https": ":443"}

func asBrowsersSend(origin string) (string, error) {
	parsed, err := url.Parse(origin)
	if err != nil {
		return "", errors.New("it is not a valid URL")
	}
	port, known := defaultPorts[parsed.Scheme]
	if !known || parsed.Hostname() == "" {
		return "", errors.New("it is not http:// or https:// with a host")
	}
	return parsed.Scheme + "://" + strings.TrimSuffix(strings.ToLower(parsed.Host), port), nil
}
