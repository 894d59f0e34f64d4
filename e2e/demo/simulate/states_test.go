package simulate

import (
	"encoding/json"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
)

func TestObserve_ReportsWhatABackupIs(t *testing.T) {
	for name, test := range map[string]struct {
		namespace, name string
		at              metav1.Time
		reason          string
	}{
		"a backup that fails":              {"billing", "ledger", now, "CredentialsExpired"},
		"a backup while storage is fast":   {"shop", "catalogue", now, "BackupSucceeded"},
		"a backup while storage is slow":   {"shop", "catalogue", later(slowPeriod), "StorageSlow"},
		"any other backup":                 {"shop", "orders", later(slowPeriod), "BackupSucceeded"},
		"a backup that a user has created": {"default", "mine", now, "BackupSucceeded"},
	} {
		t.Run(name, func(t *testing.T) {
			backup := &unstructured.Unstructured{Object: map[string]any{}}
			backup.SetNamespace(test.namespace)
			backup.SetName(test.name)
			var status backupStatus
			observe(backup, &status, test.at)
			ready := meta.FindStatusCondition(status.Conditions, "Ready")
			degraded := meta.IsStatusConditionTrue(status.Conditions, "Degraded")
			if ready.Reason != test.reason || degraded == (ready.Status == metav1.ConditionTrue) {
				t.Errorf("conditions: %+v", status.Conditions)
			}
			if (status.LastSuccess != nil) != (ready.Status == metav1.ConditionTrue) {
				t.Errorf("last success: %v", status.LastSuccess)
			}
		})
	}
}

func TestReleaseOf_ChangesTheImageWithEachRevision(t *testing.T) {
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{revisionKey: "7"}}}
	deployment.Spec.Template.Spec.Containers = []corev1.Container{{Name: releasedName, Image: "old", Args: []string{"kept"}}}
	changed := patched(t, deployment, releaseOf(deployment))
	container := changed.Spec.Template.Spec.Containers[0]
	if !strings.HasSuffix(container.Image, ":1.5.7") || len(changed.Spec.Template.Spec.Containers) != 1 || len(container.Args) != 1 {
		t.Errorf("containers: %+v", changed.Spec.Template.Spec.Containers)
	}
}

func TestStatusPatch_AddsPressureAndKeepsOtherConditions(t *testing.T) {
	node := &corev1.Node{Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{
		{Type: corev1.NodeMemoryPressure, Status: corev1.ConditionFalse}, {Type: corev1.NodeReady, Status: corev1.ConditionTrue},
	}}}
	changed := patched(t, node, statusPatch(1234, true, now))
	if !underPressure(changed) || len(changed.Status.Conditions) != 2 || !hasStatus(changed, 1234) {
		t.Errorf("status: %+v", changed.Status)
	}
	if relieved := patched(t, node, statusPatch(1234, false, now)); underPressure(relieved) {
		t.Errorf("another node is under pressure: %+v", relieved.Status.Conditions)
	}
}

// patched returns an object after a strategic merge patch, as the API server applies it.
func patched[T any](t *testing.T, object *T, patch map[string]any) *T {
	t.Helper()
	was, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(patch)
	if err != nil {
		t.Fatal(err)
	}
	became, err := strategicpatch.StrategicMergePatch(was, text, *object)
	if err != nil {
		t.Fatal(err)
	}
	changed := new(T)
	if err := json.Unmarshal(became, changed); err != nil {
		t.Fatal(err)
	}
	return changed
}
