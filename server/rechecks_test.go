package server

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/kubeconnect/kubeconnect/auth"
)

// permissionAPI responds to reviews of permissions, but blocks those of some users.
type permissionAPI struct {
	release chan struct{} // closed to respond to the blocked ones

	open, answered atomic.Int64
}

// ServeHTTP implements http.Handler.
func (p *permissionAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	decoded, _, _ := scheme.Codecs.UniversalDeserializer().Decode(body, nil, nil)
	review, ok := decoded.(*authorizationv1.SubjectAccessReview)
	if !ok {
		http.NotFound(w, r)
		return
	}
	if strings.HasPrefix(review.Spec.User, "mallory") {
		p.open.Add(1)
		<-p.release
	} else {
		p.answered.Add(1)
	}
	review.APIVersion, review.Kind = "authorization.k8s.io/v1", "SubjectAccessReview"
	review.Status.Allowed = true
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(review)
}

func (p *permissionAPI) authorizer(t *testing.T) *auth.Authorizer {
	t.Helper()
	api := httptest.NewServer(p)
	t.Cleanup(api.Close)
	clients, err := auth.NewClientFactory(&rest.Config{Host: api.URL}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return auth.NewAuthorizer(clients.ForService().Typed, auth.AuthorizerOptions{AllowedTTL: time.Millisecond})
}

// TestAccessLease_IsRenewedWhileCallsTakeAllSlots has as many calls wait for reviews as can run at
// one time. The lease of an open stream is renewed nevertheless.
func TestAccessLease_IsRenewedWhileCallsTakeAllSlots(t *testing.T) {
	permissions := &permissionAPI{release: make(chan struct{})}
	var calls sync.WaitGroup
	s := newServiceOf(t, podsAPI(), Config{Authenticator: byName, Authorizer: permissions.authorizer(t), Recheck: 50 * time.Millisecond})
	clients := rawClientsOf(s)
	stream, err := clients.watchPods(t, "carol")
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	for caller := range 64 {
		calls.Go(func() {
			if err := clients.getPod(t, fmt.Sprint("mallory-", caller)); err != nil {
				t.Errorf("a call returned %v", err)
			}
		})
	}
	defer calls.Wait()
	defer close(permissions.release)
	until(t, "all turns are taken", func() bool { return permissions.open.Load() == 64 })
	before := permissions.answered.Load()
	until(t, "the stream is confirmed", func() bool { return permissions.answered.Load() >= before+4 })
}

func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Errorf("condition not reached: %s", what)
			return
		}
	}
}
