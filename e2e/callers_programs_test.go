package e2e_test

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
)

func TestClients_ReadWatchAndChangeTheCluster(t *testing.T) {
	t.Parallel()
	for name, command := range callerPrograms(t) {
		t.Run(name+" in plain text", func(t *testing.T) {
			t.Parallel()
			service := harness.StartService(t, cluster(t).Kubeconfig)
			readWatchAndChange(t, command, service)
		})
		t.Run(name+" over TLS", func(t *testing.T) {
			t.Parallel()
			certificate := newCertificate(t)
			service := startTLSService(t, cluster(t), certificate)
			readWatchAndChange(t, command, service, certificate.certFile)
		})
	}
}

func TestClients_DoNotTrustAnUnknownCertificate(t *testing.T) {
	t.Parallel()
	service := startTLSService(t, cluster(t), newCertificate(t))
	for name, command := range callerPrograms(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			other := newCertificate(t)
			caller := startProgram(t, command, service.Address, "default", other.certFile)
			if err := caller.process.Wait(deadline(t)); err == nil {
				t.Errorf("the program succeeded:\n%s", caller.process.Output())
			}
			if !strings.Contains(strings.ToLower(caller.process.Output()), "certificate") {
				t.Errorf("output:\n%s", caller.process.Output())
			}
		})
	}
}

// callerPrograms returns programs with the same steps, by the name of their client.
func callerPrograms(t *testing.T) map[string][]string {
	t.Helper()
	return map[string][]string{
		"Python with threads": pythonProgram(t, "python", "threads.py"),
		"Python with asyncio": pythonProgram(t, "python", "coroutines.py"),
		"Node with gRPC":      append(nodeProgram("node", "program.mjs"), "grpc"),
		"Node with Connect":   append(nodeProgram("node", "program.mjs"), "connect"),
	}
}

// readWatchAndChange makes a program scale a Deployment from three pods to five, and write an
// object of its own, and compares its reports with the cluster.
func readWatchAndChange(t *testing.T, command []string, service *harness.Service, caFile ...string) {
	t.Helper()
	ctx := deadline(t)
	namespace := newNamespace(ctx, t, cluster(t))
	settings := configMapsIn(ctx, t, cluster(t), namespace).create("settings", nil)
	runDeployment(ctx, t, namespace, "web", 3, labels{})
	runDeployment(ctx, t, namespace, "other", 1, labels{})
	three := podNames(ctx, t, namespace, "app=web")
	notes := changesOf(ctx, t, namespace, "notes")

	caller := startProgram(t, command, append([]string{service.Address, namespace}, caFile...)...)
	caller.wantListed(ctx, three)
	caller.wantGot(ctx, settings)
	caller.wantScaled(ctx, namespace, three)
	caller.wantKept(ctx, notes)
	caller.wantFailure(ctx, "missing", "NotFound", `configmaps "nobody" not found`)
	caller.wantFailure(ctx, "refused", "Invalid", "must be greater than or equal to 0", "spec.replicas")
	caller.ends(ctx)
}

func (p program) wantListed(ctx context.Context, want []string) {
	p.t.Helper()
	var listed struct {
		Names, Phases []string
		Total         int
	}
	p.step(ctx, "listed", &listed)
	wantNames(p.t, "the program has listed", listed.Names, want)
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
	p.step(ctx, "got", &got)
	if got.UID != string(want.UID) || got.Version != want.ResourceVersion || !maps.Equal(got.Data, want.Data) {
		p.t.Errorf("got %+v, want %s at %s with %v", got, want.UID, want.ResourceVersion, want.Data)
	}
}

// wantScaled fails the test unless the program has received these pods in the snapshot, and after
// its change those that the cluster has now.
func (p program) wantScaled(ctx context.Context, namespace string, before []string) {
	p.t.Helper()
	var held struct{ Names []string }
	p.step(ctx, "before", &held)
	wantNames(p.t, "before the change the program has", held.Names, before)
	var patched struct {
		Version  string
		Replicas int32
	}
	p.step(ctx, "patched", &patched)
	p.step(ctx, "after", &held)
	wantNames(p.t, "after the change the program has", held.Names, podNames(ctx, p.t, namespace, "app=web"))
	now := getDeployment(ctx, p.t, namespace, "web")
	if patched.Replicas != 5 || *now.Spec.Replicas != 5 || len(held.Names) != 5 {
		p.t.Errorf("%d replicas in the response, %d in the cluster, %d pods; want 5",
			patched.Replicas, *now.Spec.Replicas, len(held.Names))
	}
	if patched.Version == "" {
		p.t.Error("the response to the change has no version")
	}
}

// changesOf returns the changes to a ConfigMap from now on, from a watch of the API server.
func changesOf(ctx context.Context, t *testing.T, namespace, name string) <-chan watch.Event {
	t.Helper()
	changes, err := cluster(t).Client.CoreV1().ConfigMaps(namespace).Watch(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + name})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(changes.Stop)
	return changes.ResultChan()
}

// wantKept fails the test unless the program has created an object, updated it once, and deleted
// it, and received the resulting objects of the cluster.
func (p program) wantKept(ctx context.Context, changes <-chan watch.Event) {
	p.t.Helper()
	p.wantWritten(ctx, "created", changes, watch.Added, "first")
	p.wantWritten(ctx, "updated", changes, watch.Modified, "second")
	p.wantFailure(ctx, "outdated", "Conflict", "the object has been modified")
	var deleted struct{ Gone bool }
	p.step(ctx, "deleted", &deleted)
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
	p.step(ctx, step, &report)
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

func (p program) wantFailure(ctx context.Context, step, reason, words string, fields ...string) {
	p.t.Helper()
	var failure struct {
		Reason, Message string
		Fields          []string
	}
	p.step(ctx, step, &failure)
	if failure.Reason != reason || !slices.Equal(failure.Fields, fields) {
		p.t.Errorf("reason %q, fields %q; want %q, %q", failure.Reason, failure.Fields, reason, fields)
	}
	wantWords(p.t, failure.Message, words)
}
