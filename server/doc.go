// Package server implements the RPCs of kubeconnect.v1. Reads are served by informerhub. Writes go
// to the API server through client-go's clients, which act as the caller. It is the only package
// that joins informerhub, auth and the generated API.
//
// A handler resolves the resource, validates the request, calls informerhub or auth, and encodes
// the result. Handlers return domain errors. An interceptor (errors.go) maps them in one place.
package server
