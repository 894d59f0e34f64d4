// Package tokens encodes and parses the tokens that callers get back to continue: resume tokens of watches, and page tokens
// of lists. The comments of [Watch] and [Page] draw their formats.
//
//   - A token contains no secret and needs none. It says where to continue, never what its bearer can read, and any replica
//     accepts it: nothing is kept for a token.
//   - A token that was written for another question, or was truncated or modified, is rejected by a BadRequest.
//   - A token of a newer version of the service is no mistake of the caller: a stream begins with RESET, and a list expires.
//   - A change of the format, or of the normal form of a request that a hash is computed from, takes the next format number.
//     testdata/tokens.jsonl of server/streams has tokens of every format that was ever written.
//
// tokens must not import edge or Connect: it knows neither calls nor connections.
package tokens
