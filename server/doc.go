// Package server implements the RPCs of kubeconnect.v1. Reads are served by informerhub. Writes go
// to the API server through client-go's clients, which act as the caller. With the packages below it,
// it is the only one that joins informerhub, auth and the generated API.
//
// A handler resolves the resource, validates the request, calls informerhub or server/write, and
// encodes the result with server/encode. Handlers return domain errors, which server/edge maps in one
// place. None of these three packages imports this one.
package server
