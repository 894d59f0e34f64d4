package nodes

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/component-base/version"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"
)

const (
	// leasePeriod is well within the 50 seconds after which the node lifecycle controller treats a
	// silent node as lost.
	leasePeriod   = 20 * time.Second
	leaseDuration = 40 * time.Second
	// hostIP is the address of the kubelets for the API server. Nothing listens there.
	hostIP = "127.0.0.1"
)

// capacity is so large that the scheduler never exhausts it.
var capacity = corev1.ResourceList{
	corev1.ResourceCPU:    resource.MustParse("1000"),
	corev1.ResourceMemory: resource.MustParse("4Ti"),
	corev1.ResourcePods:   resource.MustParse("10000"),
}

func (a *agent) makeNode(ctx context.Context, index int) error {
	name := fmt.Sprintf("node-%d", index)
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
		corev1.LabelHostname:   name,
		corev1.LabelOSStable:   "linux",
		corev1.LabelArchStable: runtime.GOARCH,
	}}}
	_, err := a.client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// playNode makes a node ready if it is not.
func (a *agent) playNode(ctx context.Context, key string) error {
	object, exists, err := a.nodes.GetStore().GetByKey(key)
	if err != nil || !exists || isReady(object.(*corev1.Node)) {
		return err
	}
	node := object.(*corev1.Node).DeepCopy()
	makeReady(node, metav1.Now())
	_, err = a.client.CoreV1().Nodes().UpdateStatus(ctx, node, metav1.UpdateOptions{})
	return err
}

func isReady(node *corev1.Node) bool {
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}

// makeReady sets the status of a node, and keeps the capacity with which the node was created.
func makeReady(node *corev1.Node, now metav1.Time) {
	if len(node.Status.Capacity) == 0 {
		node.Status.Capacity = capacity.DeepCopy()
	}
	if len(node.Status.Allocatable) == 0 {
		node.Status.Allocatable = node.Status.Capacity.DeepCopy()
	}
	node.Status.Conditions = nodeConditions(now)
	node.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: hostIP}}
	node.Status.NodeInfo.KubeletVersion = version.Get().GitVersion
	node.Status.NodeInfo.OperatingSystem = "linux"
	node.Status.NodeInfo.Architecture = runtime.GOARCH
	node.Status.NodeInfo.OSImage = "none"
	node.Status.NodeInfo.ContainerRuntimeVersion = "none://0"
}

func nodeConditions(now metav1.Time) []corev1.NodeCondition {
	condition := func(kind corev1.NodeConditionType, status corev1.ConditionStatus, reason string) corev1.NodeCondition {
		return corev1.NodeCondition{Type: kind, Status: status, Reason: reason, LastHeartbeatTime: now, LastTransitionTime: now}
	}
	return []corev1.NodeCondition{
		condition(corev1.NodeMemoryPressure, corev1.ConditionFalse, "KubeletHasSufficientMemory"),
		condition(corev1.NodeDiskPressure, corev1.ConditionFalse, "KubeletHasNoDiskPressure"),
		condition(corev1.NodePIDPressure, corev1.ConditionFalse, "KubeletHasSufficientPID"),
		condition(corev1.NodeReady, corev1.ConditionTrue, "KubeletReady"),
	}
}

// keepLeases renews every node's lease periodically until ctx is done.
func (a *agent) keepLeases(ctx context.Context) {
	ticker := time.NewTicker(leasePeriod)
	defer ticker.Stop()
	for {
		a.renewLeases(ctx)
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

func (a *agent) renewLeases(ctx context.Context) {
	for _, object := range a.nodes.GetStore().List() {
		node := object.(*corev1.Node)
		if err := a.renewLease(ctx, node); err != nil && ctx.Err() == nil {
			klog.ErrorS(err, "Cannot renew the lease; retrying in the next period", "node", node.Name)
		}
	}
}

func (a *agent) renewLease(ctx context.Context, node *corev1.Node) error {
	leases := a.client.CoordinationV1().Leases(corev1.NamespaceNodeLease)
	lease := newLease(node, metav1.NowMicro())
	renewal, err := json.Marshal(map[string]any{"spec": map[string]any{"renewTime": lease.Spec.RenewTime}})
	if err != nil {
		return err
	}
	_, err = leases.Patch(ctx, node.Name, types.MergePatchType, renewal, metav1.PatchOptions{})
	if apierrors.IsNotFound(err) {
		_, err = leases.Create(ctx, lease, metav1.CreateOptions{})
	}
	return err
}

// newLease returns a lease that is deleted with its node.
func newLease(node *corev1.Node, now metav1.MicroTime) *coordinationv1.Lease {
	owner := metav1.OwnerReference{APIVersion: "v1", Kind: "Node", Name: node.Name, UID: node.UID}
	return &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Name: node.Name, OwnerReferences: []metav1.OwnerReference{owner}},
		Spec: coordinationv1.LeaseSpec{
			HolderIdentity:       ptr.To(node.Name),
			LeaseDurationSeconds: ptr.To(int32(leaseDuration.Seconds())),
			RenewTime:            &now,
		},
	}
}
