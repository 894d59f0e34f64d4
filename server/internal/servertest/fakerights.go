package servertest

import (
	"context"
	"net/http"
	"slices"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kubeconnect/kubeconnect/auth"
)

// FakeRights is one caller with the permissions that a test sets. e2e uses real ones; this is for
// states that cannot be triggered there at will.
type FakeRights struct {
	Mu      sync.Mutex // guards the fields below
	Who     auth.Identity
	Refused error // the error of the credential
	May     auth.Namespaces
	Of      map[string]auth.Namespaces // by resource, instead of may; nil for none
	OfVerb  map[string]auth.Namespaces // by verb, instead of may
	NotIn   map[string][]string        // by verb, the namespaces in which it is denied although it is allowed in all
	Away    bool                       // the cluster cannot be asked
	Asked   []auth.Attributes
	changed chan struct{}
}

func NewFakeRights(may auth.Namespaces) *FakeRights {
	return &FakeRights{Who: auth.Identity{Username: "jane"}, May: may, changed: make(chan struct{})}
}

// Change makes a change, and notifies about it.
func (f *FakeRights) Change(by func()) {
	f.Mu.Lock()
	defer f.Mu.Unlock()
	by()
	close(f.changed)
	f.changed = make(chan struct{})
}

func (f *FakeRights) Authenticate(context.Context, http.Header) (auth.Identity, error) {
	f.Mu.Lock()
	defer f.Mu.Unlock()
	return f.Who, f.Refused
}

func (f *FakeRights) Authorize(_ context.Context, _ auth.Identity, attributes auth.Attributes) (auth.Decision, error) {
	may, err := f.Namespaces(context.Background(), auth.Identity{}, attributes)
	return auth.Decision{Allowed: may.Contains(attributes.Namespace)}, err
}

func (f *FakeRights) Namespaces(_ context.Context, _ auth.Identity, attributes auth.Attributes) (auth.Namespaces, error) {
	f.Mu.Lock()
	defer f.Mu.Unlock()
	f.Asked = append(f.Asked, attributes)
	if f.Away {
		return auth.Namespaces{}, apierrors.NewServiceUnavailable("away")
	}
	if f.Of != nil {
		return f.Of[attributes.Resource], nil
	}
	if may, ok := f.OfVerb[attributes.Verb]; ok {
		return may, nil
	}
	return f.May, nil
}

func (f *FakeRights) Among(_ context.Context, _ auth.Identity, attributes auth.Attributes, namespaces []string) (auth.Namespaces, error) {
	may, err := f.Namespaces(context.Background(), auth.Identity{}, attributes)
	return auth.Namespaces{Names: slices.DeleteFunc(slices.Clone(namespaces), func(namespace string) bool {
		return !may.Contains(namespace) || slices.Contains(f.NotIn[attributes.Verb], namespace)
	})}, err
}

func (f *FakeRights) Changed() <-chan struct{} {
	f.Mu.Lock()
	defer f.Mu.Unlock()
	return f.changed
}

// Become makes later calls those of another caller.
func (f *FakeRights) Become(who auth.Identity) {
	f.Mu.Lock()
	defer f.Mu.Unlock()
	f.Who = who
}
