// Package startup recognizes denials of an API server that is still starting.
//
// An API server listens before it knows roles and bindings: for a moment it denies what it allows as soon as it is ready. Load
// balancers keep clients away from it until then, but a client that reaches it directly can ask it. A denial that comes over a
// new connection is therefore taken for a decision only when the API server has said over that connection that it is ready, and
// has denied it again after that.
package startup
