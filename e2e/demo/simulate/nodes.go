package simulate

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeconnect/kubeconnect/e2e/kubelet/remote"
)

// capacity is small enough that the pods of the demo use a visible part of it.
var capacity = corev1.ResourceList{
	corev1.ResourceCPU:    resource.MustParse("8"),
	corev1.ResourceMemory: resource.MustParse("32Gi"),
	corev1.ResourcePods:   resource.MustParse("110"),
}

// nodeKeeper gives the nodes their capacity, the address of their kubelets, and the troubles of two of
// them. It is used by one goroutine.
type nodeKeeper struct {
	*Simulation
	cordoned bool // a node is cordoned once: its users may uncordon it
}

func newNodeKeeper(s *Simulation) *nodeKeeper { return &nodeKeeper{Simulation: s} }

func (k *nodeKeeper) keep(ctx context.Context) error {
	list, err := k.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil || len(list.Items) == 0 {
		return err
	}
	failures := []error{k.cordon(ctx, list.Items[len(list.Items)/2].Name)}
	for i := range list.Items {
		failures = append(failures, k.keepNode(ctx, &list.Items[i], i == len(list.Items)/3))
	}
	return errors.Join(failures...)
}

func (k *nodeKeeper) cordon(ctx context.Context, name string) error {
	if k.cordoned {
		return nil
	}
	_, err := k.client.CoreV1().Nodes().Patch(ctx, name, types.StrategicMergePatchType, []byte(`{"spec":{"unschedulable":true}}`), metav1.PatchOptions{})
	k.cordoned = err == nil
	return err
}

// keepNode writes a node's status if it differs.
func (k *nodeKeeper) keepNode(ctx context.Context, node *corev1.Node, hasPressure bool) error {
	pressed := underPressure(node)
	if hasStatus(node, k.kubeletPort) && (!hasPressure || pressed) {
		return nil
	}
	patch, err := json.Marshal(statusPatch(k.kubeletPort, hasPressure, metav1.Now()))
	if err != nil {
		return err
	}
	_, err = k.client.CoreV1().Nodes().Patch(ctx, node.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
	if err == nil && hasPressure && !pressed {
		k.recorder("kubelet", node.Name).Event(nodeReference(node.Name), corev1.EventTypeWarning, "EvictionThresholdMet", "Attempting to reclaim memory")
	}
	return err
}

// hasStatus reports whether a node has the capacity of the demo, and its kubelet is at a port.
func hasStatus(node *corev1.Node, kubeletPort int32) bool {
	return node.Status.DaemonEndpoints.KubeletEndpoint.Port == kubeletPort && node.Status.Capacity.Cpu().Equal(*capacity.Cpu())
}

func underPressure(node *corev1.Node) bool {
	return slices.ContainsFunc(node.Status.Conditions, func(condition corev1.NodeCondition) bool {
		return condition.Type == corev1.NodeMemoryPressure && condition.Status == corev1.ConditionTrue
	})
}

func statusPatch(kubeletPort int32, hasPressure bool, now metav1.Time) map[string]any {
	status := map[string]any{
		"capacity": capacity, "allocatable": capacity,
		"daemonEndpoints":  map[string]any{"kubeletEndpoint": map[string]any{"Port": kubeletPort}},
		"declaredFeatures": []string{remote.WebSocketFeature},
	}
	if hasPressure {
		status["conditions"] = []corev1.NodeCondition{{
			Type: corev1.NodeMemoryPressure, Status: corev1.ConditionTrue, Reason: "KubeletHasInsufficientMemory",
			Message: "kubelet has insufficient memory available", LastHeartbeatTime: now, LastTransitionTime: now,
		}}
	}
	return map[string]any{"status": status}
}
