package simulate

import (
	"context"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var backupResource = schema.GroupVersionResource{Group: "storage.example.com", Version: "v1", Resource: "backups"}

const (
	// slowPeriod is the time after which the storage of the backup shop/catalogue becomes slow, or
	// fast again.
	slowPeriod = time.Minute
	// successPeriod is the time between two backups, whatever their schedule is.
	successPeriod = 5 * time.Minute
)

// backupStatus is the status of a Backup.
type backupStatus struct {
	LastSuccess        *metav1.Time       `json:"lastSuccess,omitempty"`
	ObservedGeneration int64              `json:"observedGeneration,omitempty"`
	Conditions         []metav1.Condition `json:"conditions,omitempty"`
}

// keepBackups writes the status of all Backups, as their controller would.
func (s *Simulation) keepBackups(ctx context.Context) error {
	backups, err := s.dynamic.Resource(backupResource).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	var failures []error
	for i := range backups.Items {
		if err := s.keepBackup(ctx, &backups.Items[i]); err != nil && !isExpected(err) {
			failures = append(failures, err)
		}
	}
	return errors.Join(failures...)
}

func (s *Simulation) keepBackup(ctx context.Context, backup *unstructured.Unstructured) error {
	was, _, _ := unstructured.NestedMap(backup.Object, "status")
	var status backupStatus
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(was, &status); err != nil {
		return err
	}
	wasReady := meta.IsStatusConditionTrue(status.Conditions, "Ready")
	observe(backup, &status, metav1.Now())
	changed, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&status)
	if err != nil || equality.Semantic.DeepEqual(was, changed) {
		return err
	}
	backup.Object["status"] = changed
	if _, err := s.dynamic.Resource(backupResource).Namespace(backup.GetNamespace()).UpdateStatus(ctx, backup, metav1.UpdateOptions{}); err != nil {
		return err
	}
	if ready := meta.FindStatusCondition(status.Conditions, "Ready"); wasReady && ready.Status == metav1.ConditionFalse {
		s.recorder("backup-controller", "").Event(backup, corev1.EventTypeWarning, ready.Reason, ready.Message)
	}
	return nil
}

// observe sets what the controller observes of a Backup at a time.
func observe(backup *unstructured.Unstructured, status *backupStatus, now metav1.Time) {
	status.ObservedGeneration = backup.GetGeneration()
	for _, condition := range conditionsOf(backup.GetNamespace()+"/"+backup.GetName(), now.Time) {
		condition.ObservedGeneration = backup.GetGeneration()
		condition.LastTransitionTime = now
		meta.SetStatusCondition(&status.Conditions, condition)
	}
	if meta.IsStatusConditionTrue(status.Conditions, "Ready") {
		success := metav1.NewTime(now.UTC().Truncate(successPeriod))
		status.LastSuccess = &success
	}
}

// conditionsOf returns the conditions of the Backup with a name: one fails, one is slow from time to
// time, and all others are well.
func conditionsOf(name string, now time.Time) []metav1.Condition {
	isSlow := now.Unix()/int64(slowPeriod.Seconds())%2 == 1
	switch {
	case name == "billing/ledger":
		return degraded("CredentialsExpired", "The storage refused the credentials: the token has expired.")
	case name == "shop/catalogue" && isSlow:
		return degraded("StorageSlow", "Writing 1 GiB takes longer than 10 minutes.")
	}
	return healthy()
}

func healthy() []metav1.Condition {
	return []metav1.Condition{
		{Type: "Ready", Status: metav1.ConditionTrue, Reason: "BackupSucceeded", Message: "The last backup is complete."},
		{Type: "Degraded", Status: metav1.ConditionFalse, Reason: "AsExpected"},
	}
}

func degraded(reason, message string) []metav1.Condition {
	return []metav1.Condition{
		{Type: "Ready", Status: metav1.ConditionFalse, Reason: reason, Message: message},
		{Type: "Degraded", Status: metav1.ConditionTrue, Reason: reason, Message: message},
	}
}
