package server

import (
	"fmt"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/server/edge/gate"
	"github.com/kubeconnect/kubeconnect/server/internal/servertest"
)

// manyJoined returns an API server with n pods of one namespace, each with a replica set, a
// deployment, a claim and an event of its own, on one of 100 nodes.
func manyJoined(n int) *servertest.FakeAPI {
	api := joinedAPI()
	api.Of = map[string][]any{}
	add := func(resource string, object any) { api.Of[resource] = append(api.Of[resource], object) }
	apps := func(kind string) metav1.TypeMeta { return metav1.TypeMeta{APIVersion: "apps/v1", Kind: kind} }
	core := func(kind string) metav1.TypeMeta { return metav1.TypeMeta{APIVersion: "v1", Kind: kind} }
	for i := range 100 {
		add("nodes", &corev1.Node{TypeMeta: core("Node"), ObjectMeta: meta("", fmt.Sprint("n", i))})
	}
	for i := range n {
		name := fmt.Sprint("web-", i)
		pod := joinedPod("a", name, fmt.Sprint("n", i%100), name, controlledBy("apps/v1", "ReplicaSet", "a", name))
		pod.Labels = map[string]string{"app": name}
		deployment := &appsv1.Deployment{TypeMeta: apps("Deployment"), ObjectMeta: meta("a", name)}
		deployment.Spec.Selector = &metav1.LabelSelector{MatchLabels: pod.Labels}
		add("pods", pod)
		add("deployments", deployment)
		add("replicasets", &appsv1.ReplicaSet{TypeMeta: apps("ReplicaSet"), ObjectMeta: meta("a", name, controlledBy("apps/v1", "Deployment", "a", name))})
		add("persistentvolumeclaims", &corev1.PersistentVolumeClaim{TypeMeta: core("PersistentVolumeClaim"), ObjectMeta: meta("a", name)})
		add("events", &corev1.Event{TypeMeta: core("Event"), ObjectMeta: meta("a", name),
			InvolvedObject: corev1.ObjectReference{Kind: "Pod", APIVersion: "v1", Namespace: "a", Name: name, UID: pod.UID}})
	}
	return api
}

// BenchmarkJoins lists 10,000 objects with joins, and reports the time as a multiple of the time
// without joins.
func BenchmarkJoins(b *testing.B) {
	const n = 10_000
	r := resourcesOf(b, manyJoined(n), gate.Limits{})
	took := make(map[string]time.Duration)
	for _, bench := range []struct {
		name, resource string
		join           *kubeconnectv1.Join
	}{
		{"NAMED_BY", "pods", &kubeconnectv1.Join{Type: namedBy, Resource: "nodes", Path: "spec.nodeName", Fields: []string{"metadata.name"}}},
		{"OWNER_OF", "pods", &kubeconnectv1.Join{Type: ownerOf, Resource: "deployments", Fields: []string{"metadata.name"}}},
		{"SELECTED_BY", "deployments", &kubeconnectv1.Join{Type: selectedOf, Resource: "pods", Filter: "object.spec.nodeName != 'n1'"}},
		{"NAMES", "persistentvolumeclaims", &kubeconnectv1.Join{Type: names, Resource: "pods", Path: "spec.volumes[*].persistentVolumeClaim.claimName", Fields: []string{"metadata.name"}}},
		{"SUBJECT_OF", "events", &kubeconnectv1.Join{Type: subjectOf, Resource: "pods", Fields: []string{"metadata.name"}}},
	} {
		bench.join.Name = "j"
		for name, joins := range map[string][]*kubeconnectv1.Join{bench.name: {bench.join}, bench.name + " without": nil} {
			b.Run(name, func(b *testing.B) {
				for b.Loop() {
					listAll(b, r, &kubeconnectv1.ListRequest{Resource: bench.resource, Encoding: asJSON, Fields: []string{"metadata.name"}, Joins: joins})
				}
				took[name] = b.Elapsed() / time.Duration(b.N)
			})
		}
		b.Logf("%s takes %.1f times as long as the list without it", bench.name, float64(took[bench.name])/float64(took[bench.name+" without"]))
	}
}

// listAll lists all pages.
func listAll(b *testing.B, r resources, request *kubeconnectv1.ListRequest) {
	b.Helper()
	for {
		page, err := r.List(servertest.CalledBy(b.Context(), "jane"), request)
		if err != nil {
			b.Fatal(err)
		}
		if request.PageToken = page.GetNextPageToken(); request.PageToken == "" {
			return
		}
	}
}
