package server

import (
	"context"
	"net/http"
	"slices"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kubeconnect/kubeconnect/auth"
)

// fakeRights is one caller with the permissions that a test sets. e2e uses real ones; this is for
// states that cannot be triggered there at will.
type fakeRights struct {
	mu      sync.Mutex // guards the fields below
	who     auth.Identity
	refused error // the error of the credential
	may     auth.Namespaces
	of      map[string]auth.Namespaces // by resource, instead of may; nil for none
	ofVerb  map[string]auth.Namespaces // by verb, instead of may
	notIn   map[string][]string        // by verb, the namespaces in which it is denied although it is allowed in all
	away    bool                       // the cluster cannot be asked
	asked   []auth.Attributes
	changed chan struct{}
}

func newFakeRights(may auth.Namespaces) *fakeRights {
	return &fakeRights{who: auth.Identity{Username: "jane"}, may: may, changed: make(chan struct{})}
}

// Change makes a change, and notifies about it.
func (f *fakeRights) change(by func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	by()
	close(f.changed)
	f.changed = make(chan struct{})
}

func (f *fakeRights) Authenticate(context.Context, http.Header) (auth.Identity, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.who, f.refused
}

func (f *fakeRights) Authorize(_ context.Context, _ auth.Identity, attributes auth.Attributes) (auth.Decision, error) {
	may, err := f.Namespaces(context.Background(), auth.Identity{}, attributes)
	return auth.Decision{Allowed: may.Contains(attributes.Namespace)}, err
}

func (f *fakeRights) Namespaces(_ context.Context, _ auth.Identity, attributes auth.Attributes) (auth.Namespaces, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked = append(f.asked, attributes)
	if f.away {
		return auth.Namespaces{}, apierrors.NewServiceUnavailable("away")
	}
	if f.of != nil {
		return f.of[attributes.Resource], nil
	}
	if may, ok := f.ofVerb[attributes.Verb]; ok {
		return may, nil
	}
	return f.may, nil
}

func (f *fakeRights) Among(_ context.Context, _ auth.Identity, attributes auth.Attributes, namespaces []string) (auth.Namespaces, error) {
	may, err := f.Namespaces(context.Background(), auth.Identity{}, attributes)
	return auth.Namespaces{Names: slices.DeleteFunc(slices.Clone(namespaces), func(namespace string) bool {
		return !may.Contains(namespace) || slices.Contains(f.notIn[attributes.Verb], namespace)
	})}, err
}

func (f *fakeRights) Changed() <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.changed
}
