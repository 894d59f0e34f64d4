// Package coverage holds the test that generates docs/coverage.md: it calls every verb of every
// resource in the control plane's discovery, through the service and with client-go.
//
// It has a control plane of its own, with all alpha and beta groups enabled. Controllers that would
// change objects are suspended while objects are compared.
package coverage
