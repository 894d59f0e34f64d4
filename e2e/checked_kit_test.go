package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"connectrpc.com/connect"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"google.golang.org/protobuf/proto"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
)

// The tests of checked_*_test.go are written from the words of proto/ and docs/ alone. They run with
// `make soak`, or with SOAK=1s.

// checkedReplicas starts replicas without authentication, and returns a client of each.
func checkedReplicas(t *testing.T, in *harness.Cluster, count int, flags ...string) (clients []resourceClient) {
	t.Helper()
	for range count {
		service := harness.StartService(t, in.Kubeconfig, flags...)
		clients = append(clients, harness.Dial(harness.HTTP2(t), service.Address, harness.GRPC).Resources)
	}
	return clients
}

// maxPages ends a walk that has no end.
const maxPages = 500

// walkPages returns the objects of all pages of a list, each page from the next of the clients,
// and calls between before each page but the first. It fails the test unless the pages have one
// version, no page is too long, and the remaining counts agree.
func walkPages(ctx context.Context, t *testing.T, clients []resourceClient, request *kubeconnectv1.ListRequest, between func(page int, last *kubeconnectv1.ListResponse)) (objects []*kubeconnectv1.Object) {
	t.Helper()
	request = proto.CloneOf(request)
	var first *kubeconnectv1.ListResponse
	for i := range maxPages {
		page, err := clients[i%len(clients)].List(ctx, request)
		if err != nil {
			t.Errorf("page %d: %v", i+1, err)
			return objects
		}
		if first == nil {
			first = page
		}
		objects = append(objects, page.GetObjects()...)
		checkPage(t, i+1, first, page, len(objects), int(request.GetPageSize()))
		if page.GetNextPageToken() == "" {
			return objects
		}
		request.PageToken = page.GetNextPageToken()
		if between != nil {
			between(i+1, page)
		}
	}
	t.Errorf("the list has no end")
	return objects
}

func checkPage(t *testing.T, number int, first, page *kubeconnectv1.ListResponse, seen, size int) {
	t.Helper()
	total := int64(len(first.GetObjects())) + first.GetRemaining()
	if page.GetResourceVersion() != first.GetResourceVersion() {
		t.Errorf("page %d is at version %q, the first at %q", number, page.GetResourceVersion(), first.GetResourceVersion())
	}
	if int64(seen)+page.GetRemaining() != total {
		t.Errorf("page %d: %d seen and %d remain, of %d", number, seen, page.GetRemaining(), total)
	}
	if size > 0 && len(page.GetObjects()) > size {
		t.Errorf("page %d has %d objects, more than %d", number, len(page.GetObjects()), size)
	}
	if (page.GetNextPageToken() == "") != (page.GetRemaining() == 0) {
		t.Errorf("page %d: %d remain, and the next page's token is %q", number, page.GetRemaining(), page.GetNextPageToken())
	}
	if !proto.Equal(page.GetKind(), first.GetKind()) {
		t.Errorf("page %d is of %v, the first of %v", number, page.GetKind(), first.GetKind())
	}
	if !slices.Equal(page.GetNamespaces(), first.GetNamespaces()) {
		t.Errorf("page %d covers %v, the first %v", number, page.GetNamespaces(), first.GetNamespaces())
	}
	if page.GetFreshness() == nil && page.GetSource() == kubeconnectv1.Source_SOURCE_CACHE {
		t.Errorf("page %d does not say how current it is", number)
	}
}

// statesOf are lines of objects at their versions.
func statesOf(objects []*kubeconnectv1.Object) (lines []string) {
	for _, object := range objects {
		lines = append(lines, fmt.Sprintf("%s/%s %s at %s", object.GetNamespace(), object.GetName(), object.GetUid(), object.GetResourceVersion()))
	}
	return lines
}

// wantStates fails unless two lists have the same objects in one order, with the same content.
func wantStates(t *testing.T, got, want []*kubeconnectv1.Object) {
	t.Helper()
	if g, w := statesOf(got), statesOf(want); !slices.Equal(g, w) {
		t.Errorf("the pages have\n  %s\nwant\n  %s", strings.Join(g, "\n  "), strings.Join(w, "\n  "))
		return
	}
	for i := range got {
		if !proto.Equal(got[i], want[i]) {
			t.Errorf("an object of the pages is\n%v\nwant\n%v", got[i], want[i])
		}
	}
}

// statusIn is the Status of an error; nil if it has none.
func statusIn(err error) *kubeconnectv1.Status {
	var failure *connect.Error
	if !errors.As(err, &failure) {
		return nil
	}
	for _, detail := range failure.Details() {
		if value, err := detail.Value(); err == nil {
			if status, ok := value.(*kubeconnectv1.Status); ok {
				return status
			}
		}
	}
	return nil
}

// isExpired reports whether an error says that a list is to begin from its first page.
func isExpired(err error) bool {
	return connect.CodeOf(err) == connect.CodeOutOfRange && statusIn(err).GetReason() == "Expired"
}

func wantExpiredPage(t *testing.T, page *kubeconnectv1.ListResponse, err error) {
	t.Helper()
	if !isExpired(err) {
		t.Errorf("got %v and %v with status %v, want OUT_OF_RANGE with the reason Expired", namesOf(page.GetObjects()), err, statusIn(err))
	}
}

// quietPod is one that nothing but the test changes.
func quietPod(name string, with labels, owners ...metav1.OwnerReference) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: with, OwnerReferences: owners},
		Spec: corev1.PodSpec{
			SchedulerName: "nobody",
			Containers:    []corev1.Container{{Name: "c", Image: "example.com/image"}},
		},
	}
}

// shelf is a namespace with pods that nothing but the test changes.
type shelf struct {
	ctx       context.Context
	t         *testing.T
	namespace string
	owner     metav1.OwnerReference
	last      string // the version of the last write
}

func newShelf(ctx context.Context, t *testing.T, count int) *shelf {
	t.Helper()
	s := &shelf{ctx: ctx, t: t, namespace: newNamespace(ctx, t, cluster(t))}
	owner := configMapsIn(ctx, t, cluster(t), s.namespace).create("owner", nil)
	s.owner = metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: owner.Name, UID: owner.UID}
	front := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "front"}, Spec: corev1.ServiceSpec{
		Selector: labels{"app": "web"}, Ports: []corev1.ServicePort{{Port: 80}},
	}}
	if _, err := cluster(t).Client.CoreV1().Services(s.namespace).Create(ctx, front, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for i := range count {
		with := labels{"app": "web"}
		if i%4 != 3 {
			with["rank"] = fmt.Sprint(i % 3)
		}
		s.create(fmt.Sprintf("p-%02d", i), with)
	}
	s.create("outside", labels{"app": "db"})
	return s
}

func (s *shelf) took(pod *corev1.Pod, err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
	s.last = pod.ResourceVersion
}

func (s *shelf) create(name string, with labels) {
	s.t.Helper()
	s.took(cluster(s.t).Client.CoreV1().Pods(s.namespace).Create(s.ctx, quietPod(name, with, s.owner), metav1.CreateOptions{}))
}

// createAlone makes a pod that has no owner.
func (s *shelf) createAlone(name string) {
	s.t.Helper()
	s.took(cluster(s.t).Client.CoreV1().Pods(s.namespace).Create(s.ctx, quietPod(name, labels{"app": "web"}), metav1.CreateOptions{}))
}

func (s *shelf) relabel(name, with string) {
	s.t.Helper()
	patch := []byte(`{"metadata":{"labels":` + with + `}}`)
	s.took(cluster(s.t).Client.CoreV1().Pods(s.namespace).Patch(s.ctx, name, types.MergePatchType, patch, metav1.PatchOptions{}))
}

func (s *shelf) delete(name string) {
	s.t.Helper()
	now := int64(0)
	err := cluster(s.t).Client.CoreV1().Pods(s.namespace).Delete(s.ctx, name, metav1.DeleteOptions{GracePeriodSeconds: &now})
	if ignoreNotFound(err) != nil {
		s.t.Fatal(err)
	}
}

// disturb changes all sorts of things between two pages: it deletes the object that the page has
// ended with and makes another of its name, and so on; in the end nothing of the selection is left.
func (s *shelf) disturb(page int, last *kubeconnectv1.ListResponse) {
	s.t.Helper()
	switch page {
	case 1:
		boundary := last.GetObjects()[len(last.GetObjects())-1].GetName()
		s.delete(boundary)
		s.create(boundary, labels{"app": "web", "rank": "2"})
		s.delete("p-06")
		s.create("p-00a", labels{"app": "web", "rank": "0"})
		s.create("p-05a", labels{"app": "web"})
		s.relabel("outside", `{"app":"web","rank":"1"}`)
		s.relabel("p-07", `{"app":"db"}`)
		s.relabel("p-08", `{"rank":"0"}`)
		s.relabel("p-09", `{"rank":null}`)
	case 2:
		s.delete("p-08")
		s.create("p-08", labels{"app": "web", "rank": "1"})
		s.relabel("p-07", `{"app":"web"}`)
	case 3:
		for i := range 12 {
			s.delete(fmt.Sprintf("p-%02d", i))
		}
	}
}

// mayEverywhere grants an account something in all namespaces, until the returned function is
// called or the test ends.
func mayEverywhere(t *testing.T, a account, rules ...rbacv1.PolicyRule) (revoke func()) {
	t.Helper()
	rbac := cluster(t).Client.RbacV1()
	name := a.namespace + "-" + a.name
	if _, err := rbac.ClusterRoles().Create(a.ctx, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: rules}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
		Subjects:   []rbacv1.Subject{a.subject()},
	}
	if _, err := rbac.ClusterRoleBindings().Create(a.ctx, binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	revoke = func() {
		ctx := context.WithoutCancel(a.ctx)
		_ = rbac.ClusterRoleBindings().Delete(ctx, name, metav1.DeleteOptions{})
		_ = rbac.ClusterRoles().Delete(ctx, name, metav1.DeleteOptions{})
	}
	t.Cleanup(revoke)
	return revoke
}

// nameNamespace makes a namespace of a name, and waits for its service account.
func nameNamespace(ctx context.Context, t *testing.T, name string) string {
	t.Helper()
	if _, err := cluster(t).Client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(ctx, t, "the namespace has its service account", func() error {
		_, err := cluster(t).Client.CoreV1().ServiceAccounts(name).Get(ctx, "default", metav1.GetOptions{})
		return err
	})
	return name
}

func namespaceOf(name string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
}
