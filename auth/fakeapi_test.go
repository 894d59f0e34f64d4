package auth

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptrace"
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

// fakeAPI is an API server without a network, for tests with fake time and for faults that a real
// one cannot be brought to. It denies lists.
type fakeAPI struct {
	mu        sync.Mutex // guards the fields below
	tokens    int        // the number of token reviews
	underWay  int        // requests without a response
	most      int        // the maximum of concurrent requests
	reviews   []authorizationv1.SubjectAccessReviewSpec
	takes     time.Duration // the time before a response
	fails     error         // returned instead of a response; without a connection if it is no status
	hangs     string        // the prefix of the users whose reviews of permissions get no response; "" is none
	user      authenticationv1.TokenReviewStatus
	refuses   string // the prefix of rejected tokens, in addition to those that user rejects; "" is none
	may       func(authorizationv1.SubjectAccessReviewSpec) authorizationv1.SubjectAccessReviewStatus
	clientCA  string
	documents map[string]any // the responses for paths, for clients that accept their type
	abandoned int            // requests whose context ended before the response
}

func (api *fakeAPI) client(t *testing.T) kubernetes.Interface {
	t.Helper()
	return api.factory(t).ForService().Typed
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

// askedAbout returns the number of reviews of the permissions of users with a prefix.
func (api *fakeAPI) askedAbout(prefix string) (count int) {
	api.mu.Lock()
	defer api.mu.Unlock()
	for _, spec := range api.reviews {
		if strings.HasPrefix(spec.User, prefix) {
			count++
		}
	}
	return count
}

// asked returns the number of reviews, of tokens and of permissions.
func (api *fakeAPI) asked() int {
	api.mu.Lock()
	defer api.mu.Unlock()
	return api.tokens + len(api.reviews)
}

func (api *fakeAPI) roundTrip(r *http.Request) (*http.Response, error) {
	api.mu.Lock()
	takes, fails := api.takes, api.fails
	reviews := len(api.reviews)
	answer := api.answerLocked(r)
	if api.hangs != "" && len(api.reviews) > reviews && strings.HasPrefix(api.reviews[reviews].User, api.hangs) {
		takes = time.Hour
	}
	api.underWay++
	api.most = max(api.most, api.underWay)
	api.mu.Unlock()
	defer api.set(func() { api.underWay-- })
	if status, ok := fails.(*apierrors.StatusError); ok {
		answer, fails = &status.ErrStatus, nil
	}
	if trace := httptrace.ContextClientTrace(r.Context()); trace != nil && trace.GotConn != nil && fails == nil {
		trace.GotConn(httptrace.GotConnInfo{})
	}
	select {
	case <-time.After(takes):
	case <-r.Context().Done():
		api.set(func() { api.abandoned++ })
		return nil, context.Cause(r.Context())
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

// typeOf returns the type of a document if it is not JSON: the API server responds only to clients
// that accept it.
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

// accepting returns a cluster that accepts every token as alice's.
func accepting() *fakeAPI {
	return &fakeAPI{user: authenticationv1.TokenReviewStatus{
		Authenticated: true,
		Audiences:     []string{"kubeconnect"},
		User:          authenticationv1.UserInfo{Username: "alice", Groups: []string{groupAuthenticated}},
	}}
}

// rejectingAll returns a cluster that rejects every token.
func rejectingAll() *fakeAPI {
	return &fakeAPI{user: authenticationv1.TokenReviewStatus{Error: "token no-secret is bad"}}
}

// allowing returns a cluster that allows everything in some namespaces; "" is all of them.
func allowing(namespaces ...string) *fakeAPI {
	return &fakeAPI{may: func(spec authorizationv1.SubjectAccessReviewSpec) authorizationv1.SubjectAccessReviewStatus {
		return authorizationv1.SubjectAccessReviewStatus{
			Allowed: slices.Contains(namespaces, spec.ResourceAttributes.Namespace), Reason: "as the test says",
		}
	}}
}
