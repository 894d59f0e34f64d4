package server

import (
	"context"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeconnect/kubeconnect/auth"
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/server/edge"
	"github.com/kubeconnect/kubeconnect/server/internal/objecttest"
	"github.com/kubeconnect/kubeconnect/server/internal/servertest"
)

// somePermissions is a caller that can read some resources everywhere, by verb and resource.
type somePermissions struct {
	*servertest.FakeRights
	may map[string]bool
}

func (p somePermissions) Authorize(_ context.Context, _ auth.Identity, asked auth.Attributes) (auth.Decision, error) {
	return auth.Decision{Allowed: p.may[asked.Verb+" "+asked.Resource]}, nil
}

func (p somePermissions) Namespaces(_ context.Context, _ auth.Identity, asked auth.Attributes) (auth.Namespaces, error) {
	return auth.Namespaces{All: p.may[asked.Verb+" "+asked.Resource]}, nil
}

// ownedTree returns an API server with several levels of owners. The root is the pod "root".
func ownedTree(widgetOwner metav1.OwnerReference, hiddenOwners ...metav1.OwnerReference) *servertest.FakeAPI {
	widget := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "example.com/v1", Kind: "Widget"}}
	widget.Namespace, widget.Name, widget.UID, widget.ResourceVersion = "default", "mine", "uid-mine", "3"
	widget.OwnerReferences = []metav1.OwnerReference{widgetOwner}
	hidden := objecttest.Pod("hidden", 4)
	hidden.OwnerReferences = hiddenOwners
	service := objecttest.Pod("service", 5)
	service.Kind = "Service"
	service.OwnerReferences = []metav1.OwnerReference{ownerNamed("Pod", "root", "uid-root")}
	return &servertest.FakeAPI{
		Version: "10", Events: make(chan any),
		Served: map[string]any{"/api/v1": metav1.APIResourceList{GroupVersion: "v1", APIResources: []metav1.APIResource{
			servertest.Served("pods", "Pod", true), servertest.Served("services", "Service", true)}}},
		Of: map[string][]any{"pods": {objecttest.Pod("root", 3), hidden}, "services": {service}, "widgets": {widget}},
	}
}

func ownerNamed(kind, name string, uid types.UID) metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: "v1", Kind: kind, Name: name, UID: uid}
}

// TestOwnership_FollowsHiddenOwnersSilently selects the widgets that the root owns directly or
// indirectly, as a caller with the permissions to get the root and to list widgets only.
func TestOwnership_FollowsHiddenOwnersSilently(t *testing.T) {
	const right, wrong = types.UID("uid-hidden"), types.UID("uid-other")
	toService, toUnknown := ownerNamed("Service", "service", "uid-service"), ownerNamed("Unknown", "x", "uid-x")
	for name, test := range map[string]struct {
		api  *servertest.FakeAPI
		code connect.Code // 0: no error
		says string
	}{
		"the hidden owner is not there":                 {ownedTree(ownerNamed("Pod", "hidden", wrong), ownerNamed("Service", "other", "u")), 0, ""},
		"it is, and an owner of another kind is above":  {ownedTree(ownerNamed("Pod", "hidden", right), ownerNamed("Service", "other", "u")), 0, ""},
		"it is, and an unknown kind is above":           {ownedTree(ownerNamed("Pod", "hidden", right), toUnknown), 0, ""},
		"it is, and leads to the root by a hidden kind": {ownedTree(ownerNamed("Pod", "hidden", right), toService), connect.CodePermissionDenied, "cannot list resource \"pods\""},
		"it is not there, and would lead to the root":   {ownedTree(ownerNamed("Pod", "hidden", wrong), toService), 0, ""},
		"the caller names a hidden kind itself":         {ownedTree(ownerNamed("Service", "any", "u")), connect.CodePermissionDenied, "cannot list resource \"services\""},
	} {
		t.Run(name, func(t *testing.T) {
			caller := somePermissions{servertest.NewFakeRights(auth.Namespaces{}), map[string]bool{"get pods": true, "list widgets": true}}
			s := newServiceOf(t, test.api, Config{Edge: edge.Config{Authenticator: caller}, Authorizer: caller, Recheck: time.Hour})
			answer, err := s.resources.List(t.Context(), &kubeconnectv1.ListRequest{Resource: "widgets", Related: &kubeconnectv1.Relation{
				Type: kubeconnectv1.RelationType_RELATION_TYPE_OWNED_BY, Resource: "pods", Namespace: "default", Name: "root", Transitive: true,
			}})
			switch {
			case test.code == 0 && (err != nil || len(answer.GetObjects()) > 0):
				t.Errorf("returned %d widgets, %v", len(answer.GetObjects()), err)
			case test.code != 0 && (connect.CodeOf(err) != test.code || !strings.Contains(err.Error(), test.says)):
				t.Errorf("returned %v", err)
			}
		})
	}
}
