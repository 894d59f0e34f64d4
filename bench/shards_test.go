package main

import (
	"bytes"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/kubernetes/scheme"
)

func TestShardOf_EachObjectIsInOnePart(t *testing.T) {
	for _, parts := range []int{1, 2, 3, 4, 7} {
		in := make([]int, parts)
		for range 1000 {
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: uuid.NewUUID()}}
			found := 0
			for number := range parts {
				matches, err := shardOf(number, parts).Matches(pod)
				if err != nil {
					t.Fatal(err)
				}
				if matches {
					found++
					in[number]++
				}
			}
			if found != 1 {
				t.Errorf("%s is in %d of %d parts", pod.UID, found, parts)
			}
		}
		for number, count := range in {
			if count == 0 {
				t.Errorf("part %d of %d is empty", number, parts)
			}
		}
	}
}

func TestPodDecoder_ReadsWhatTheAPIServerSends(t *testing.T) {
	pod := func(number int) corev1.Pod {
		return corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{UID: types.UID(fmt.Sprint("uid-", number)), ResourceVersion: "7"},
			Spec:       corev1.PodSpec{NodeName: "n"},
		}
	}
	list := &corev1.PodList{
		ListMeta: metav1.ListMeta{ResourceVersion: "9", ShardInfo: &metav1.ShardInfo{Selector: "s"}},
		Items:    []corev1.Pod{pod(0), pod(1)},
	}
	read := decodePod(t, list).(*cachedPods)
	if read.ResourceVersion != "9" || read.ShardInfo == nil || read.ShardInfo.Selector != "s" || len(read.Items) != 2 {
		t.Errorf("the list is %+v", read)
	}
	one := pod(1)
	for _, found := range []*cachedPod{&read.Items[1], decodePod(t, &one).(*cachedPod)} {
		if found.UID != "uid-1" || found.ResourceVersion != "7" || len(found.content) != one.Size() {
			t.Errorf("the pod is %+v, want %+v", found, one)
		}
	}
	if status, ok := decodePod(t, &metav1.Status{Code: 410}).(*metav1.Status); !ok || status.Code != 410 {
		t.Errorf("the status is %+v", status)
	}
}

// decodePod encodes an object as the API server does, and decodes it.
func decodePod(t *testing.T, object runtime.Object) runtime.Object {
	t.Helper()
	kinds, _, err := scheme.Scheme.ObjectKinds(object)
	if err != nil {
		t.Fatal(err)
	}
	object.GetObjectKind().SetGroupVersionKind(kinds[0])
	var body bytes.Buffer
	if err := protobuf.NewSerializer(scheme.Scheme, scheme.Scheme).Encode(object, &body); err != nil {
		t.Fatal(err)
	}
	read, _, err := podDecoder{}.Decode(body.Bytes(), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return read
}

func TestReflected_ChecksThatPartsAreCompleteAndDisjoint(t *testing.T) {
	sharded := partReading{Reflectors: 2, Sharded: true, Listed: true}
	for name, test := range map[string]struct {
		how      partReading
		received reflected
		correct  bool
	}{
		"complete and disjoint":    {sharded, reflected{Objects: 10, Distinct: 10, Echoed: 2}, true},
		"an object in two parts":   {sharded, reflected{Objects: 11, Distinct: 10, Echoed: 2}, false},
		"a missing object":         {sharded, reflected{Objects: 9, Distinct: 9, Echoed: 2}, false},
		"an object of another":     {sharded, reflected{Objects: 10, Distinct: 10, Foreign: 1, Echoed: 2}, false},
		"everything to each":       {sharded, reflected{Objects: 20, Distinct: 10, Foreign: 10}, false},
		"everything was asked for": {partReading{Reflectors: 2}, reflected{Objects: 20, Distinct: 10}, true},
	} {
		if err := test.received.check(test.how, 10); (err == nil) != test.correct {
			t.Errorf("%s: %v", name, err)
		}
	}
}
