package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1/kubeconnectv1connect"
)

// states are what the demo shows: each filter is true for an object of the resource sooner or later.
var states = map[string]struct{ resource, filter string }{
	"a crash loop whose restarts rise": {"pods", `object.status.containerStatuses.exists(c, c.restartCount >= 2 &&
		c.state.waiting.reason == "CrashLoopBackOff" && c.lastState.terminated.reason == "Error" && c.lastState.terminated.exitCode == 2)`},
	"a container without enough memory": {"pods", `object.status.containerStatuses.exists(c, c.lastState.terminated.reason == "OOMKilled" && c.lastState.terminated.exitCode == 137)`},
	"an image that cannot be pulled":    {"pods", `object.status.phase == "Pending" && object.status.containerStatuses.exists(c, c.state.waiting.reason == "ImagePullBackOff")`},
	"a pod that cannot be scheduled":    {"pods", `object.status.conditions.exists(c, c.reason == "Unschedulable" && c.message.contains("Insufficient nvidia.com/gpu"))`},
	"a pod that is not ready":           {"pods", `object.status.containerStatuses.exists(c, !c.ready && has(c.state.running)) && object.metadata.name.startsWith("recommendations-")`},
	"a rollout after the first":         {"deployments.apps", `object.metadata.name == "checkout" && int(object.metadata.annotations["deployment.kubernetes.io/revision"]) >= 2`},
	"a rollout in progress":             {"deployments.apps", `object.metadata.name == "checkout" && object.status.updatedReplicas < object.spec.replicas`},
	"a job that a CronJob has started":  {"jobs.batch", `object.metadata.name.startsWith("usage-report-") && object.status.succeeded == 1`},
	"a job that failed":                 {"jobs.batch", `object.status.conditions.exists(c, c.type == "Failed" && c.reason == "BackoffLimitExceeded")`},
	"a suspended CronJob":               {"cronjobs.batch", `object.spec.suspend`},
	"a complete StatefulSet":            {"statefulsets.apps", `object.status.readyReplicas == 3`},
	"a bound claim":                     {"persistentvolumeclaims", `object.status.phase == "Bound"`},
	"a pending claim":                   {"persistentvolumeclaims", `object.status.phase == "Pending" && object.metadata.name == "archive"`},
	"a backup that is ready":            {"backups.storage.example.com", `object.status.conditions.exists(c, c.type == "Ready" && c.status == "True")`},
	"a backup that is degraded":         {"backups.storage.example.com", `object.status.conditions.exists(c, c.type == "Degraded" && c.status == "True" && c.reason == "CredentialsExpired")`},
	"a node under memory pressure":      {"nodes", `object.status.conditions.exists(c, c.type == "MemoryPressure" && c.status == "True") && object.spec.taints.exists(t, t.key == "node.kubernetes.io/memory-pressure")`},
	"a cordoned node":                   {"nodes", `object.spec.unschedulable`},
	"a budget that permits no eviction": {"poddisruptionbudgets.policy", `object.status.disruptionsAllowed == 0`},
	"an autoscaler without metrics":     {"horizontalpodautoscalers.autoscaling", `object.status.conditions.exists(c, c.type == "ScalingActive" && c.status == "False")`},
	"an ingress":                        {"ingresses.networking.k8s.io", `object.spec.rules.exists(r, r.host == "shop.example.com")`},
	"a warning of a crash loop":         {"events", `object.type == "Warning" && object.reason == "BackOff"`},
	"a warning of a probe":              {"events", `object.type == "Warning" && object.reason == "Unhealthy"`},
	"a warning of a claim":              {"events", `object.type == "Warning" && object.reason == "ProvisioningFailed"`},
	"a warning of a node":               {"events", `object.type == "Warning" && object.reason == "EvictionThresholdMet"`},
}

// TestDemo_ShowsEachState runs what `make run` runs, and reads it through the service.
func TestDemo_ShowsEachState(t *testing.T) {
	address, kubeconfig := startCluster(t, 4)
	client := kubeconnectv1connect.NewResourceServiceClient(dial(address))
	ctx := kit.Deadline(t)
	for name, state := range states {
		kit.Eventually(ctx, t, "there is "+name, func() error {
			list, err := client.List(ctx, &kubeconnectv1.ListRequest{Resource: state.resource, Filter: state.filter})
			if err == nil && len(list.GetObjects()) == 0 {
				return fmt.Errorf("no object matches %s; %q", state.filter, list.GetWarnings())
			}
			return err
		})
	}
	t.Run("logs", func(t *testing.T) { checkLogs(ctx, t, client, address) })
	t.Run("a terminal", func(t *testing.T) { checkTerminal(ctx, t, kubeconfig) })
	t.Run("hints", func(t *testing.T) { checkHints(ctx, t, client) })
	t.Run("a second run", func(t *testing.T) { checkSecondSeed(ctx, t, client, address) })
}

// start runs the demo with a number of nodes until the test ends, and returns the address of its
// service.
func start(t *testing.T, nodes int) (address string) {
	t.Helper()
	address, _ = startCluster(t, nodes)
	return address
}

// startCluster is start, and returns the kubeconfig of the demo's cluster too.
func startCluster(t *testing.T, nodes int) (address, kubeconfig string) {
	t.Helper()
	t.Chdir("../..") // the demo runs at the root
	t.Setenv("KUBECONFIG", "")
	ctx, cancel := context.WithCancel(t.Context())
	started, ended := make(chan [2]string, 1), make(chan error, 1)
	go func() {
		ended <- run(ctx, settings{listen: "127.0.0.1:0", dir: t.TempDir(), nodes: nodes}, func(address, kubeconfig string, _ bool) {
			started <- [2]string{address, kubeconfig}
		})
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	select {
	case demo := <-started:
		return demo[0], demo[1]
	case err := <-ended:
		ended <- nil
		t.Fatal("the demo did not start: ", err)
		return "", ""
	}
}

// checkLogs reads the log of each running pod of the demo, and follows one; a container that
// crashed has the log of its previous run.
func checkLogs(ctx context.Context, t *testing.T, client kubeconnectv1connect.ResourceServiceClient, address string) {
	pods := kubeconnectv1connect.NewPodServiceClient(dial(address))
	running := list(ctx, t, client, `object.status.containerStatuses.all(c, has(c.state.running)) && !object.metadata.name.startsWith("checkout-")`)
	for _, pod := range running {
		request := &kubeconnectv1.GetLogsRequest{Namespace: pod.GetNamespace(), Name: pod.GetName()}
		kit.Eventually(ctx, t, "the log of "+pod.GetName()+" has a line", func() error { return hasLine(ctx, pods, request) })
	}
	for _, pod := range list(ctx, t, client, `object.metadata.name.startsWith("ledger-") && object.status.containerStatuses[0].restartCount > 0`) {
		previous := &kubeconnectv1.GetLogsRequest{Namespace: pod.GetNamespace(), Name: pod.GetName(), Previous: true}
		if log, err := kit.ReadLog(ctx, pods, previous); err != nil || !strings.HasSuffix(log, "exit status 2\n") {
			t.Errorf("the previous log of %s is %q, %v", pod.GetName(), log, err)
		}
	}
	none := int64(0)
	followed := kit.OpenLog(ctx, t, pods, &kubeconnectv1.GetLogsRequest{Namespace: "data", Name: "postgres-0", Follow: true, TailLines: &none})
	for followed.Read.Len() == 0 && followed.Next() {
	}
	if !strings.Contains(followed.Read.String(), " UTC [") {
		t.Errorf("followed %q, %v", followed.Read.String(), followed.Stream.Err())
	}
}

func list(ctx context.Context, t *testing.T, client kubeconnectv1connect.ResourceServiceClient, filter string) []*kubeconnectv1.Object {
	t.Helper()
	answer, err := client.List(ctx, &kubeconnectv1.ListRequest{Resource: "pods", Filter: filter})
	if err != nil || len(answer.GetObjects()) == 0 {
		t.Fatalf("no pod matches %s: %v", filter, err)
	}
	return answer.GetObjects()
}

func hasLine(ctx context.Context, pods kubeconnectv1connect.PodServiceClient, request *kubeconnectv1.GetLogsRequest) error {
	log, err := kit.ReadLog(ctx, pods, request)
	if err == nil && !strings.Contains(log, "\n") {
		return errors.New("it is empty")
	}
	return err
}

// checkTerminal runs commands in a container of the demo, as its hints do.
func checkTerminal(ctx context.Context, t *testing.T, kubeconfig string) {
	devcluster, err := harness.Binary("DEVCLUSTER_BIN", "devcluster")
	if err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(ctx, devcluster, "kubectl", "--kubeconfig", kubeconfig, "-n", "shop", "exec", "-i", "deployment/web", "--", "sh")
	command.Env = append(command.Environ(), "KUBERC=off", "KUBECACHEDIR="+t.TempDir())
	command.Stdin = strings.NewReader("hostname\ncat /app/image\nexit 3\n")
	printed, err := command.Output()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 3 || !strings.HasPrefix(string(printed), "web-") || !strings.HasSuffix(string(printed), "/shop/web:1.4.2\n") {
		t.Errorf("%q, %v", printed, err)
	}
}

var hintedObject = regexp.MustCompile(`/o/([^/\s]+)/([^/\s]+)/([^/\s]+)`)

// checkHints reads each object and each resource that the hints refer to.
func checkHints(ctx context.Context, t *testing.T, client kubeconnectv1connect.ResourceServiceClient) {
	var text bytes.Buffer
	if err := hints.Execute(&text, map[string]any{"Filled": true}); err != nil {
		t.Fatal(err)
	}
	objects := hintedObject.FindAllStringSubmatch(text.String(), -1)
	if len(objects) < 5 {
		t.Errorf("%d objects in the hints", len(objects))
	}
	for _, hinted := range objects {
		if _, err := client.Get(ctx, &kubeconnectv1.GetRequest{Resource: hinted[1], Namespace: hinted[2], Name: hinted[3]}); err != nil {
			t.Errorf("%s: %v", hinted[0], err)
		}
	}
	for _, hinted := range regexp.MustCompile(`/r/([a-z.]+)`).FindAllStringSubmatch(text.String(), -1) {
		if _, err := client.List(ctx, &kubeconnectv1.ListRequest{Resource: hinted[1]}); err != nil {
			t.Errorf("%s: %v", hinted[0], err)
		}
	}
}

// checkSecondSeed applies the objects again after another manager has changed one of them.
func checkSecondSeed(ctx context.Context, t *testing.T, client kubeconnectv1connect.ResourceServiceClient, address string) {
	kit.Patch(ctx, t, client, &kubeconnectv1.PatchRequest{
		Resource: "deployments.apps", Namespace: "shop", Name: "web", Type: kubeconnectv1.PatchType_PATCH_TYPE_MERGE,
		Body: &kubeconnectv1.PatchRequest_Data{Data: []byte(`{"spec":{"replicas":5}}`)}, FieldManager: "kubectl",
	})
	if err := seed(ctx, address); err != nil {
		t.Fatal(err)
	}
	answer, err := client.List(ctx, &kubeconnectv1.ListRequest{
		Resource: "deployments.apps", Namespace: "shop", Filter: `object.metadata.name == "web" && object.spec.replicas == 3`,
		Consistency: kubeconnectv1.Consistency_CONSISTENCY_LATEST,
	})
	if err != nil || len(answer.GetObjects()) != 1 {
		t.Errorf("the replicas are not those of the manifest: %v", err)
	}
}
