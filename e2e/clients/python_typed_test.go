package clients_test

import (
	"maps"
	"testing"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

// TestPythonClient_TypedObjectsAreThoseOfTheCluster runs a program that uses the built-in kinds as
// protobuf messages, compares the objects of all kinds in both encodings, and checks the TypedDicts
// of the cluster's schemas with mypy.
func TestPythonClient_TypedObjectsAreThoseOfTheCluster(t *testing.T) {
	t.Parallel()
	ctx := kit.Deadline(t)
	service := harness.StartService(t, kit.Cluster(t).Kubeconfig)
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	caller := startProgram(t, kit.PythonProgram(t, "python", "typed.py"), service.Address, namespace)

	var created struct {
		UID, Created string
		Deleted      *string
		Requests     map[string]string
	}
	caller.Step(ctx, "created", &created)
	web := kit.GetDeployment(ctx, t, namespace, "web")
	if created.UID != string(web.UID) || created.Deleted != nil ||
		created.Created != web.CreationTimestamp.UTC().Format("2006-01-02 15:04:05+00:00") {
		t.Errorf("created %+v, want %s of %s", created, web.UID, web.CreationTimestamp)
	}
	if want := map[string]string{"cpu": "0.5", "memory": "536870912"}; !maps.Equal(created.Requests, want) {
		t.Errorf("requests %v, want %v", created.Requests, want)
	}
	var watched struct {
		Annotations map[string]string
		Replicas    *int
	}
	caller.Step(ctx, "watched", &watched)
	if watched.Annotations["step"] != "updated" || watched.Annotations["applied"] != "yes" || *watched.Replicas != 0 {
		t.Errorf("watched %+v", watched)
	}
	var compared struct {
		Kinds, Objects int
		Different      []string
	}
	caller.Step(ctx, "compared", &compared)
	if compared.Kinds < 50 || compared.Objects < 50 || len(compared.Different) > 0 {
		t.Errorf("compared %+v", compared)
	}
	var checked struct {
		Code, Types, Failed int
		Output              string
	}
	caller.Step(ctx, "checked", &checked)
	if checked.Code != 0 || checked.Failed != 0 || checked.Types < 300 {
		t.Errorf("the types of the cluster: %+v", checked)
	}
	caller.Ends(ctx)
}
