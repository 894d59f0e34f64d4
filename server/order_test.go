package server

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/server/internal/objecttest"
	"github.com/kubeconnect/kubeconnect/server/sorted"
)

// FuzzOrder parses any order_by, or returns a bad request.
func FuzzOrder(f *testing.F) {
	for _, seed := range []string{"", "a", "a desc,b", "metadata.labels['a,b'] desc", `a\,b`, "'", `a["`, ",,", "{.a} desc", "a\t desc"} {
		f.Add(seed)
	}
	object := objecttest.PodObject(f, objecttest.Pod("a", 1))
	f.Fuzz(func(t *testing.T, text string) {
		o, err := sorted.Parse(text)
		if err == nil {
			_, err = sortObjects(t.Context(), o, []*informerhub.Object{object, object})
		}
		if err != nil && !apierrors.IsBadRequest(err) {
			t.Errorf("returned %v, which is not a BadRequest", err)
		}
		if o.Paths() > 8 {
			t.Errorf("%d paths", o.Paths())
		}
	})
}

func sortedNames(t *testing.T, text string, objects ...*informerhub.Object) ([]string, error) {
	t.Helper()
	o, err := sorted.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	inOrder, err := sortObjects(t.Context(), o, objects)
	var names []string
	for _, object := range inOrder {
		names = append(names, object.Name())
	}
	return names, err
}

func TestOrder_EqualObjectsKeepTheDefaultOrder(t *testing.T) {
	var objects []*informerhub.Object
	for i := range 6 {
		pod := objecttest.Pod(fmt.Sprint("pod-", i), i)
		pod.Spec.NodeName = fmt.Sprint("node-", i%2)
		objects = append(objects, objecttest.PodObject(t, pod))
	}
	for text, want := range map[string]string{
		"":                   "pod-0 pod-1 pod-2 pod-3 pod-4 pod-5",
		"spec.nosuch":        "pod-0 pod-1 pod-2 pod-3 pod-4 pod-5",
		"spec.nosuch desc":   "pod-0 pod-1 pod-2 pod-3 pod-4 pod-5",
		"metadata.name desc": "pod-5 pod-4 pod-3 pod-2 pod-1 pod-0",
		"spec.nodeName desc": "pod-1 pod-3 pod-5 pod-0 pod-2 pod-4",
		"spec.nodeName,metadata.resourceVersion desc": "pod-4 pod-2 pod-0 pod-5 pod-3 pod-1",
	} {
		if got, err := sortedNames(t, text, objects...); err != nil || strings.Join(got, " ") != want {
			t.Errorf("%q: got %v, %v; want %s", text, got, err, want)
		}
	}
}

func TestOrder_ObjectsAsSortKeysAreBadRequests(t *testing.T) {
	for _, path := range []string{"spec", "metadata", "spec.containers", "status"} {
		pod := objecttest.Pod("a", 1)
		pod.Spec.Containers = append(pod.Spec.Containers, someContainer())
		_, err := sortedNames(t, "metadata.name,"+path, objecttest.PodObject(t, pod))
		if !apierrors.IsBadRequest(err) || !strings.Contains(err.Error(), fmt.Sprintf("%q is an object", path)) {
			t.Errorf("%s returned %v", path, err)
		}
	}
}

func TestOrder_SortingEndsWhenTheClientDisconnects(t *testing.T) {
	var objects []*informerhub.Object
	for i := range 3 * comparisonsBetweenYields {
		objects = append(objects, objecttest.PodObject(t, objecttest.Pod(fmt.Sprint("pod-", i), i)))
	}
	o, err := sorted.Parse("metadata.name")
	if err != nil {
		t.Fatal(err)
	}
	for _, looks := range []int{0, 1, 5} { // at the first, while keys are read, and while they are compared
		ctx := &leaving{Context: t.Context(), looks: looks}
		if sorted, err := sortObjects(ctx, o, objects); !errors.Is(err, context.Canceled) || sorted != nil {
			t.Errorf("after %d checks: %d objects, %v", looks, len(sorted), err)
		}
	}
}

// leaving is a context that is done after it was checked the given number of times.
type leaving struct {
	context.Context
	looks int
}

func (l *leaving) Err() error {
	if l.looks--; l.looks < 0 {
		return context.Canceled
	}
	return nil
}

// someContainer returns a container of typical size.
func someContainer() corev1.Container {
	c := corev1.Container{Name: "main", Image: "registry.example.com/shop/web:1.2.3"}
	for i := range 20 {
		c.Env = append(c.Env, corev1.EnvVar{Name: fmt.Sprint("VARIABLE_", i), Value: "some value of a variable"})
	}
	return c
}

// BenchmarkSort compares the first page of a sorted list with reading the values that it is sorted
// by.
func BenchmarkSort(b *testing.B) {
	var objects []*informerhub.Object
	for i := range 20_000 {
		pod := objecttest.Pod(fmt.Sprintf("pod-%05d", i), i)
		pod.Spec.NodeName = fmt.Sprint("node-", rand.IntN(500))
		pod.Spec.Containers = append(pod.Spec.Containers, someContainer())
		objects = append(objects, objecttest.PodObject(b, pod))
	}
	for _, text := range []string{"metadata.name desc", "spec.nodeName", "status.phase,metadata.creationTimestamp desc"} {
		b.Run(text, func(b *testing.B) {
			o, err := sorted.Parse(text)
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				if _, err := sortObjects(b.Context(), o, slices.Clone(objects)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
