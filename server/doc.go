// Package server answers the RPCs of kubeconnect.v1: reads from informerhub,
// changes by client-go's clients acting as the caller. It is the only package
// that joins informerhub, auth and the generated API.
//
// A handler resolves the resource, refuses what the request may not say, asks one
// of the other two, and encodes. Errors are mapped in one place, by an
// interceptor (errors.go), so handlers return those of the domain.
package server
