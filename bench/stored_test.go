package main

import (
	"bytes"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestChangeableDigits_ChangeOnlyTheAnnotation(t *testing.T) {
	pod := podOf(7, full.pods)
	pod.ManagedFields = []metav1.ManagedFieldsEntry{{
		FieldsV1: metav1.NewFieldsV1(`{"f:metadata":{"f:annotations":{"f:` + changeAnnotation + `":{}}}}`),
	}}
	encoded, err := pod.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	before := bytes.Clone(encoded)
	digits, err := changeableDigits(encoded)
	if err != nil {
		t.Fatal(err)
	}
	copy(digits, digitsOf(42))
	var changed corev1.Pod
	if err := changed.Unmarshal(encoded); err != nil {
		t.Fatal(err)
	}
	if got := changed.Annotations[changeAnnotation]; got != "000000000042" {
		t.Errorf("the annotation is %q, want 000000000042", got)
	}
	copy(digits, unchanged)
	if !bytes.Equal(encoded, before) {
		t.Error("bytes other than the annotation have changed")
	}
}

func TestChangeableDigits_RequireTheAnnotation(t *testing.T) {
	encoded, err := (&corev1.Pod{}).Marshal()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := changeableDigits(encoded); err == nil {
		t.Error("changeableDigits returned no error")
	}
}
