package queries_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"connectrpc.com/connect/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

var claimsResource = schema.GroupVersionResource{Version: "v1", Resource: "persistentvolumeclaims"}

const claimPath = "spec.volumes[*].persistentVolumeClaim.claimName"

// addClaims creates a claim that a pod uses, and one that no pod uses.
func (f relatedFixture) addClaims() {
	f.t.Helper()
	core := kit.Cluster(f.t).Client.CoreV1()
	for _, name := range []string{"data", "unused"} {
		_, err := core.PersistentVolumeClaims(f.namespace).Create(f.ctx, &corev1.PersistentVolumeClaim{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: corev1.PersistentVolumeClaimSpec{
				AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
				Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
			},
		}, metav1.CreateOptions{})
		f.must(err)
	}
	pod := kit.UnscheduledPod("with-claim")
	pod.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}}}
	_, err := core.Pods(f.namespace).Create(f.ctx, pod, metav1.CreateOptions{})
	f.must(err)
}

// joinCase is a list with a join. want returns what the API server relates to an object: the names
// of the related objects.
type joinCase struct {
	resource    string
	apiResource schema.GroupVersionResource
	join        *kubeconnectv1.Join
	want        func(unstructured.Unstructured) []string
}

func (f relatedFixture) joinCases() map[string]joinCase {
	namesOf := func(resource schema.GroupVersionResource, matches func(unstructured.Unstructured) bool) (names []string) {
		for _, object := range f.all(resource) {
			if matches(object) {
				names = append(names, object.GetName())
			}
		}
		return names
	}
	return map[string]joinCase{
		"a pod with its node": {"pods", podsResource,
			&kubeconnectv1.Join{Type: kubeconnectv1.JoinType_JOIN_TYPE_NAMED_BY, Resource: "no", Path: "spec.nodeName", Fields: []string{"metadata.labels['kubernetes.io/hostname']"}},
			func(pod unstructured.Unstructured) []string {
				return strings.Fields(f.text(pod, "spec", "nodeName"))
			}},
		"a pod with its deployment": {"pods", podsResource,
			&kubeconnectv1.Join{Type: kubeconnectv1.JoinType_JOIN_TYPE_OWNER_OF, Resource: "deploy", Fields: []string{"spec.replicas"}},
			func(pod unstructured.Unstructured) []string {
				if len(pod.GetOwnerReferences()) == 0 {
					return nil
				}
				return []string{pod.GetLabels()["app"]}
			}},
		"a deployment with its ready pods": {"deployments.apps", deploymentsResource,
			&kubeconnectv1.Join{
				Type: kubeconnectv1.JoinType_JOIN_TYPE_SELECTED_BY, Resource: "pods", Fields: []string{"metadata.name"},
				Filter: "object.status.conditions.exists(c, c.type == 'Ready' && c.status == 'True')",
			},
			func(deployment unstructured.Unstructured) []string {
				return namesOf(podsResource, func(pod unstructured.Unstructured) bool {
					return pod.GetLabels()["app"] == deployment.GetName() && f.isReady(pod)
				})
			}},
		"an event with its pod": {"events", eventsResource,
			&kubeconnectv1.Join{Type: kubeconnectv1.JoinType_JOIN_TYPE_SUBJECT_OF, Resource: "pods", Fields: []string{"status.phase"}},
			func(event unstructured.Unstructured) []string {
				return namesOf(podsResource, func(pod unstructured.Unstructured) bool {
					return f.text(event, "involvedObject", "uid") == string(pod.GetUID())
				})
			}},
		"a newer event with its deployment": {"events.events.k8s.io", eventsResource,
			&kubeconnectv1.Join{Type: kubeconnectv1.JoinType_JOIN_TYPE_SUBJECT_OF, Resource: "deployments", Fields: []string{"spec.replicas"}},
			func(event unstructured.Unstructured) []string {
				return namesOf(deploymentsResource, func(deployment unstructured.Unstructured) bool {
					return f.text(event, "involvedObject", "uid") == string(deployment.GetUID())
				})
			}},
		"a claim with its pods": {"pvc", claimsResource,
			&kubeconnectv1.Join{Type: kubeconnectv1.JoinType_JOIN_TYPE_NAMES, Resource: "pods", Path: claimPath, Fields: []string{"metadata.name"}},
			func(claim unstructured.Unstructured) []string {
				if claim.GetName() == "data" {
					return []string{"with-claim"}
				}
				return nil
			}},
	}
}

func (f relatedFixture) isReady(pod unstructured.Unstructured) bool {
	conditions, _, _ := unstructured.NestedSlice(pod.Object, "status", "conditions")
	return slices.ContainsFunc(conditions, func(condition any) bool {
		fields := condition.(map[string]any)
		return fields["type"] == "Ready" && fields["status"] == "True"
	})
}

func TestJoins_HaveTheObjectsOfTheAPIServer(t *testing.T) {
	t.Parallel()
	fixture := newRelatedFixture(kit.Deadline(t), t)
	fixture.addClaims()
	kit.OverEachProtocol(t, kit.Cluster(t), func(t *testing.T, client kit.ResourceClient) {
		f := relatedFixture{kit.Deadline(t), t, fixture.namespace}
		for name, test := range f.joinCases() {
			t.Run(name, func(t *testing.T) { relatedFixture{f.ctx, t, f.namespace}.wantJoined(client, test) })
		}
	})
}

// wantJoined blocks until a list has the joined objects of the API server, because the controllers
// continue to work.
func (f relatedFixture) wantJoined(client kit.ResourceClient, test joinCase) {
	f.t.Helper()
	test.join.Name = "related"
	kit.Eventually(f.ctx, f.t, "the joins have the objects of the API server", func() error {
		list, err := client.List(f.ctx, &kubeconnectv1.ListRequest{Resource: test.resource, Namespace: f.namespace, Joins: []*kubeconnectv1.Join{test.join}})
		if err != nil {
			return err
		}
		var got, want []string
		for _, object := range list.GetObjects() {
			joined := object.GetJoined()[0]
			if int(joined.GetCount()) != len(joined.GetObjects()) || joined.GetNotPermitted() {
				return fmt.Errorf("%s has %v", object.GetName(), joined)
			}
			got = append(got, fmt.Sprint(object.GetName(), ": ", joinedNames(joined)))
		}
		for _, object := range f.all(test.apiResource) {
			want = append(want, fmt.Sprint(object.GetName(), ": ", strings.Join(test.want(object), " ")))
		}
		slices.Sort(got)
		if slices.Sort(want); !slices.Equal(got, want) || !slices.ContainsFunc(want, func(line string) bool { return !strings.HasSuffix(line, ": ") }) {
			return fmt.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		return nil
	})
}

func joinedNames(joined *kubeconnectv1.JoinedObjects) string {
	var names []string
	for _, object := range joined.GetObjects() {
		names = append(names, object.GetName())
	}
	return strings.Join(names, " ")
}

// TestJoins_NodesHaveTheirPods joins the pods of a namespace to cluster-scoped objects, twice.
func TestJoins_NodesHaveTheirPods(t *testing.T) {
	t.Parallel()
	ctx, client := kit.Deadline(t), kit.NewClient(t, kit.Cluster(t))
	f := newRelatedFixture(ctx, t)
	inNamespace := fmt.Sprintf("object.metadata.namespace == %q", f.namespace)
	join := func(name, filter string) *kubeconnectv1.Join {
		return &kubeconnectv1.Join{Name: name, Type: kubeconnectv1.JoinType_JOIN_TYPE_NAMES, Resource: "pods", Path: "spec.nodeName", Filter: filter}
	}
	kit.Eventually(ctx, t, "the nodes have the pods of the API server", func() error {
		list, err := client.List(ctx, &kubeconnectv1.ListRequest{Resource: "nodes", Joins: []*kubeconnectv1.Join{
			join("all", inNamespace), join("web", inNamespace+" && object.metadata.labels.app == 'web'")}})
		if err != nil {
			return err
		}
		got, want := make(map[string][2]int64), make(map[string][2]int64)
		for _, node := range list.GetObjects() {
			got[node.GetName()] = [2]int64{node.GetJoined()[0].GetCount(), node.GetJoined()[1].GetCount()}
			want[node.GetName()] = [2]int64{}
		}
		for _, pod := range f.all(podsResource) {
			node := f.text(pod, "spec", "nodeName")
			counts := want[node]
			if counts[0]++; pod.GetLabels()["app"] == "web" {
				counts[1]++
			}
			want[node] = counts
		}
		if !maps.Equal(got, want) {
			return fmt.Errorf("got %v, want %v", got, want)
		}
		return nil
	})
}

func TestJoins_InvalidOnesAreRejected(t *testing.T) {
	t.Parallel()
	ctx, client := kit.Deadline(t), kit.NewClient(t, kit.Cluster(t))
	node := func(change func(*kubeconnectv1.Join)) []*kubeconnectv1.Join {
		join := &kubeconnectv1.Join{Name: "node", Type: kubeconnectv1.JoinType_JOIN_TYPE_NAMED_BY, Resource: "nodes", Path: "spec.nodeName"}
		change(join)
		return []*kubeconnectv1.Join{join}
	}
	same := func(*kubeconnectv1.Join) {}
	for name, test := range map[string]struct {
		joins []*kubeconnectv1.Join
		code  connect.Code
		words string
	}{
		"with one name":            {append(node(same), node(same)...), connect.CodeInvalidArgument, "two joins"},
		"without a name":           {node(func(j *kubeconnectv1.Join) { j.Name = "" }), connect.CodeInvalidArgument, "invalid name"},
		"without a type":           {node(func(j *kubeconnectv1.Join) { j.Type = 0 }), connect.CodeInvalidArgument, `join "node": type is required`},
		"of an unknown resource":   {node(func(j *kubeconnectv1.Join) { j.Resource = "noodes" }), connect.CodeNotFound, `join "node": `},
		"of an uncached resource":  {node(func(j *kubeconnectv1.Join) { j.Resource = "componentstatuses" }), connect.CodeInvalidArgument, "not cached"},
		"with an invalid filter":   {node(func(j *kubeconnectv1.Join) { j.Filter = "object.spec.(" }), connect.CodeInvalidArgument, "filter: "},
		"with a filter of numbers": {node(func(j *kubeconnectv1.Join) { j.Filter = "1 + 1" }), connect.CodeInvalidArgument, "must be a condition"},
		"too many":                 {slices.Repeat(node(same), 9), connect.CodeInvalidArgument, "at most 8"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := client.List(ctx, &kubeconnectv1.ListRequest{Resource: "pods", Joins: test.joins})
			kit.WantError(t, err, test.code, test.words)
		})
	}
}

// TestJoins_SeeAWrite lists with the version of a write to a related object.
func TestJoins_SeeAWrite(t *testing.T) {
	t.Parallel()
	ctx, client := kit.Deadline(t), kit.NewClient(t, kit.Cluster(t))
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	write := kit.ConfigMapsIn(ctx, t, kit.Cluster(t), namespace)
	pod := kit.CreateUnscheduledPod(ctx, t, namespace, "config")
	list := func(version string) *kubeconnectv1.JoinedObjects {
		return joinedOf(ctx, t, client, &kubeconnectv1.ListRequest{Resource: "pods", Namespace: namespace, MinResourceVersion: version, Joins: []*kubeconnectv1.Join{
			{Name: "config", Type: kubeconnectv1.JoinType_JOIN_TYPE_NAMED_BY, Resource: "configmaps", Path: "metadata.name", Fields: []string{"data"}}}})
	}
	if joined := list(pod.ResourceVersion); joined.GetCount() != 0 {
		t.Errorf("before it was created: %v", joined)
	}
	created := write.Create("config", nil)
	if joined := list(created.ResourceVersion); joined.GetCount() != 1 || joined.GetObjects()[0].GetResourceVersion() != created.ResourceVersion {
		t.Errorf("after it was created at %s: %v", created.ResourceVersion, joined)
	}
}

// joinedOf returns the result of the only join for the only object of a list.
func joinedOf(ctx context.Context, t *testing.T, client kit.ResourceClient, request *kubeconnectv1.ListRequest) *kubeconnectv1.JoinedObjects {
	t.Helper()
	list, err := client.List(ctx, request)
	if err != nil || len(list.GetObjects()) != 1 || len(list.GetObjects()[0].GetJoined()) != 1 {
		t.Fatalf("returned %v, %v", list, err)
	}
	return list.GetObjects()[0].GetJoined()[0]
}
