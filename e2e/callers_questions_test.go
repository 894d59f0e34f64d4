package e2e_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
)

// TestClients_QueryBeyondSelectors makes queries with the clients' own methods, and compares
// the programs' reports of the responses with the cluster.
func TestClients_QueryBeyondSelectors(t *testing.T) {
	t.Parallel()
	for name, command := range map[string][]string{
		"Python":            pythonProgram(t, "python", "questions.py"),
		"Node with gRPC":    append(nodeProgram("node", "questions.mjs"), "grpc"),
		"Node with Connect": append(nodeProgram("node", "questions.mjs"), "connect"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ask(t, command)
		})
	}
}

func ask(t *testing.T, command []string) {
	t.Helper()
	ctx, service := deadline(t), harness.StartService(t, cluster(t).Kubeconfig)
	namespace := newNamespace(ctx, t, cluster(t))
	for name, data := range map[string]map[string]string{
		"small": {"size": "500m"}, "middle": {"size": "2"}, "large": {"size": "10"}, "without": {"other": "x"},
	} {
		createConfigMap(ctx, t, namespace, name, data)
	}
	runDeployment(ctx, t, namespace, "web", 3, labels{})
	runDeployment(ctx, t, namespace, "other", 1, labels{})
	untilEventsAbout(ctx, t, namespace, "web", "other")

	caller := startProgram(t, command, service.Address, namespace)
	caller.wantSomeFields(ctx)
	caller.wantFewChanges(ctx)
	caller.wantRelatives(ctx, namespace)
	caller.wantCounted(ctx)
	caller.wantLatest(ctx, namespace)
	caller.wantMetadata(ctx)
	caller.wantPrinted(ctx, namespace)
	caller.wantDiscovered(ctx)
	caller.ends(ctx)
}

func createConfigMap(ctx context.Context, t *testing.T, namespace, name string, data map[string]string) {
	t.Helper()
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: data}
	if _, err := cluster(t).Client.CoreV1().ConfigMaps(namespace).Create(ctx, object, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// untilEventsAbout blocks until the control plane has created events of Deployments.
func untilEventsAbout(ctx context.Context, t *testing.T, namespace string, names ...string) {
	t.Helper()
	for _, name := range names {
		eventually(ctx, t, "there are events about "+name, func() error {
			options := metav1.ListOptions{FieldSelector: "involvedObject.kind=Deployment,involvedObject.name=" + name}
			events, err := cluster(t).Client.CoreV1().Events(namespace).List(ctx, options)
			if err == nil && len(events.Items) == 0 {
				err = fmt.Errorf("there are none")
			}
			return err
		})
	}
}

// wantSomeFields fails the test unless the program has received the objects whose size is not 2,
// the largest first, with only their sizes, and a warning that others have no size.
func (p program) wantSomeFields(ctx context.Context) {
	p.t.Helper()
	var listed struct {
		Contents []map[string]any
		Total    int
		Warnings []string
	}
	p.step(ctx, "listed", &listed)
	got := fmt.Sprint(listed.Contents)
	if want := "[map[data:map[size:10]] map[data:map[size:500m]]]"; got != want || listed.Total != 2 {
		p.t.Errorf("listed %s, of %d; want %s", got, listed.Total, want)
	}
	if len(listed.Warnings) == 0 {
		p.t.Error("the program received no warning about objects without a size")
	}
}

// wantFewChanges fails the test unless the program has received the snapshot, a change of a size
// and an object that leaves the selection by another change, but not the change of a label.
func (p program) wantFewChanges(ctx context.Context) {
	p.t.Helper()
	var watched struct{ Changes [][]string }
	p.step(ctx, "watched", &watched)
	got := fmt.Sprint(watched.Changes)
	if want := "[[ADDED large] [ADDED small] [MODIFIED small] [DELETED small]]"; got != want {
		p.t.Errorf("received %s, want %s", got, want)
	}
}

func (p program) wantRelatives(ctx context.Context, namespace string) {
	p.t.Helper()
	var related struct{ Owned, Owners, Selected, Subjects []string }
	p.step(ctx, "related", &related)
	pods := podNames(ctx, p.t, namespace, "app=web")
	wantNames(p.t, "the Deployment owns", related.Owned, pods)
	wantNames(p.t, "the Deployment selects", related.Selected, pods)
	wantNames(p.t, "a pod is owned by", related.Owners, replicaSetNames(ctx, p.t, namespace, "app=web"))
	wantNames(p.t, "the events are about", related.Subjects, []string{"web"})
}

// replicaSetNames returns the names of the replica sets in the cluster.
func replicaSetNames(ctx context.Context, t *testing.T, namespace, labelSelector string) []string {
	t.Helper()
	sets, err := cluster(t).Client.AppsV1().ReplicaSets(namespace).List(ctx, metav1.ListOptions{LabelSelector: labelSelector})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, set := range sets.Items {
		names = append(names, set.Name)
	}
	return names
}

func (p program) wantCounted(ctx context.Context) {
	p.t.Helper()
	var counted struct {
		Total, Remaining int
		Groups           []struct {
			Values []any
			Count  int
		}
	}
	p.step(ctx, "counted", &counted)
	got := fmt.Sprint(counted)
	if want := "{4 0 [{[web <nil>] 3} {[other <nil>] 1}]}"; got != want {
		p.t.Errorf("counted %s, want %s", got, want)
	}
}

func (p program) wantLatest(ctx context.Context, namespace string) {
	p.t.Helper()
	var latest struct {
		Version, Kind string
		Replicas      int
		AtAPIServer   []bool
	}
	p.step(ctx, "latest", &latest)
	now := getDeployment(ctx, p.t, namespace, "web")
	if latest.Version != now.ResourceVersion || latest.Replicas != 3 || latest.Kind != "Scale" {
		p.t.Errorf("got %+v, the cluster has %s", latest, now.ResourceVersion)
	}
	if want := []bool{false, true, true}; !slices.Equal(latest.AtAPIServer, want) {
		p.t.Errorf("read at the API server: %v, want %v", latest.AtAPIServer, want)
	}
}

func (p program) wantMetadata(ctx context.Context) {
	p.t.Helper()
	var got struct {
		Kind, Name string
		Members    []string
	}
	p.step(ctx, "metadata", &got)
	if got.Kind != "PartialObjectMetadata" || got.Name != "large" {
		p.t.Errorf("got a %s of %s", got.Kind, got.Name)
	}
	wantNames(p.t, "the object has", got.Members, []string{"apiVersion", "kind", "metadata"})
}

func (p program) wantPrinted(ctx context.Context, namespace string) {
	p.t.Helper()
	var got struct{ Columns, Names []string }
	p.step(ctx, "printed", &got)
	table := printed(ctx, p.t, "/api/v1/namespaces/"+namespace+"/pods", metav1.ListOptions{})
	var columns, names []string
	for _, column := range table.ColumnDefinitions {
		columns = append(columns, column.Name)
	}
	for _, row := range table.Rows {
		names = append(names, fmt.Sprint(row.Cells[0]))
	}
	wantNames(p.t, "the table has the columns", got.Columns, columns)
	wantNames(p.t, "the program has printed", got.Names, names)
}

func (p program) wantDiscovered(ctx context.Context) {
	p.t.Helper()
	var got struct{ Resources, Members []string }
	p.step(ctx, "discovered", &got)
	served, err := cluster(p.t).Client.Discovery().ServerResourcesForGroupVersion("apps/v1")
	if err != nil {
		p.t.Fatal(err)
	}
	var resources []string
	for _, resource := range served.APIResources {
		if !strings.Contains(resource.Name, "/") {
			resources = append(resources, resource.Name)
		}
	}
	slices.Sort(resources)
	wantNames(p.t, "the program has listed", got.Resources, resources)
	wantNames(p.t, "a Deployment has", got.Members, []string{"apiVersion", "kind", "metadata", "spec", "status"})
}
