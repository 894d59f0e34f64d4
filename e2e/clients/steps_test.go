package clients_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

// program is a client in another language, with the steps that these tests check.
type program struct {
	kit.Program
	t *testing.T
}

func startProgram(t *testing.T, command []string, args ...string) program {
	t.Helper()
	return program{kit.StartProgram(t, command, args...), t}
}

// followedLine is a line of a program that follows ConfigMaps: its objects, or that it has lost a
// stream.
type followedLine struct {
	Step      string
	Kind      string
	Data      map[string]map[string]string
	Resets    int
	Connected bool
	Stale     *bool
}

// replicaSetNames returns the names of the replica sets in the cluster.
func replicaSetNames(ctx context.Context, t *testing.T, namespace, labelSelector string) []string {
	t.Helper()
	sets, err := kit.Cluster(t).Client.AppsV1().ReplicaSets(namespace).List(ctx, metav1.ListOptions{LabelSelector: labelSelector})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, set := range sets.Items {
		names = append(names, set.Name)
	}
	return names
}

// wantLine blocks until the program reports this line of a log.
func (p program) wantLine(ctx context.Context, want string) {
	p.t.Helper()
	_, err := p.Process.UntilPrints(ctx, func(printed string) bool {
		var report struct{ Step, Text string }
		return json.Unmarshal([]byte(printed), &report) == nil && report.Step == "line" && report.Text == want
	})
	if err != nil {
		p.t.Fatalf("line %.40q: %v", want, err)
	}
}

func (p program) wantListed(ctx context.Context, want []string) {
	p.t.Helper()
	var listed struct {
		Names, Phases []string
		Total         int
	}
	p.Step(ctx, "listed", &listed)
	kit.WantNames(p.t, "the program has listed", listed.Names, want)
	if listed.Total != len(want) {
		p.t.Errorf("total %d", listed.Total)
	}
	if phases := []string{string(corev1.PodRunning)}; !slices.Equal(listed.Phases, phases) {
		p.t.Errorf("phases %q, want %q", listed.Phases, phases)
	}
}

func (p program) wantGot(ctx context.Context, want *corev1.ConfigMap) {
	p.t.Helper()
	var got struct {
		UID, Version string
		Data         map[string]string
	}
	p.Step(ctx, "got", &got)
	if got.UID != string(want.UID) || got.Version != want.ResourceVersion || !maps.Equal(got.Data, want.Data) {
		p.t.Errorf("got %+v, want %s at %s with %v", got, want.UID, want.ResourceVersion, want.Data)
	}
}

// wantScaled fails the test unless the program has received these pods in the snapshot, and after
// its change those that the cluster has now.
func (p program) wantScaled(ctx context.Context, namespace string, before []string) {
	p.t.Helper()
	var held struct{ Names []string }
	p.Step(ctx, "before", &held)
	kit.WantNames(p.t, "before the change the program has", held.Names, before)
	var patched struct {
		Version  string
		Replicas int32
	}
	p.Step(ctx, "patched", &patched)
	p.Step(ctx, "after", &held)
	kit.WantNames(p.t, "after the change the program has", held.Names, kit.PodNames(ctx, p.t, namespace, "app=web"))
	now := kit.GetDeployment(ctx, p.t, namespace, "web")
	if patched.Replicas != 5 || *now.Spec.Replicas != 5 || len(held.Names) != 5 {
		p.t.Errorf("%d replicas in the response, %d in the cluster, %d pods; want 5",
			patched.Replicas, *now.Spec.Replicas, len(held.Names))
	}
	if patched.Version == "" {
		p.t.Error("the response to the change has no version")
	}
}

// wantKept fails the test unless the program has created an object, updated it once, and deleted
// it, and received the resulting objects of the cluster.
func (p program) wantKept(ctx context.Context, changes <-chan watch.Event) {
	p.t.Helper()
	p.wantWritten(ctx, "created", changes, watch.Added, "first")
	p.wantWritten(ctx, "updated", changes, watch.Modified, "second")
	p.wantFailure(ctx, "outdated", "Conflict", "the object has been modified")
	var deleted struct{ Gone bool }
	p.Step(ctx, "deleted", &deleted)
	p.wantChange(ctx, changes, watch.Deleted)
	if !deleted.Gone {
		p.t.Error("the program received a deleted object")
	}
}

func (p program) wantWritten(ctx context.Context, step string, changes <-chan watch.Event, change watch.EventType, text string) {
	p.t.Helper()
	var report struct {
		UID, Version string
		Data         map[string]string
	}
	p.Step(ctx, step, &report)
	now := p.wantChange(ctx, changes, change)
	if report.UID != string(now.UID) || report.Version != now.ResourceVersion || !maps.Equal(report.Data, now.Data) || report.Data["text"] != text {
		p.t.Errorf("%s: the response is %+v, the cluster has %s at %s with %v; want the text %q",
			step, report, now.UID, now.ResourceVersion, now.Data, text)
	}
}

// wantChange returns the object of the next change, and fails the test if that is another one.
func (p program) wantChange(ctx context.Context, changes <-chan watch.Event, want watch.EventType) *corev1.ConfigMap {
	p.t.Helper()
	select {
	case change := <-changes:
		object, ok := change.Object.(*corev1.ConfigMap)
		if !ok || change.Type != want {
			p.t.Fatalf("the cluster's watch returns %s of %v, want %s", change.Type, change.Object, want)
		}
		return object
	case <-ctx.Done():
		p.t.Fatalf("%v: the cluster's watch does not return %s", ctx.Err(), want)
	}
	return nil
}

// wantFailure fails the test unless a call of the program has failed with this error. It returns the
// request ID in the error, which is empty if the program does not report it.
func (p program) wantFailure(ctx context.Context, step, reason, words string, fields ...string) string {
	p.t.Helper()
	var failure struct {
		Reason, Message, RequestID string
		Fields                     []string
	}
	p.Step(ctx, step, &failure)
	if failure.Reason != reason || !slices.Equal(failure.Fields, fields) {
		p.t.Errorf("reason %q, fields %q; want %q, %q", failure.Reason, failure.Fields, reason, fields)
	}
	kit.WantWords(p.t, failure.Message, words)
	return failure.RequestID
}

// wantLogged blocks until the service logs the call with this request ID, and fails the test unless it is
// one of this procedure that has failed for this reason.
func wantLogged(ctx context.Context, t *testing.T, service *harness.Service, requestID, procedure, reason string) {
	t.Helper()
	if requestID == "" {
		t.Errorf("the error of %s has no request ID", procedure)
		return
	}
	line, err := service.UntilPrints(ctx, func(line string) bool { return strings.Contains(line, " request_id="+requestID+" ") })
	if err != nil {
		t.Fatal(err)
	}
	if logged := strings.Fields(line); !slices.Contains(logged, "procedure="+procedure) || !slices.Contains(logged, "reason="+reason) {
		t.Errorf("the log has %q, want a call of %s with the reason %s", line, procedure, reason)
	}
}

// holdsTheValue blocks until the program has a ConfigMap with a value and a condition is true of
// its line, and fails the test unless its watch has begun once.
func (p program) holdsTheValue(ctx context.Context, name, value string, condition func(followedLine) bool) {
	p.t.Helper()
	_, err := p.Process.UntilPrints(ctx, func(line string) bool {
		var printed followedLine
		if json.Unmarshal([]byte(line), &printed) != nil || printed.Step != "holds" {
			return false
		}
		if printed.Resets != 1 {
			p.t.Errorf("%d resets, want one", printed.Resets)
		}
		return printed.Data[name]["key"] == value && condition(printed)
	})
	if err != nil {
		p.t.Fatalf("%v: the program does not have %q in %q", err, value, name)
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
	p.Step(ctx, "listed", &listed)
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
	p.Step(ctx, "watched", &watched)
	got := fmt.Sprint(watched.Changes)
	if want := "[[ADDED large] [ADDED small] [MODIFIED small] [DELETED small]]"; got != want {
		p.t.Errorf("received %s, want %s", got, want)
	}
}

func (p program) wantRelatives(ctx context.Context, namespace string) {
	p.t.Helper()
	var related struct{ Owned, Owners, Selected, Subjects []string }
	p.Step(ctx, "related", &related)
	pods := kit.PodNames(ctx, p.t, namespace, "app=web")
	kit.WantNames(p.t, "the Deployment owns", related.Owned, pods)
	kit.WantNames(p.t, "the Deployment selects", related.Selected, pods)
	kit.WantNames(p.t, "a pod is owned by", related.Owners, replicaSetNames(ctx, p.t, namespace, "app=web"))
	kit.WantNames(p.t, "the events are about", related.Subjects, []string{"web"})
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
	p.Step(ctx, "counted", &counted)
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
	p.Step(ctx, "latest", &latest)
	now := kit.GetDeployment(ctx, p.t, namespace, "web")
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
	p.Step(ctx, "metadata", &got)
	if got.Kind != "PartialObjectMetadata" || got.Name != "large" {
		p.t.Errorf("got a %s of %s", got.Kind, got.Name)
	}
	kit.WantNames(p.t, "the object has", got.Members, []string{"apiVersion", "kind", "metadata"})
}

func (p program) wantPrinted(ctx context.Context, namespace string) {
	p.t.Helper()
	var got struct{ Columns, Names []string }
	p.Step(ctx, "printed", &got)
	table := kit.ListTable(ctx, p.t, "/api/v1/namespaces/"+namespace+"/pods", metav1.ListOptions{})
	var columns, names []string
	for _, column := range table.ColumnDefinitions {
		columns = append(columns, column.Name)
	}
	for _, row := range table.Rows {
		names = append(names, fmt.Sprint(row.Cells[0]))
	}
	kit.WantNames(p.t, "the table has the columns", got.Columns, columns)
	kit.WantNames(p.t, "the program has printed", got.Names, names)
}

func (p program) wantDiscovered(ctx context.Context) {
	p.t.Helper()
	var got struct{ Resources, Members []string }
	p.Step(ctx, "discovered", &got)
	served, err := kit.Cluster(p.t).Client.Discovery().ServerResourcesForGroupVersion("apps/v1")
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
	kit.WantNames(p.t, "the program has listed", got.Resources, resources)
	kit.WantNames(p.t, "a Deployment has", got.Members, []string{"apiVersion", "kind", "metadata", "spec", "status"})
}

// holds blocks until the program has these labels of a ConfigMap and of a Secret, where nil matches
// any, and fails the test unless each watch has begun once.
func (p program) holds(ctx context.Context, settings, secret kit.Labels) {
	p.t.Helper()
	_, err := p.Process.UntilPrints(ctx, func(line string) bool {
		var report struct {
			Step                string
			ConfigMaps, Secrets map[string]kit.Labels
			Resets              map[string]int
		}
		if json.Unmarshal([]byte(line), &report) != nil || report.Step != "holds" {
			return false
		}
		if want := map[string]int{"configmaps": 1, "secrets": 1}; !reflect.DeepEqual(report.Resets, want) {
			p.t.Errorf("resets of the watches: %v", report.Resets)
		}
		return reflect.DeepEqual(report.ConfigMaps["color"], settings) &&
			(secret == nil || reflect.DeepEqual(report.Secrets["key"], secret))
	})
	if err != nil {
		p.t.Fatalf("%v: the program does not have %v and %v", err, settings, secret)
	}
}
