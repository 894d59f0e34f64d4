package permissions_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

// permissionStage is a control plane with namespaces and objects that do not change, and callers
// whose permissions change.
type permissionStage struct {
	// Set once, before the first world.
	ctx          context.Context
	t            *testing.T
	controlPlane *harness.Cluster
	webhook      *denyingWebhook // nil if RBAC is the only authorizer
	kubeconfig   string          // of the service
	cached       []string        // the only namespaces that the service may read, in order; nil for all
	service      *harness.Service
	namespaces   []string
	label        string // the value of ownLabel
	kinds        []permissionKind
	callers      []*permissionCaller
	admin        *permissionCaller // reads everything, and never calls the service

	// Owned by the test's goroutine.
	present *permissionWorld
}

// permissionKind is a resource that the callers request.
type permissionKind struct {
	schema.GroupVersionResource
	kind       string
	namespaced bool
	names      []string // the names of the objects, and a name without an object
}

// permissionCaller is a caller, with its clients of the service and of the API server.
type permissionCaller struct {
	name     string // the user's name
	subjects []rbacv1.Subject
	clients  harness.Clients
	direct   *directReader
	// kubernetes reads Kubernetes' own API at the service.
	kubernetes *directReader
	token      string
}

// ownLabel is the label of each object that the stage creates.
const ownLabel = "permissions"

// objectNames are the names of the objects of each kind.
var objectNames = []string{"one", "two", "three"}

const absentName = "none"

func newPermissionStage(ctx context.Context, t *testing.T, controlPlane *harness.Cluster, webhook *denyingWebhook) *permissionStage {
	t.Helper()
	s := &permissionStage{ctx: ctx, t: t, controlPlane: controlPlane, webhook: webhook, kubeconfig: controlPlane.Kubeconfig}
	for range 4 {
		s.namespaces = append(s.namespaces, kit.NewNamespace(ctx, t, controlPlane))
	}
	s.label = s.namespaces[0]
	t.Cleanup(s.removeNamespaces)
	gadgets := kit.Gadgets(ctx, t, controlPlane, s.namespaces[0])
	names := append([]string{absentName}, objectNames...)
	core := schema.GroupVersion{Version: "v1"}
	s.kinds = []permissionKind{
		{core.WithResource("configmaps"), "ConfigMap", true, names},
		{core.WithResource("secrets"), "Secret", true, names},
		{core.WithResource("serviceaccounts"), "ServiceAccount", true, names},
		{gadgets.Of, gadgets.Kind, true, names},
		{core.WithResource("namespaces"), "Namespace", false, append([]string{s.label + "-" + absentName}, s.namespaces...)},
		{schema.GroupVersionResource{Group: "scheduling.k8s.io", Version: "v1", Resource: "priorityclasses"}, "PriorityClass", false, s.clusterNames(names)},
	}
	t.Cleanup(func() { s.remove(s.kinds[5], "") })
	s.makeObjects()
	return s
}

// clusterNames returns names that no other test uses.
func (s *permissionStage) clusterNames(names []string) (unique []string) {
	for _, name := range names {
		unique = append(unique, s.label+"-"+name)
	}
	return unique
}

// makeObjects creates objects of each kind, some of which own others.
func (s *permissionStage) makeObjects() {
	classes := s.kinds[5]
	class := s.make(classes, "", classes.names[1], nil, map[string]any{"value": int64(1)})
	for _, name := range classes.names[2:] {
		s.make(classes, "", name, nil, map[string]any{"value": int64(1)})
	}
	for _, namespace := range s.namespaces {
		owner := class
		for _, name := range objectNames {
			for _, kind := range s.kinds[:4] {
				owner = s.make(kind, namespace, name, owner, nil)
			}
		}
	}
}

// make creates an object with a colour, and with an owner unless that is nil.
func (s *permissionStage) make(kind permissionKind, namespace, name string, owner *unstructured.Unstructured, fields map[string]any) *unstructured.Unstructured {
	s.t.Helper()
	object := &unstructured.Unstructured{Object: map[string]any{"apiVersion": kind.GroupVersion().String(), "kind": kind.kind}}
	for field, value := range fields {
		object.Object[field] = value
	}
	object.SetName(name)
	object.SetLabels(kit.Labels{ownLabel: s.label, "color": []string{"red", "green", "blue"}[len(name)%3]})
	if owner != nil {
		object.SetOwnerReferences([]metav1.OwnerReference{{
			APIVersion: owner.GetAPIVersion(), Kind: owner.GetKind(), Name: owner.GetName(), UID: owner.GetUID(),
		}})
	}
	created, err := s.controlPlane.Dynamic.Resource(kind.GroupVersionResource).Namespace(namespace).Create(s.ctx, object, metav1.CreateOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	return created
}

// remove deletes the stage's own objects of a kind.
func (s *permissionStage) remove(kind permissionKind, namespace string) {
	ctx := context.WithoutCancel(s.ctx)
	selected := metav1.ListOptions{LabelSelector: ownLabel + "=" + s.label}
	if err := s.controlPlane.Dynamic.Resource(kind.GroupVersionResource).Namespace(namespace).DeleteCollection(ctx, metav1.DeleteOptions{}, selected); err != nil {
		s.t.Error(err)
	}
}

func (s *permissionStage) removeNamespaces() {
	for _, namespace := range s.namespaces {
		if err := s.controlPlane.Client.CoreV1().Namespaces().Delete(context.WithoutCancel(s.ctx), namespace, metav1.DeleteOptions{}); err != nil {
			s.t.Error(err)
		}
	}
}

// addAccounts adds callers that are service accounts, in alternating namespaces.
func (s *permissionStage) addAccounts(count int) {
	s.t.Helper()
	for i := range count {
		namespace, name := s.namespaces[i/2%len(s.namespaces)], fmt.Sprint("caller-", i)
		accounts := s.controlPlane.Client.CoreV1().ServiceAccounts(namespace)
		if _, err := accounts.Create(s.ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}); err != nil {
			s.t.Fatal(err)
		}
		seconds := int64(4 * time.Hour / time.Second)
		request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &seconds}}
		request, err := accounts.CreateToken(s.ctx, name, request, metav1.CreateOptions{})
		if err != nil {
			s.t.Fatal(err)
		}
		s.callers = append(s.callers, &permissionCaller{
			name: "system:serviceaccount:" + namespace + ":" + name, token: request.Status.Token,
			subjects: []rbacv1.Subject{
				{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: name},
				rbacUser("system:serviceaccount:" + namespace + ":" + name),
				rbacGroup("system:serviceaccounts:" + namespace),
			},
		})
	}
}

func (s *permissionStage) addUsers(users tokenUsers) {
	for _, user := range users {
		s.callers = append(s.callers, &permissionCaller{
			name: user.name, token: user.token,
			subjects: []rbacv1.Subject{rbacUser(user.name), rbacGroup(user.groups[0]), rbacGroup(user.groups[1])},
		})
	}
}

func rbacUser(name string) rbacv1.Subject {
	return rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: name}
}

func rbacGroup(name string) rbacv1.Subject {
	return rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: name}
}

func (s *permissionStage) userNames() (names []string) {
	for _, caller := range s.callers {
		names = append(names, caller.name)
	}
	return names
}

// limitService lets the service read two of the namespaces, and what it needs to know callers.
func (s *permissionStage) limitService() {
	s.t.Helper()
	// In a namespace of its own: the worlds grant permissions to all accounts of a namespace.
	account := kit.NewAccount(s.ctx, s.t, kit.NewNamespace(s.ctx, s.t, s.controlPlane), "service")
	s.cached = slices.Sorted(slices.Values(s.namespaces[1:3]))
	for _, namespace := range s.cached {
		account.GrantIn(namespace, "service", rbacv1.PolicyRule{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"get", "list", "watch"}})
	}
	ownRole(s.ctx, s.t, account,
		rbacv1.PolicyRule{APIGroups: []string{"authentication.k8s.io"}, Resources: []string{"tokenreviews"}, Verbs: []string{"create"}},
		rbacv1.PolicyRule{APIGroups: []string{"authorization.k8s.io"}, Resources: []string{"subjectaccessreviews"}, Verbs: []string{"create"}},
		rbacv1.PolicyRule{APIGroups: []string{rbacv1.GroupName}, Resources: []string{"*"}, Verbs: []string{"list", "watch"}},
		rbacv1.PolicyRule{APIGroups: []string{"apiregistration.k8s.io", "apiextensions.k8s.io"}, Resources: []string{"*"}, Verbs: []string{"list", "watch"}},
		kit.Rule("namespaces", "get", "list", "watch"),
	)()
	s.kubeconfig = account.Kubeconfig()
	reader := newDirectReader(s.t, s.controlPlane, account.Token())
	kit.Eventually(s.ctx, s.t, "the service has its permissions", func() error {
		_, err := reader.typed.CoreV1().Namespaces().List(s.ctx, metav1.ListOptions{})
		for _, namespace := range s.cached {
			_, more := reader.typed.CoreV1().Secrets(namespace).List(s.ctx, metav1.ListOptions{})
			err = errors.Join(err, more)
		}
		return err
	})
}

// start starts the service, and creates the callers' clients, each over another protocol.
func (s *permissionStage) start() {
	s.t.Helper()
	s.service = harness.StartService(s.t, s.kubeconfig, "--auth", "cluster", "--kube-api", "read")
	for i, caller := range s.callers {
		caller.clients = kit.CallingWith(s.t, s.service, harness.Protocols[i%len(harness.Protocols)], caller.token)
		caller.direct = newDirectReader(s.t, s.controlPlane, caller.token)
		caller.kubernetes = newKubernetesReader(s.t, s.service.Address, caller.token)
	}
	s.admin = &permissionCaller{name: "admin", direct: newDirectReader(s.t, s.controlPlane, "")}
	s.t.Cleanup(s.leave)
}

// enter replaces the present permissions and blocks until the new ones are effective at the API
// server and at the service.
func (s *permissionStage) enter(world *permissionWorld) {
	s.t.Helper()
	if s.webhook != nil {
		s.webhook.setDenials(world.denials)
	}
	world.replace(s, s.present)
	s.present = world
	s.untilDecided(world)
	s.untilNoticed(world)
}

// untilDecided blocks until a world is effective at the API server: it observes roles and bindings
// in order, so it has observed all of them when it has observed the last of each kind.
func (s *permissionStage) untilDecided(world *permissionWorld) {
	s.t.Helper()
	user := s.label + "-marker"
	marker := fmt.Sprint("marker-", world.number)
	subjects := []rbacv1.Subject{rbacUser(user)}
	rules := func(name string) []rbacv1.PolicyRule {
		return []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"get"}, ResourceNames: []string{name}}}
	}
	newPermissionRoles(s, marker+"-of-namespace", rules(marker+"-of-namespace"), subjects).create(s.namespaces[0])
	newPermissionRoles(s, marker+"-of-cluster", rules(marker+"-of-cluster"), subjects).create("")
	for _, name := range []string{marker + "-of-namespace", marker + "-of-cluster"} {
		kit.Eventually(s.ctx, s.t, "the permissions are effective at the API server", func() error { return s.allows(user, name) })
	}
}

// allows returns nil if the API server allows a user to get a ConfigMap.
func (s *permissionStage) allows(user, name string) error {
	review, err := s.controlPlane.Client.AuthorizationV1().SubjectAccessReviews().Create(s.ctx, &authorizationv1.SubjectAccessReview{
		Spec: authorizationv1.SubjectAccessReviewSpec{
			User:               user,
			ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: "get", Version: "v1", Resource: "configmaps", Namespace: s.namespaces[0], Name: name},
		},
	}, metav1.CreateOptions{})
	if err == nil && !review.Status.Allowed {
		err = fmt.Errorf("%s is not allowed to get %s", user, name)
	}
	return err
}

// untilNoticed blocks until the service has noticed a new change for each caller, and so has
// invalidated the decisions that it cached before.
func (s *permissionStage) untilNoticed(world *permissionWorld) {
	s.t.Helper()
	bell := fmt.Sprint("bell-", world.number)
	var subjects []rbacv1.Subject
	unnoticed := 0
	for _, caller := range s.callers {
		subjects = append(subjects, rbacUser(caller.name))
		if s.knowsBell(caller, bell) == nil {
			unnoticed++
		}
	}
	newPermissionRoles(s, bell, []rbacv1.PolicyRule{kit.Rule("configmaps", bellVerb)}, subjects).named(bell).create(s.namespaces[0])
	for _, caller := range s.callers {
		kit.Eventually(s.ctx, s.t, "the service has noticed the permissions of "+caller.name, func() error { return s.knowsBell(caller, bell) })
	}
	if unnoticed == len(s.callers) {
		s.t.Logf("world %d: the callers have too many permissions for a change to be noticed", world.number)
		time.Sleep(permissionDelay)
	}
}

// bellVerb is a verb that callers have only by a rule for all verbs.
const bellVerb = "delete"

// knowsBell returns nil if the service grants the caller the permission of the bell.
func (s *permissionStage) knowsBell(caller *permissionCaller, name string) error {
	answers, err := caller.clients.Access.CheckAccess(s.ctx, &kubeconnectv1.CheckAccessRequest{Checks: []*kubeconnectv1.AccessCheck{
		{Verb: bellVerb, Resource: "configmaps", Namespace: s.namespaces[0], Name: name},
	}})
	if err == nil && !answers.GetDecisions()[0].GetAllowed() {
		err = fmt.Errorf("%s is not allowed to %s %s", caller.name, bellVerb, name)
	}
	return err
}

// leave removes the last permissions.
func (s *permissionStage) leave() {
	s.ctx = context.WithoutCancel(s.ctx)
	(&permissionWorld{}).replace(s, s.present)
}
