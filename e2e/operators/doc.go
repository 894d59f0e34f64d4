// Package operators tests programs that are built with controller-runtime: they work at the service as they work at the API server. It is
// a Go module of its own because it depends on controller-runtime.
package operators
