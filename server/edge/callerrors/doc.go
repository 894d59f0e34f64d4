// Package callerrors maps errors to what callers see. [ConnectError] gives each error a Connect code and,
// for errors of the cluster and of limits, a kubeconnect.v1.Status. The result fits into the trailers and the
// JSON of every protocol, and has no address of the cluster.
//
// Handlers return errors of their domain, or a [LimitError] if the caller is over a limit; the interceptor of
// package edge calls ConnectError for all of them. A handler that puts an error into a message of a stream
// calls [StatusOf]:
//
//	many.Error = callerrors.StatusOf(err)
//
// The package imports bounds only, for the error of requests that cannot be decoded.
package callerrors
