// Package deploy holds the Helm chart against a real API server: that every manifest
// is valid in every variant, that the pods are admitted and their flags understood,
// and that each right which the service account is given is needed. It is a Go module
// of its own, for it brings Helm.
package deploy
