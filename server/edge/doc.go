// Package edge has what every call passes, whatever it asks for. A [Chain] is the order: the bounds for
// unknown clients, pages of other sites, a gate that authenticates the caller and applies its
// limits before any of the message is read, and the interceptors.
//
//	chain := edge.NewChain(config)
//	server := chain.NewServer()
//	kubeconnectv1connect.RegisterResourceServiceHandler(server, resources)
//	chain.Mount(mux, server, wrap)
//	handler := chain.Handler(mux, kubernetes)
//
// The parts are packages below. Each may import only packages above it in this list:
//
//   - bounds: the length, the values and the names of requests, and strict JSON
//   - callerrors: errors as callers see them
//   - memorylimit: the memory limit of the process, and shares of it
//   - health: readiness, the health of the upstream, and their handlers
//   - call: a call, its caller, its span and its record
//   - observe: metrics, the log of calls, and who uses the service
//   - audit: the audit log
//   - conditional: tags of reads by GET
//   - origins: pages of other sites
//   - streamlife: when streams end
//   - gate: admission, and the limits of callers
//
// Handlers return errors of their domain, and an interceptor maps them in one place.
//
// Neither this package nor one below it knows the handlers of the RPCs.
package edge
