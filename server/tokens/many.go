package tokens

import (
	"encoding/base64"
	"encoding/binary"
	"hash/crc32"
	"slices"

	"github.com/kubeconnect/kubeconnect/server/internal/apierror"
)

// The resume token of several watches consists, in base64url, of: a format number of its own; the
// token of each watch, decoded from base64url, which is empty if there is none; and a checksum.
const manyTokenFormat = 2

// maxJoinedBytes bounds the token of several watches, so that a request can have it, which is bounded too. The tokens of watches
// of many namespaces, and of long pages, are long.
const maxJoinedBytes = 96 << 10

// Join returns the token of several watches. If it would be too long, it has no token for those for which there is no
// place: these begin with their snapshots.
func Join(tokens []string) string {
	joined := []byte{manyTokenFormat}
	for i, token := range tokens {
		decoded, _ := tokenBytes(token) // never fails: the token was encoded here
		if rest := len(tokens) - i - 1; len(joined)+len(decoded)+binary.MaxVarintLen32+rest > maxJoinedBytes {
			decoded = nil
		}
		joined = AppendText(joined, string(decoded))
	}
	joined = binary.BigEndian.AppendUint32(joined, crc32.ChecksumIEEE(joined))
	return base64.RawURLEncoding.EncodeToString(joined)
}

// unknownToken is a token with a format that no version writes.
var unknownToken = base64.RawURLEncoding.EncodeToString([]byte{0xff})

// Split returns the tokens of the watches. All are empty if token is, and unknown if its format is.
// Each watch validates its own token.
func Split(token string, watches int) ([]string, error) {
	switch {
	case token == "":
		return make([]string, watches), nil
	case IsOfNewerFormat(token):
		return slices.Repeat([]string{unknownToken}, watches), nil
	}
	tokens := make([]string, watches)
	rest, ok := openToken(token, manyTokenFormat)
	for i := 0; ok && i < watches; i++ {
		var part string
		part, rest, ok = cutText(rest)
		tokens[i] = base64.RawURLEncoding.EncodeToString([]byte(part))
	}
	if !ok || len(rest) > 0 {
		return nil, apierror.BadRequest("invalid resume_token for %d watches: from another request, truncated or modified; watch without it", watches)
	}
	return tokens, nil
}
