package clients_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

// manifests are objects with fields that messages could lose: zero values that are not the defaults,
// empty maps and values, quantities, and integers or strings.
var manifests = map[schema.GroupVersionResource]string{
	{Version: "v1", Resource: "configmaps"}: `{"kind": "ConfigMap", "metadata": {"name": "settings"},
		"data": {"empty": "", "text": "ü"}, "binaryData": {"bytes": "/wA="}, "immutable": false}`,
	{Version: "v1", Resource: "secrets"}: `{"kind": "Secret", "metadata": {"name": "key"},
		"type": "Opaque", "data": {"key": "AAH/", "empty": ""}}`,
	{Version: "v1", Resource: "services"}: `{"kind": "Service", "metadata": {"name": "web"}, "spec": {
		"selector": {"app": "web"}, "publishNotReadyAddresses": true, "sessionAffinity": "ClientIP",
		"ports": [{"name": "a", "port": 80, "targetPort": "web"}, {"name": "b", "port": 81, "targetPort": 8080}]}}`,
	{Group: "policy", Version: "v1", Resource: "poddisruptionbudgets"}: `{"kind": "PodDisruptionBudget",
		"metadata": {"name": "web"}, "spec": {"minAvailable": "50%", "selector": {"matchLabels": {"app": "web"}}}}`,
	{Group: "apps", Version: "v1", Resource: "deployments"}: `{"kind": "Deployment",
		"metadata": {"name": "web", "annotations": {"empty": ""}}, "spec": {
		"replicas": 2, "revisionHistoryLimit": 0, "selector": {"matchLabels": {"app": "web"}},
		"strategy": {"rollingUpdate": {"maxSurge": "50%", "maxUnavailable": 0}},
		"template": {"metadata": {"labels": {"app": "web"}}, "spec": {
			"automountServiceAccountToken": false, "terminationGracePeriodSeconds": 0,
			"securityContext": {"runAsUser": 0}, "volumes": [
				{"name": "empty", "emptyDir": {}}, {"name": "sized", "emptyDir": {"sizeLimit": "0.5Gi"}},
				{"name": "settings", "configMap": {"name": "settings", "optional": false, "defaultMode": 0}}],
			"containers": [{"name": "main", "image": "example.com/web:1",
				"env": [{"name": "EMPTY", "value": ""}, {"name": "CPU", "valueFrom":
					{"resourceFieldRef": {"resource": "limits.cpu", "divisor": "1m"}}}],
				"ports": [{"name": "web", "containerPort": 8080}],
				"readinessProbe": {"httpGet": {"port": "web"}, "failureThreshold": 1},
				"resources": {"requests": {"cpu": "0.25"}, "limits": {"cpu": "1.5", "memory": "1.5Gi"}}}]}}}}`,
}

// TestPythonClient_MessagesLoseNothing runs a program that stores, watches and waits for messages,
// reads objects and updates them without a change, sets fields to their zero value, and applies a part
// of an object.
func TestPythonClient_MessagesLoseNothing(t *testing.T) {
	t.Parallel()
	service := harness.StartService(t, kit.Cluster(t).Kubeconfig)
	for _, way := range []string{"threads", "asyncio"} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			ctx := kit.Deadline(t)
			namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
			createManifests(ctx, t, namespace)
			before := readManifests(ctx, t, namespace)
			caller := startProgram(t, kit.PythonProgram(t, "python", "typedobjects.py"), way, service.Address, namespace)
			caller.wantStored(ctx, namespace)
			caller.wantUnchanged(ctx, namespace, before)
			caller.wantChanged(ctx, namespace)
			caller.Step(ctx, "applied", &struct{}{})
			wantPartApplied(ctx, t, namespace)
			caller.Ends(ctx)
		})
	}
}

func createManifests(ctx context.Context, t *testing.T, namespace string) {
	t.Helper()
	for resource, manifest := range manifests {
		object := &unstructured.Unstructured{}
		if err := json.Unmarshal([]byte(manifest), &object.Object); err != nil {
			t.Fatal(err)
		}
		object.SetAPIVersion(resource.GroupVersion().String())
		if _, err := kit.Cluster(t).Dynamic.Resource(resource).Namespace(namespace).Create(ctx, object, metav1.CreateOptions{FieldValidation: "Strict"}); err != nil {
			t.Fatal(err)
		}
	}
	kit.Eventually(ctx, t, "the controllers have written the status of all objects", func() error {
		budget, err := kit.Cluster(t).Client.PolicyV1().PodDisruptionBudgets(namespace).Get(ctx, "web", metav1.GetOptions{})
		if web := kit.GetDeployment(ctx, t, namespace, "web").Status; err == nil && (budget.Status.CurrentHealthy != 2 || web.AvailableReplicas != 2) {
			err = fmt.Errorf("%d pods are healthy, and %d available", budget.Status.CurrentHealthy, web.AvailableReplicas)
		}
		return err
	})
}

// readManifests returns the objects of a namespace by their resource and name.
func readManifests(ctx context.Context, t *testing.T, namespace string) map[string]map[string]any {
	t.Helper()
	objects := map[string]map[string]any{}
	for resource := range manifests {
		list, err := kit.Cluster(t).Dynamic.Resource(resource).Namespace(namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, object := range list.Items {
			objects[resource.Resource+"/"+object.GetName()] = object.Object
		}
	}
	return objects
}

// wantStored fails the test unless the program has stored and watched the pods of the cluster.
func (p program) wantStored(ctx context.Context, namespace string) {
	p.t.Helper()
	var stored struct {
		Versions map[string]string
		Placed   map[string][]string
		Ready    int
	}
	p.Step(ctx, "stored", &stored)
	pods, err := kit.Cluster(p.t).Client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		p.t.Fatal(err)
	}
	versions, placed := map[string]string{}, map[string][]string{}
	for _, pod := range pods.Items {
		versions[pod.Name] = pod.ResourceVersion
		placed[pod.Spec.NodeName] = append(placed[pod.Spec.NodeName], pod.Name)
	}
	if !maps.Equal(stored.Versions, versions) || !reflect.DeepEqual(stored.Placed, placed) || stored.Ready != 2 {
		p.t.Errorf("stored %+v, want %v on %v", stored, versions, placed)
	}
	var watched struct{ Pods, Nodes []string }
	p.Step(ctx, "watched", &watched)
	kit.WantNames(p.t, "the program has watched the pods", watched.Pods, slices.Sorted(maps.Keys(versions)))
	for node := range placed {
		if !slices.Contains(watched.Nodes, node) {
			p.t.Errorf("the program has watched the nodes %q, without %s", watched.Nodes, node)
		}
	}
}

// wantUnchanged fails the test if the program has changed an object. The API server does not write an
// object that is equal to the stored one, so that its version stays.
func (p program) wantUnchanged(ctx context.Context, namespace string, before map[string]map[string]any) {
	p.t.Helper()
	var updated struct{ Unchanged map[string][]string }
	p.Step(ctx, "updated", &updated)
	if len(updated.Unchanged) < len(manifests) {
		p.t.Errorf("the program has updated only %v", updated.Unchanged)
	}
	for name, difference := range updated.Unchanged {
		if len(difference) > 0 {
			p.t.Errorf("%s was changed: %s", name, difference)
		}
	}
	after := readManifests(ctx, p.t, namespace)
	for name, object := range before {
		if !reflect.DeepEqual(after[name], object) {
			p.t.Errorf("%s was changed:\n%v\n%v", name, object, after[name])
		}
	}
}

func (p program) wantChanged(ctx context.Context, namespace string) {
	p.t.Helper()
	var changed struct{ Port int }
	p.Step(ctx, "changed", &changed)
	now, err := kit.Cluster(p.t).Client.CoreV1().Services(namespace).Get(ctx, "typed", metav1.GetOptions{})
	if err != nil {
		p.t.Fatal(err)
	}
	if !maps.Equal(now.Labels, map[string]string{"kept": ""}) || len(now.Spec.Selector) != 0 || now.Spec.PublishNotReadyAddresses ||
		now.Spec.AllocateLoadBalancerNodePorts == nil || *now.Spec.AllocateLoadBalancerNodePorts {
		p.t.Errorf("the changed Service has labels %v and %+v", now.Labels, now.Spec)
	}
	if policy := now.Spec.InternalTrafficPolicy; policy == nil || *policy != corev1.ServiceInternalTrafficPolicyCluster {
		p.t.Errorf("the field that was unset has no default: %v", policy)
	}
	if port := now.Spec.Ports[0]; port.TargetPort != intstr.FromInt32(8080) || changed.Port != 8080 || port.Port != 80 || port.Name != "http" {
		p.t.Errorf("the port is %+v, the program has %d", port, changed.Port)
	}
}

// wantPartApplied fails the test unless the manager of the part owns its fields and no others.
func wantPartApplied(ctx context.Context, t *testing.T, namespace string) {
	t.Helper()
	deployment := kit.GetDeployment(ctx, t, namespace, "part")
	if spec := deployment.Spec; *spec.Replicas != 0 || spec.Paused || len(spec.Template.Spec.Containers) != 1 {
		t.Errorf("the Deployment has %+v", spec)
	}
	for _, entry := range deployment.ManagedFields {
		if entry.Manager != "part" {
			continue
		}
		var owned, want any
		if err := json.Unmarshal(entry.FieldsV1.GetRawBytes(), &owned); err != nil {
			t.Fatal(err)
		}
		_ = json.Unmarshal([]byte(`{"f:metadata":{"f:annotations":{"f:part":{}}},"f:spec":{"f:minReadySeconds":{},"f:paused":{},"f:replicas":{}}}`), &want)
		if !reflect.DeepEqual(owned, want) {
			t.Errorf("the part owns %s", entry.FieldsV1.GetRawBytes())
		}
		return
	}
	t.Errorf("the part owns nothing: %v", deployment.ManagedFields)
}
