package server

import (
	"encoding/base64"
	"encoding/binary"
	"hash/crc32"
)

// The resume token of several watches is, in base64url: a format number of its own; the
// token of each watch, before its base64url, which is empty where there is none; and a
// checksum.
const manyTokenFormat = 2

func joinTokens(tokens []string) string {
	joined := []byte{manyTokenFormat}
	for _, token := range tokens {
		decoded, _ := tokenBytes(token) // our own
		joined = appendText(joined, string(decoded))
	}
	joined = binary.BigEndian.AppendUint32(joined, crc32.ChecksumIEEE(joined))
	return base64.RawURLEncoding.EncodeToString(joined)
}

// splitToken answers the tokens of some watches; all are empty if the token is. Whether
// they are good for the watches is for these to say.
func splitToken(token string, watches int) ([]string, error) {
	tokens := make([]string, watches)
	if token == "" {
		return tokens, nil
	}
	rest, ok := openToken(token, manyTokenFormat)
	for i := 0; ok && i < watches; i++ {
		var one string
		one, rest, ok = cutText(rest)
		tokens[i] = base64.RawURLEncoding.EncodeToString([]byte(one))
	}
	if !ok || len(rest) > 0 {
		return nil, badRequest("resume_token is not one that this service gives out for %d watches: it is another request's, or was cut or changed on the way; watch without it", watches)
	}
	return tokens, nil
}
