package main

import (
	"bytes"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

func TestWithoutManagedFields_KeepsTheRestOfThePod(t *testing.T) {
	lean := stored(t, podOf(7, full.pods))
	pod := podOf(7, full.pods)
	pod.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kubelet", FieldsV1: metav1.NewFieldsV1(`{"f:status":{}}`)}}
	got, err := withoutManagedFields(stored(t, pod))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, lean) {
		t.Errorf("got\n%q\nwant\n%q", got, lean)
	}
}

func TestWithoutManagedFields_RejectsJSON(t *testing.T) {
	if _, err := withoutManagedFields([]byte(`{"kind":"Pod"}`)); err == nil {
		t.Error("withoutManagedFields returned no error")
	}
}

// stored returns a pod in etcd's encoding.
func stored(t *testing.T, pod interface{ Marshal() ([]byte, error) }) []byte {
	t.Helper()
	raw, err := pod.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	envelope := runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: "v1", Kind: "Pod"}, Raw: raw}
	encoded, err := envelope.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	return append(bytes.Clone(storedPrefix), encoded...)
}

func TestPodsReadAt_DependOnEveryPod(t *testing.T) {
	l := &lab{scale: quick}
	all := l.placesIn(fanOutNamespace)
	if got := l.podsReadAt(all); got.count != fanOutPods || got.checksum == l.podsReadAt(append(all[1:], all[1])).checksum {
		t.Errorf("got %+v for %d pods, and the same checksum for other pods", got, fanOutPods)
	}
}

func TestProgramCosts_LeaveOutProgramsThatWereStopped(t *testing.T) {
	costs := programCosts[float64]{pythonObjects: {1, 2}, pythonOfficial: {20}}
	var r report
	for _, pair := range []programPair{{ours: pythonObjects, theirs: pythonOfficial}, {ours: pythonObjects, theirs: pythonKr8s}} {
		costs.addCompared(&r, pair, "list", "ms", "", func(cost float64) float64 { return cost })
	}
	if len(r.rows) != 1 || len(r.rows[0].ours) != 1 || r.rows[0].theirs[0] != 20 {
		t.Errorf("got %v, want one row with one round", r.rows)
	}
}
