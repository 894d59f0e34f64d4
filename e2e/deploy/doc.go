// Package deploy tests the Helm chart with a real API server: every manifest is valid in every
// variant, the pods are admitted and their flags accepted, the service works with the permissions
// of its service account, and it does not work without any one of them. It is a Go module of its
// own because it depends on Helm.
package deploy
