package auth

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
)

// fakeAPI is an API server without a network, so that it can live where time is held:
// for faults that a real one cannot be brought to. Lists are refused.
type fakeAPI struct {
	mu        sync.Mutex // guards the fields below
	tokens    int        // how many token reviews were asked for
	underWay  int        // requests that have no answer yet
	most      int        // of those at one time
	reviews   []authorizationv1.SubjectAccessReviewSpec
	takes     time.Duration // before an answer
	fails     error         // instead of an answer
	user      authenticationv1.TokenReviewStatus
	refuses   string // what refused tokens begin with, beside those that user refuses; "" is nothing
	may       func(authorizationv1.SubjectAccessReviewSpec) authorizationv1.SubjectAccessReviewStatus
	clientCA  string
	documents map[string]any // what is answered for paths, of those who accept its type
	abandoned int            // requests whose context ended before the answer
}

func (api *fakeAPI) client(t *testing.T) kubernetes.Interface {
	t.Helper()
	return api.factory(t).Own().Typed
}

func (api *fakeAPI) factory(t *testing.T) *ClientFactory {
	t.Helper()
	factory, err := NewClientFactory(&rest.Config{Host: "http://api.example", Transport: transportFunc(api.roundTrip)}, nil)
	must(t, err)
	return factory
}

func (api *fakeAPI) set(change func()) {
	api.mu.Lock()
	defer api.mu.Unlock()
	change()
}

// asked is how many reviews have been asked for, of tokens and of rights.
func (api *fakeAPI) asked() int {
	api.mu.Lock()
	defer api.mu.Unlock()
	return api.tokens + len(api.reviews)
}

func (api *fakeAPI) roundTrip(r *http.Request) (*http.Response, error) {
	api.mu.Lock()
	takes, fails := api.takes, api.fails
	answer := api.answerLocked(r)
	api.underWay++
	api.most = max(api.most, api.underWay)
	api.mu.Unlock()
	defer api.set(func() { api.underWay-- })
	select {
	case <-time.After(takes):
	case <-r.Context().Done():
		api.set(func() { api.abandoned++ })
		return nil, context.Cause(r.Context())
	}
	if status, ok := fails.(*apierrors.StatusError); ok {
		answer, fails = &status.ErrStatus, nil
	}
	if fails != nil {
		return nil, fails
	}
	return respond(answer), nil
}

func (api *fakeAPI) answerLocked(r *http.Request) any {
	var body []byte
	if r.Body != nil {
		body, _ = io.ReadAll(r.Body)
	}
	asked, _, _ := scheme.Codecs.UniversalDeserializer().Decode(bytes.Clone(body), nil, nil)
	switch asked := asked.(type) {
	case *authenticationv1.TokenReview:
		api.tokens++
		return &authenticationv1.TokenReview{TypeMeta: typed("authentication.k8s.io/v1", "TokenReview"), Status: api.statusLocked(asked.Spec.Token)}
	case *authorizationv1.SubjectAccessReview:
		api.reviews = append(api.reviews, asked.Spec)
		return &authorizationv1.SubjectAccessReview{TypeMeta: typed("authorization.k8s.io/v1", "SubjectAccessReview"), Status: api.may(asked.Spec)}
	}
	if r.URL.Path == "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication" {
		return &corev1.ConfigMap{TypeMeta: typed("v1", "ConfigMap"), Data: map[string]string{clientCAKey: api.clientCA}}
	}
	if document, ok := api.documents[r.URL.Path]; ok && strings.Contains(r.Header.Get("Accept"), typeOf[r.URL.Path]) {
		return document
	}
	return &apierrors.NewForbidden(schema.GroupResource{}, "", nil).ErrStatus
}

// typeOf is the type of a document where it is not JSON's own: the API server answers nobody who does not
// accept it.
var typeOf = map[string]string{"/openid/v1/jwks": "application/jwk-set+json"}

func (api *fakeAPI) statusLocked(token string) authenticationv1.TokenReviewStatus {
	if api.refuses != "" && strings.HasPrefix(token, api.refuses) {
		return authenticationv1.TokenReviewStatus{}
	}
	return api.user
}

func typed(apiVersion, kind string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: apiVersion, Kind: kind}
}

// accepting is a cluster that accepts every token as alice's.
func accepting() *fakeAPI {
	return &fakeAPI{user: authenticationv1.TokenReviewStatus{
		Authenticated: true,
		Audiences:     []string{"kubeconnect"},
		User:          authenticationv1.UserInfo{Username: "alice", Groups: []string{groupAuthenticated}},
	}}
}

// refusingAll is a cluster that accepts no token.
func refusingAll() *fakeAPI {
	return &fakeAPI{user: authenticationv1.TokenReviewStatus{Error: "token no-secret is bad"}}
}

// allowing is a cluster that allows everything in some namespaces; "" is all of them.
func allowing(namespaces ...string) *fakeAPI {
	return &fakeAPI{may: func(spec authorizationv1.SubjectAccessReviewSpec) authorizationv1.SubjectAccessReviewStatus {
		return authorizationv1.SubjectAccessReviewStatus{
			Allowed: slices.Contains(namespaces, spec.ResourceAttributes.Namespace), Reason: "as the test says",
		}
	}}
}
