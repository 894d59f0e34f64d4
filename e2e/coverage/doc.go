// Package coverage holds the test that makes docs/coverage.md: every resource that the
// control plane's discovery lists, with every verb, through the service and by client-go.
//
// It has a control plane of its own, with all alpha and beta groups on. What its
// controllers would change of an object is kept still while objects are compared.
package coverage
