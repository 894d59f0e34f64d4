package auth

import (
	"errors"
	"net/http"
	"strings"
	"testing"
)

var header = http.Header{"Authorization": {"Bearer secret-token"}}

func TestKubeconfigAuthenticator_AuthenticatesEveryRequest(t *testing.T) {
	identity, err := KubeconfigAuthenticator{}.Authenticate(t.Context(), header)
	if err != nil || identity.Username != "" || !identity.IsKubeconfigUser() {
		t.Errorf("got %+v, %v", identity, err)
	}
}

func TestClusterAuthenticator_ZeroValueRejectsEveryToken(t *testing.T) {
	identity, err := (&ClusterAuthenticator{}).Authenticate(t.Context(), header)
	if !errors.Is(err, ErrUnauthenticated) || identity.Key() != (Identity{}).Key() {
		t.Errorf("got %+v, %v", identity, err)
	}
	if text := err.Error(); strings.Contains(text, "secret") {
		t.Errorf("error is %s", text)
	}
}
