package nodes

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestNode_MakeReadySetsTheCondition(t *testing.T) {
	node := &corev1.Node{}
	if isReady(node) {
		t.Fatal("a node without conditions is ready")
	}
	makeReady(node, now)
	if !isReady(node) {
		t.Errorf("conditions %+v", node.Status.Conditions)
	}
}

func TestNode_KeepsItsCapacity(t *testing.T) {
	node := &corev1.Node{Status: corev1.NodeStatus{Capacity: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("3")}}}
	makeReady(node, now)
	if got := node.Status.Allocatable.Pods().Value(); got != 3 {
		t.Errorf("capacity of %d pods, want 3", got)
	}
}

func TestLease_IsOwnedByItsNode(t *testing.T) {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-0", UID: "1"}}
	owner := newLease(node, metav1.NowMicro()).OwnerReferences[0]
	if owner.UID != node.UID || owner.Name != node.Name {
		t.Errorf("owners %+v", owner)
	}
}
