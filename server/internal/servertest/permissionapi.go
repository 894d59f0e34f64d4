package servertest

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"

	"github.com/kubeconnect/kubeconnect/auth"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
)

// PermissionAPI responds to reviews of permissions, but blocks those of some users.
type PermissionAPI struct {
	Release chan struct{} // closed to respond to the blocked ones

	Open, Answered atomic.Int64
}

// ServeHTTP implements http.Handler.
func (p *PermissionAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	decoded, _, _ := scheme.Codecs.UniversalDeserializer().Decode(body, nil, nil)
	review, ok := decoded.(*authorizationv1.SubjectAccessReview)
	if !ok {
		http.NotFound(w, r)
		return
	}
	if strings.HasPrefix(review.Spec.User, "mallory") {
		p.Open.Add(1)
		<-p.Release
	} else {
		p.Answered.Add(1)
	}
	review.APIVersion, review.Kind = "authorization.k8s.io/v1", "SubjectAccessReview"
	review.Status.Allowed = true
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(review)
}

func (p *PermissionAPI) Authorizer(t *testing.T) *auth.Authorizer {
	t.Helper()
	api := httptest.NewServer(p)
	t.Cleanup(api.Close)
	return authorizerOf(t, &rest.Config{Host: api.URL}, auth.AuthorizerOptions{AllowedTTL: time.Millisecond})
}

// InMemory returns an authorizer without a network, for fake time.
func (p *PermissionAPI) InMemory(t *testing.T) *auth.Authorizer {
	t.Helper()
	return authorizerOf(t, &rest.Config{Host: "http://api.example", Transport: p}, auth.AuthorizerOptions{})
}

// RoundTrip implements http.RoundTripper.
func (p *PermissionAPI) RoundTrip(r *http.Request) (*http.Response, error) {
	response := httptest.NewRecorder()
	p.ServeHTTP(response, r)
	return response.Result(), nil
}

func authorizerOf(t *testing.T, config *rest.Config, options auth.AuthorizerOptions) *auth.Authorizer {
	t.Helper()
	clients, err := auth.NewClientFactory(config, nil)
	if err != nil {
		t.Fatal(err)
	}
	return auth.NewAuthorizer(clients.ForService().Typed, options)
}
