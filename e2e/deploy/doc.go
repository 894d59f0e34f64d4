// Package deploy holds the Helm chart against a real API server: that every manifest
// is valid in every variant, that the pods are admitted and their flags understood,
// that the service can do its work with the rights of its service account, and that
// without any one of them it cannot. It is a Go module of its own, for it brings Helm.
package deploy
