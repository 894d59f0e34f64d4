// Package bounds bounds the requests of callers before they are decoded, so that no request takes far more
// memory than its bytes: by the length of the request, by the number of its values, and by the length of the
// names in it. JSON with an unknown field, or an unknown name of an enum value, is rejected, because without a
// misspelled selector a call would concern other objects.
//
// [Options] has the options of the handler of a procedure. [MaxBytes] and [DecodedBytes] say which memory a
// request can take, so that package gate reserves it before the request is received and decoded.
// [ParsedRequestBytes] and [ParsedBytes] estimate the memory of what is kept of a request. Handlers call
// [CheckLength] and [CheckJSONValues] for what they find only within a field.
//
// A request that cannot be decoded has an [InvalidRequestError] as its cause.
//
// The package imports no other package of server/edge: it knows neither calls nor callers.
package bounds
