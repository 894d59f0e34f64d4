package queries_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"connectrpc.com/connect/v2"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
	"github.com/kubeconnect/kubeconnect/e2e/record"
)

const (
	relatedSelectedBy = kubeconnectv1.RelationType_RELATION_TYPE_SELECTED_BY
	relatedAbout      = kubeconnectv1.RelationType_RELATION_TYPE_ABOUT
	relatedOwnerOf    = kubeconnectv1.RelationType_RELATION_TYPE_OWNER_OF
)

var (
	podsResource        = schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	eventsResource      = schema.GroupVersionResource{Version: "v1", Resource: "events"}
	replicaSetsResource = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "replicasets"}
	deploymentsResource = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
)

// relatedFixture is two deployments with the replica sets and pods that the control plane creates,
// a service and a disruption budget of the first one, a service without a selector, and a pod
// without an owner that matches the selector of the first deployment.
type relatedFixture struct {
	ctx       context.Context
	t         *testing.T
	namespace string
}

func newRelatedFixture(ctx context.Context, t *testing.T) relatedFixture {
	t.Helper()
	f := relatedFixture{ctx, t, kit.NewNamespace(ctx, t, kit.Cluster(t))}
	f.deploy("web", 3)
	f.deploy("db", 2)
	api := kit.Cluster(t).Client
	_, err := api.CoreV1().Services(f.namespace).Create(ctx, &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec:       corev1.ServiceSpec{Selector: kit.Labels{"app": "web"}, Ports: []corev1.ServicePort{{Port: 80}}},
	}, metav1.CreateOptions{})
	f.must(err)
	_, err = api.CoreV1().Services(f.namespace).Create(ctx, &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "without-selector"},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}},
	}, metav1.CreateOptions{})
	f.must(err)
	_, err = api.PolicyV1().PodDisruptionBudgets(f.namespace).Create(ctx, &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{
			MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: metav1.LabelSelectorOpIn, Values: []string{"web", "other"}}},
		}},
	}, metav1.CreateOptions{})
	f.must(err)
	_, err = api.CoreV1().Pods(f.namespace).Create(ctx, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "alone", Labels: kit.Labels{"app": "web"}},
		Spec:       pausing(),
	}, metav1.CreateOptions{})
	f.must(err)
	f.untilThere()
	return f
}

func pausing() corev1.PodSpec {
	return corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "pause"}}}
}

func (f relatedFixture) must(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
}

func (f relatedFixture) deploy(name string, replicas int32) {
	f.t.Helper()
	_, err := kit.Cluster(f.t).Client.AppsV1().Deployments(f.namespace).Create(f.ctx, &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas,
			Selector: &metav1.LabelSelector{MatchLabels: kit.Labels{"app": name}},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: kit.Labels{"app": name}}, Spec: pausing()},
		},
	}, metav1.CreateOptions{})
	f.must(err)
}

// untilThere blocks until the controllers have created their objects.
func (f relatedFixture) untilThere() {
	f.t.Helper()
	kit.Eventually(f.ctx, f.t, "the pods and the first events exist", func() error {
		all, sets := f.all(podsResource), f.all(replicaSetsResource)
		events := slices.DeleteFunc(f.all(eventsResource), func(event unstructured.Unstructured) bool {
			return f.text(event, "involvedObject", "kind") != "Deployment"
		})
		if len(all) != 6 || len(sets) != 2 || len(events) < 2 {
			return fmt.Errorf("%d pods, %d replica sets, %d events of deployments", len(all), len(sets), len(events))
		}
		return nil
	})
}

// all lists the objects of the namespace at the API server.
func (f relatedFixture) all(resource schema.GroupVersionResource) []unstructured.Unstructured {
	f.t.Helper()
	list, err := kit.Cluster(f.t).Dynamic.Resource(resource).Namespace(f.namespace).List(f.ctx, metav1.ListOptions{})
	f.must(err)
	return list.Items
}

func (f relatedFixture) text(object unstructured.Unstructured, path ...string) string {
	text, _, _ := unstructured.NestedString(object.Object, path...)
	return text
}

// one returns an object of the namespace that matches a condition.
func (f relatedFixture) one(resource schema.GroupVersionResource, matches func(unstructured.Unstructured) bool) unstructured.Unstructured {
	f.t.Helper()
	for _, object := range f.all(resource) {
		if matches(object) {
			return object
		}
	}
	f.t.Fatalf("no such %s", resource.Resource)
	return unstructured.Unstructured{}
}

func named(name string) func(unstructured.Unstructured) bool {
	return func(object unstructured.Unstructured) bool { return object.GetName() == name }
}

func withApp(app string) func(unstructured.Unstructured) bool {
	return func(object unstructured.Unstructured) bool { return object.GetLabels()["app"] == app }
}

func ownedByUID(uids ...types.UID) func(unstructured.Unstructured) bool {
	return func(object unstructured.Unstructured) bool {
		return slices.ContainsFunc(object.GetOwnerReferences(), func(owner metav1.OwnerReference) bool {
			return slices.Contains(uids, owner.UID)
		})
	}
}

// relationCase is a list, with the objects of the API server that it must return.
type relationCase struct {
	resource    string
	apiResource schema.GroupVersionResource
	related     *kubeconnectv1.Relation
	selector    string
	want        func(unstructured.Unstructured) bool
}

func (f relatedFixture) cases() map[string]relationCase {
	set, web := f.one(replicaSetsResource, withApp("web")), f.one(deploymentsResource, named("web"))
	pod := f.one(podsResource, ownedByUID(set.GetUID()))
	relatedTo := func(relationType kubeconnectv1.RelationType, resource, name string) *kubeconnectv1.Relation {
		return &kubeconnectv1.Relation{Type: relationType, Resource: resource, Namespace: f.namespace, Name: name}
	}
	transitive := relatedTo(kit.RelatedOwnedBy, "deploy", "web")
	transitive.Transitive, transitive.Uid = true, string(web.GetUID())
	about := func(uid types.UID) func(unstructured.Unstructured) bool {
		return func(event unstructured.Unstructured) bool {
			return f.text(event, "involvedObject", "uid") == string(uid)
		}
	}
	none := func(unstructured.Unstructured) bool { return false }
	overItself := relatedTo(kit.RelatedOwnedBy, "pods", pod.GetName())
	overItself.Transitive = true
	return map[string]relationCase{
		"pods of a replica set":                {"pods", podsResource, relatedTo(kit.RelatedOwnedBy, "rs", set.GetName()), "", ownedByUID(set.GetUID())},
		"pods of a replica set, and by label":  {"pods", podsResource, relatedTo(kit.RelatedOwnedBy, "rs", set.GetName()), "app=db", none},
		"pods of a deployment, directly":       {"pods", podsResource, relatedTo(kit.RelatedOwnedBy, "deployments.apps", "web"), "", none},
		"pods of a deployment, transitively":   {"pods", podsResource, transitive, "", ownedByUID(set.GetUID())},
		"pods of a pod, transitively":          {"pods", podsResource, overItself, "", none},
		"replica sets of a deployment":         {"rs", replicaSetsResource, relatedTo(kit.RelatedOwnedBy, "deployments.v1.apps", "web"), "", ownedByUID(web.GetUID())},
		"replica sets, transitively":           {"rs", replicaSetsResource, transitive, "", ownedByUID(web.GetUID())},
		"pods that a service selects":          {"pods", podsResource, relatedTo(relatedSelectedBy, "svc", "web"), "", withApp("web")},
		"pods that a deployment selects":       {"pods", podsResource, relatedTo(relatedSelectedBy, "deploy", "web"), "", withApp("web")},
		"pods that a disruption budget covers": {"pods", podsResource, relatedTo(relatedSelectedBy, "pdb", "web"), "", withApp("web")},
		"pods that a replica set selects": {"pods", podsResource, relatedTo(relatedSelectedBy, "rs", set.GetName()), "", func(object unstructured.Unstructured) bool {
			return object.GetLabels()["pod-template-hash"] == set.GetLabels()["pod-template-hash"]
		}},
		"pods that are selected twice":       {"pods", podsResource, relatedTo(relatedSelectedBy, "svc", "web"), "pod-template-hash", ownedByUID(set.GetUID())},
		"events about a deployment":          {"events", eventsResource, relatedTo(relatedAbout, "deploy", "web"), "", about(web.GetUID())},
		"events about a pod":                 {"events.events.k8s.io", eventsResource, relatedTo(relatedAbout, "pods", pod.GetName()), "", about(pod.GetUID())},
		"replica sets that own a pod":        {"rs", replicaSetsResource, relatedTo(relatedOwnerOf, "pods", pod.GetName()), "", named(set.GetName())},
		"deployments that own a set":         {"deploy", deploymentsResource, relatedTo(relatedOwnerOf, "rs", set.GetName()), "", named("web")},
		"deployments that own a pod":         {"deploy", deploymentsResource, relatedTo(relatedOwnerOf, "pods", pod.GetName()), "", none},
		"deployments of a pod without owner": {"deploy", deploymentsResource, relatedTo(relatedOwnerOf, "pods", "alone"), "", none},
	}
}

func TestRelated_ListReturnsRelatedObjects(t *testing.T) {
	t.Parallel()
	fixture := newRelatedFixture(kit.Deadline(t), t)
	kit.OverEachProtocol(t, kit.Cluster(t), func(t *testing.T, client kit.ResourceClient) {
		f := relatedFixture{kit.Deadline(t), t, fixture.namespace}
		for name, test := range f.cases() {
			for where, namespace := range map[string]string{"": f.namespace, " everywhere": "", " elsewhere": "default"} {
				t.Run(name+where, func(t *testing.T) {
					relatedFixture{f.ctx, t, f.namespace}.wantList(client, test, namespace)
				})
			}
		}
	})
}

// wantList blocks until a list returns the expected objects, because the controllers continue to
// work.
func (f relatedFixture) wantList(client kit.ResourceClient, test relationCase, namespace string) {
	f.t.Helper()
	request := &kubeconnectv1.ListRequest{Resource: test.resource, Namespace: namespace, LabelSelector: test.selector, Related: test.related}
	kit.Eventually(f.ctx, f.t, "the list has the objects of the API server", func() error {
		list, err := client.List(f.ctx, request)
		if err != nil {
			return err
		}
		var got, want []string
		for _, object := range list.GetObjects() {
			got = append(got, object.GetName())
		}
		for _, object := range f.all(test.apiResource) {
			if test.want(object) && namespace != "default" {
				want = append(want, object.GetName())
			}
		}
		if slices.Sort(want); !slices.Equal(got, want) {
			return fmt.Errorf("got %v, want %v", got, want)
		}
		return nil
	})
}

func TestRelated_InvalidRelationsAreRejected(t *testing.T) {
	t.Parallel()
	ctx, client := kit.Deadline(t), kit.NewClient(t, kit.Cluster(t))
	f := newRelatedFixture(ctx, t)
	relation := func(change func(*kubeconnectv1.Relation)) *kubeconnectv1.Relation {
		relation := &kubeconnectv1.Relation{Type: kit.RelatedOwnedBy, Resource: "deploy", Namespace: f.namespace, Name: "web"}
		change(relation)
		return relation
	}
	for name, test := range map[string]struct {
		resource string
		related  *kubeconnectv1.Relation
		code     connect.Code
		words    string
	}{
		"without a type":                       {"pods", relation(func(r *kubeconnectv1.Relation) { r.Type = 0 }), connect.CodeInvalidArgument, "related.type"},
		"of an unknown type":                   {"pods", relation(func(r *kubeconnectv1.Relation) { r.Type = 99 }), connect.CodeInvalidArgument, "related.type 99"},
		"without a resource":                   {"pods", relation(func(r *kubeconnectv1.Relation) { r.Resource = "" }), connect.CodeInvalidArgument, "related.resource"},
		"with an unknown resource":             {"pods", relation(func(r *kubeconnectv1.Relation) { r.Resource = "deploymint" }), connect.CodeNotFound, "deployments"},
		"without a name":                       {"pods", relation(func(r *kubeconnectv1.Relation) { r.Name = "" }), connect.CodeInvalidArgument, "related: name is required"},
		"without a namespace":                  {"pods", relation(func(r *kubeconnectv1.Relation) { r.Namespace = "" }), connect.CodeInvalidArgument, "related: namespace is required"},
		"to a missing object":                  {"pods", relation(func(r *kubeconnectv1.Relation) { r.Name = "nobody" }), connect.CodeNotFound, `deployments.apps "nobody" not found`},
		"to another UID":                       {"pods", relation(func(r *kubeconnectv1.Relation) { r.Uid = "another" }), connect.CodeNotFound, `deployments.apps "web" not found`},
		"about, for other objects than events": {"pods", relation(func(r *kubeconnectv1.Relation) { r.Type = relatedAbout }), connect.CodeInvalidArgument, "ABOUT selects events"},
		"selected by an object without a selector": {"pods", relation(func(r *kubeconnectv1.Relation) {
			r.Type, r.Resource, r.Name = relatedSelectedBy, "svc", "without-selector"
		}), connect.CodeInvalidArgument, "selects nothing"},
		"selected by a kind without a selector": {"pods", relation(func(r *kubeconnectv1.Relation) {
			r.Type, r.Resource, r.Name = relatedSelectedBy, "pods", "alone"
		}), connect.CodeInvalidArgument, "pods have no selector"},
		"selected without a namespace": {"nodes", relation(func(r *kubeconnectv1.Relation) { r.Type = relatedSelectedBy }), connect.CodeInvalidArgument, "nodes have none"},
		"over owners of another kind": {"pods", relation(func(r *kubeconnectv1.Relation) {
			r.Type, r.Transitive = relatedSelectedBy, true
		}), connect.CodeInvalidArgument, "related.transitive"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := client.List(ctx, &kubeconnectv1.ListRequest{Resource: test.resource, Related: test.related})
			kit.WantError(t, err, test.code, test.words)
			kit.WantError(t, kit.WatchError(ctx, client, &kubeconnectv1.WatchRequest{Resource: test.resource, Related: test.related}), test.code, test.words)
		})
	}
	transitive := relation(func(r *kubeconnectv1.Relation) { r.Transitive = true })
	kit.WantError(t, kit.WatchError(ctx, client, &kubeconnectv1.WatchRequest{Resource: "pods", Related: transitive}), connect.CodeInvalidArgument, "SELECTED_BY")
}

// owning returns owner references to some ConfigMaps.
func owning(owners ...*corev1.ConfigMap) []any {
	references := []any{}
	for _, owner := range owners {
		references = append(references, map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "name": owner.Name, "uid": owner.UID})
	}
	return references
}

func TestRelated_WatchFollowsOwnership(t *testing.T) {
	t.Parallel()
	kit.OverEachProtocol(t, kit.Cluster(t), func(t *testing.T, client kit.ResourceClient) {
		ctx := kit.Deadline(t)
		write := kit.ConfigMapsIn(ctx, t, kit.Cluster(t), kit.NewNamespace(ctx, t, kit.Cluster(t)))
		one, two := write.Create("owner-1", nil), write.Create("owner-2", nil)
		a := write.Create("a", nil)
		own := func(name string, owners ...*corev1.ConfigMap) *corev1.ConfigMap {
			return write.Patch(name, map[string]any{"metadata": map[string]any{"ownerReferences": owning(owners...)}})
		}
		before := own("a", one)
		kit.UntilRead(ctx, t, client, "configmaps", before)
		watch := func(relationType kubeconnectv1.RelationType, name string) *record.Stream {
			stream := record.Watch(t, client, &kubeconnectv1.WatchRequest{Resource: "configmaps", Related: &kubeconnectv1.Relation{
				Type: relationType, Resource: "cm", Namespace: a.Namespace, Name: name,
			}})
			stream.Synced(ctx)
			return stream
		}
		ofOne, ofTwo, owner := watch(kit.RelatedOwnedBy, "owner-1"), watch(kit.RelatedOwnedBy, "owner-2"), watch(relatedOwnerOf, "a")
		kit.WantSnapshot(t, ofOne, kit.Added(before))
		kit.WantSnapshot(t, ofTwo)
		kit.WantSnapshot(t, owner, kit.Added(one))

		both := own("a", two, one)
		write.Create("b", nil)
		second := own("a", two)
		touched := write.Touch("a", "touched")
		own("a")
		ofTwoB := own("b", two)
		write.Delete("b")
		one = write.Touch("owner-1", "touched")
		last := write.Create("last", nil)

		kit.WantChanges(t, ofOne.Reaches(ctx, last.ResourceVersion), kit.Modified(both), kit.Deleted(both))
		kit.WantChanges(t, ofTwo.Reaches(ctx, last.ResourceVersion),
			kit.Added(both), kit.Modified(second), kit.Modified(touched), kit.Deleted(touched), kit.Added(ofTwoB), kit.Deleted(ofTwoB))
		kit.WantChanges(t, owner.Reaches(ctx, last.ResourceVersion), kit.Modified(one))
	})
}

// TestRelated_TransitiveOwnersAreFollowedThroughCycles has a chain of owners, two objects that own
// each other, a missing owner, and a chain that is too long.
func TestRelated_TransitiveOwnersAreFollowedThroughCycles(t *testing.T) {
	t.Parallel()
	ctx, client := kit.Deadline(t), kit.NewClient(t, kit.Cluster(t))
	write := kit.ConfigMapsIn(ctx, t, kit.Cluster(t), kit.NewNamespace(ctx, t, kit.Cluster(t)))
	own := func(name string, owners ...*corev1.ConfigMap) *corev1.ConfigMap {
		return write.Patch(name, map[string]any{"metadata": map[string]any{"ownerReferences": owning(owners...)}})
	}
	create := func(name string, owners ...*corev1.ConfigMap) *corev1.ConfigMap {
		write.Create(name, kit.Labels{"tied": "yes"})
		return own(name, owners...)
	}
	root, other := create("root"), create("other")
	one := create("one", root)
	two := create("two", other, one)
	three := create("three", two)
	x, y := create("x", three), create("y")
	own("y", x)
	own("x", three, y)
	own("root", y) // now they form a cycle
	longest := create("longest-0", other)
	for i := range 33 {
		longest = create(fmt.Sprint("longest-", i+1), longest)
	}
	kit.UntilRead(ctx, t, client, "configmaps", longest)
	list := func(selector, owner string) (string, error) {
		answer, err := client.List(ctx, &kubeconnectv1.ListRequest{
			Resource: "configmaps", LabelSelector: selector, FieldSelector: "metadata.namespace=" + root.Namespace,
			Related: &kubeconnectv1.Relation{Type: kit.RelatedOwnedBy, Resource: "configmaps", Namespace: root.Namespace, Name: owner, Transitive: true},
		})
		var names []string
		for _, object := range answer.GetObjects() {
			names = append(names, object.GetName())
		}
		return strings.Join(names, " "), err
	}
	for owner, want := range map[string]string{
		"root": "one root three two x y", "one": "one root three two x y", "longest-31": "longest-32 longest-33",
	} {
		if got, err := list("tied", owner); err != nil || got != want {
			t.Errorf("%s owns %s, %v; want %s", owner, got, err, want)
		}
	}
	write.Relabel("longest-33", map[string]any{"last": "yes"})
	kit.UntilRead(ctx, t, client, "configmaps", write.Get("longest-33"))
	if got, err := list("last", "longest-20"); err != nil || got != "longest-33" {
		t.Errorf("of the last ones, longest-20 owns %s, %v", got, err)
	}
	_, err := list("last", "root")
	kit.WantError(t, err, connect.CodeInvalidArgument, "related.transitive", "32 owners")
}

func TestRelated_WatchFollowsASelector(t *testing.T) {
	t.Parallel()
	kit.OverEachProtocol(t, kit.Cluster(t), func(t *testing.T, client kit.ResourceClient) {
		ctx := kit.Deadline(t)
		namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
		gadgets := kit.NewCustomResource(ctx, t, kit.Cluster(t), namespace)
		gadgets.Define("v1")
		selector := gadgets.Create("v1", namespace, "one", map[string]any{"selector": map[string]any{"matchLabels": map[string]any{"app": "a"}}})
		kit.UntilRead(ctx, t, client, gadgets.Name(), selector)
		stream := record.Watch(t, client, &kubeconnectv1.WatchRequest{Resource: "configmaps", Related: &kubeconnectv1.Relation{
			Type: relatedSelectedBy, Resource: gadgets.Name(), Namespace: namespace, Name: "one",
		}})
		stream.Synced(ctx)
		write := kit.ConfigMapsIn(ctx, t, kit.Cluster(t), namespace)
		one := write.Create("one", kit.Labels{"app": "a"})
		write.Create("two", kit.Labels{"app": "b"})
		moved := write.Relabel("two", map[string]any{"app": "a"})
		write.Relabel("one", map[string]any{"app": nil})
		last := write.Create("last", nil)
		kit.WantChanges(t, stream.Reaches(ctx, last.ResourceVersion), kit.Added(one), kit.Added(moved), kit.Deleted(one))
	})
}

// TestRelated_WatchResyncsAfterTheOwnerIsRecreated resumes after the owner was deleted and
// another one created under its name: there is no sequence of changes from the objects of the one
// to those of the other.
func TestRelated_WatchResyncsAfterTheOwnerIsRecreated(t *testing.T) {
	t.Parallel()
	ctx, client := kit.Deadline(t), kit.NewClient(t, kit.Cluster(t))
	write := kit.ConfigMapsIn(ctx, t, kit.Cluster(t), kit.NewNamespace(ctx, t, kit.Cluster(t)))
	owner := write.Create("owner", nil)
	owned := kit.OwnedBy(ctx, t, owner)
	kit.UntilRead(ctx, t, client, "configmaps", owned)
	request := &kubeconnectv1.WatchRequest{Resource: "configmaps", Namespace: owner.Namespace, Related: &kubeconnectv1.Relation{
		Type: kit.RelatedOwnedBy, Resource: "configmaps", Namespace: owner.Namespace, Name: "owner",
	}}
	first := func() *kubeconnectv1.WatchResponse {
		t.Helper()
		return firstResponse(ctx, t, client, request)
	}
	request.ResumeToken = first().GetResumeToken()
	request.Related.Resource = "cm" // the same resource in another syntax
	if begins := first().GetEvents()[0].GetType(); begins == kubeconnectv1.EventType_EVENT_TYPE_RESET {
		t.Errorf("with the same owner the stream begins with %s", begins)
	}
	write.Touch("owned", "touched")
	keep := metav1.DeletePropagationOrphan
	if err := write.API.Delete(ctx, "owner", metav1.DeleteOptions{PropagationPolicy: &keep}); err != nil {
		t.Fatal(err)
	}
	kit.Eventually(ctx, t, "the owner is deleted", func() error { return kit.CheckDeleted(ctx, t, owner) })
	kit.Eventually(ctx, t, "the service has noticed the deletion", func() error {
		return kit.HasCode(kit.WatchError(ctx, client, request), connect.CodeNotFound)
	})
	kit.UntilRead(ctx, t, client, "configmaps", write.Create("owner", nil))
	if begins := first().GetEvents()[0].GetType(); begins != kubeconnectv1.EventType_EVENT_TYPE_RESET {
		t.Errorf("with another owner the stream begins with %s", begins)
	}
	wider := &kubeconnectv1.WatchRequest{Resource: "configmaps", Namespace: owner.Namespace, ResumeToken: request.ResumeToken}
	kit.WantError(t, kit.WatchError(ctx, client, wider), connect.CodeInvalidArgument, "another watch")
}

// TestRelated_NeedsPermissionForTheOtherObject compares the errors for objects without permission
// with those of Get.
func TestRelated_NeedsPermissionForTheOtherObject(t *testing.T) {
	t.Parallel()
	service := kit.StartForCallers(t)
	fixture := newRelatedFixture(kit.Deadline(t), t)
	for _, protocol := range harness.Protocols {
		t.Run(protocol.Name, func(t *testing.T) {
			t.Parallel()
			ctx := kit.Deadline(t)
			f := relatedFixture{ctx, t, fixture.namespace}
			relationsOfACaller(f, service, protocol)
		})
	}
}

func relationsOfACaller(f relatedFixture, service *harness.Service, protocol harness.Protocol) {
	f.t.Helper()
	caller := kit.NewAccount(f.ctx, f.t, f.namespace, strings.ToLower(strings.ReplaceAll(protocol.Name, " ", "-")))
	getOne := kit.Rule("configmaps", "get")
	getOne.ResourceNames = []string{"kube-root-ca.crt"}
	deployments := kit.Rule("deployments", "get")
	deployments.APIGroups = []string{"apps"}
	caller.GrantIn(f.namespace, caller.Name, kit.Rule("pods", "list", "watch", "get"), getOne, deployments)
	client := caller.Calling(service, protocol).Resources
	list := func(relation *kubeconnectv1.Relation) error {
		_, err := client.List(f.ctx, &kubeconnectv1.ListRequest{Resource: "pods", Namespace: f.namespace, Related: relation})
		return err
	}
	related := func(resource, name string) *kubeconnectv1.Relation {
		return &kubeconnectv1.Relation{Type: kit.RelatedOwnedBy, Resource: resource, Namespace: f.namespace, Name: name}
	}
	kit.Eventually(f.ctx, f.t, "the caller has its permissions", func() error { return list(related("deploy", "web")) })
	for _, name := range []string{"web", "nobody"} {
		err := list(related("services", name))
		kit.WantError(f.t, err, connect.CodePermissionDenied, fmt.Sprintf("services %q is forbidden", name), "cannot get")
		_, refused := client.Get(f.ctx, &kubeconnectv1.GetRequest{Resource: "services", Namespace: f.namespace, Name: name})
		if err.Error() != refused.Error() {
			f.t.Errorf("error %q, and Get returns %q", err, refused)
		}
	}
	if err := list(related("cm", "kube-root-ca.crt")); err != nil {
		f.t.Error(err)
	}
	transitive := related("deploy", "web")
	transitive.Transitive = true
	kit.WantError(f.t, list(transitive), connect.CodePermissionDenied, "replicasets.apps is forbidden", "cannot list")
	sets := kit.Rule("replicasets", "list")
	sets.APIGroups = []string{"apps"}
	caller.GrantIn(f.namespace, caller.Name+"-sets", sets)
	kit.Eventually(f.ctx, f.t, "the caller has permission to list replica sets", func() error { return list(transitive) })
	_, err := client.List(f.ctx, &kubeconnectv1.ListRequest{Resource: "services", Namespace: f.namespace, Related: transitive})
	kit.WantError(f.t, err, connect.CodePermissionDenied, "services is forbidden")
}
