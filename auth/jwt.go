package auth

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"time"
)

// lastSecond is the end of the year 9999. A later expiration is treated as none.
const lastSecond = 253402300799

// expiry returns the expiration of a token by its claim "exp" if it is a JWT (RFC 7519), and zero
// if it is not known. It checks no signature: an invalid token can contain any expiration.
func expiry(token string) time.Time {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return time.Time{}
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return time.Time{}
	}
	var claims struct {
		Expires *float64 `json:"exp"` // seconds since 1970, possibly with a fraction
	}
	if json.Unmarshal(payload, &claims) != nil || claims.Expires == nil {
		return time.Time{}
	}
	if seconds := *claims.Expires; seconds > 0 && seconds <= lastSecond {
		return time.Unix(int64(seconds), 0)
	}
	return time.Time{}
}
