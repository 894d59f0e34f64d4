package web

import (
	"encoding/json"
	"net/url"
)

// configPath is the URL path of the configuration. The page reads it when a user must sign in, and for pods.
const configPath = "/console.json"

// Config is the configuration of the page. It contains nothing secret: everyone who reaches the
// service can read it.
type Config struct {
	// Issuer is the OpenID issuer that users can sign in with; nil if there is none.
	Issuer *Issuer `json:"issuer,omitempty"`
	// Terminal is whether the page offers terminals in containers: whether the service passes on connections into them.
	Terminal bool `json:"terminal,omitempty"`
}

// Issuer is an OpenID issuer. The page discovers its endpoints; the service does not connect to it.
type Issuer struct {
	// URL identifies the issuer: the value of iss in its tokens. It must be a valid URL.
	URL string `json:"url"`
	// ClientID identifies the page at the issuer, as a public client.
	ClientID string `json:"clientId"`
	// Scopes are the scopes that the page requests. They include openid.
	Scopes []string `json:"scopes"`
	// EndpointOrigins are the origins of the issuer's endpoints that are not at the origin of URL.
	EndpointOrigins []string `json:"-"`
}

func (c Config) encode() []byte {
	text, err := json.Marshal(c)
	if err != nil {
		panic(err) // it contains only strings and booleans
	}
	return text
}

// origins returns the origins that the page connects to in addition to its own.
func (c Config) origins() []string {
	if c.Issuer == nil {
		return nil
	}
	issuer, err := url.Parse(c.Issuer.URL)
	if err != nil {
		panic(err) // see Issuer.URL
	}
	return append([]string{issuer.Scheme + "://" + issuer.Host}, c.Issuer.EndpointOrigins...)
}
