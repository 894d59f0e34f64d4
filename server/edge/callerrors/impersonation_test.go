package callerrors

import (
	"errors"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kubeconnect/kubeconnect/server/internal/statustest"
)

// TestConnectError_SaysWhoGrantsImpersonation has messages of an API server that denies a request to the service,
// and others to the caller.
func TestConnectError_SaysWhoGrantsImpersonation(t *testing.T) {
	for message, grants := range map[string]bool{
		`User "system:serviceaccount:n:hub" cannot impersonate resource "users" in API group "" at the cluster scope`:                                 true,
		`User "system:serviceaccount:n:hub" cannot impersonate-on:user-info:patch resource "pods" in API group "" in the namespace "n"`:               true,
		`User "system:serviceaccount:n:hub" cannot impersonate:user-info resource "groups" in API group "authentication.k8s.io" at the cluster scope`: true,
		`User "system:serviceaccount:n:hub" cannot impersonate-on:serviceaccount:get path "/metrics"`:                                                 true,
		`User "alice" cannot patch resource "pods" in API group "" in the namespace "n"`:                                                              false,
		`admission webhook "impersonate" denied the request`:                                                                                          false,
	} {
		err := ConnectError(apierrors.NewForbidden(podResource, "a", errors.New(message)))
		said := statustest.Of(t, err).GetMessage()
		if !strings.Contains(said, message) || strings.Contains(said, "writes.allowed") != grants || strings.Contains(err.Error(), "writes.allowed") != grants {
			t.Errorf("the caller gets %q", said)
		}
	}
	if err := ConnectError(apierrors.NewBadRequest(`User "a" cannot impersonate resource "users"`)); strings.Contains(err.Error(), "writes.allowed") {
		t.Errorf("another reason: %v", err)
	}
}
