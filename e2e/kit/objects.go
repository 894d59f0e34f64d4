package kit

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
)

// UntilRead blocks until a read through the service returns an object as it is in the cluster.
// Reads from the cache may be older than a write that was just sent to the API server.
func UntilRead(ctx context.Context, t *testing.T, client ResourceClient, resource string, want metav1.Object) {
	t.Helper()
	Eventually(ctx, t, "the service returns the object", func() error {
		answer, err := client.Get(ctx, &kubeconnectv1.GetRequest{
			Resource: resource, Namespace: want.GetNamespace(), Name: want.GetName(),
		})
		if err != nil {
			return err
		}
		if got := answer.GetObject().GetResourceVersion(); got != want.GetResourceVersion() {
			return fmt.Errorf("%s is at version %s, want %s", want.GetName(), got, want.GetResourceVersion())
		}
		return nil
	})
}

// StatesOf are lines of objects at their versions.
func StatesOf(objects []*kubeconnectv1.Object) (lines []string) {
	for _, object := range objects {
		lines = append(lines, fmt.Sprintf("%s/%s %s at %s", object.GetNamespace(), object.GetName(), object.GetUid(), object.GetResourceVersion()))
	}
	return lines
}

// WantStates fails unless two lists have the same objects in one order, with the same content.
func WantStates(t *testing.T, got, want []*kubeconnectv1.Object) {
	t.Helper()
	if g, w := StatesOf(got), StatesOf(want); !slices.Equal(g, w) {
		t.Errorf("the pages have\n  %s\nwant\n  %s", strings.Join(g, "\n  "), strings.Join(w, "\n  "))
		return
	}
	for i := range got {
		if !proto.Equal(got[i], want[i]) {
			t.Errorf("an object of the pages is\n%v\nwant\n%v", got[i], want[i])
		}
	}
}

// NamesOf returns the names of objects.
func NamesOf(objects []*kubeconnectv1.Object) (names []string) {
	for _, object := range objects {
		names = append(names, object.GetName())
	}
	return names
}

// WantField fails the test unless the field at a path has a value.
func WantField(t *testing.T, object map[string]any, want any, path ...string) {
	t.Helper()
	got, found, err := unstructured.NestedFieldNoCopy(object, path...)
	if err != nil || !found || got != want {
		t.Errorf("%v is %v (%v), want %v", path, got, err, want)
	}
}
