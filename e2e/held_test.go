package e2e_test

import (
	"context"
	"maps"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeconnect/kubeconnect/e2e/record"
	"github.com/kubeconnect/kubeconnect/e2e/validate"
)

// versions maps objects to their resource versions.
type versions map[validate.Key]string

// configMapVersions lists a namespace's ConfigMaps at the API server.
func configMapVersions(ctx context.Context, t *testing.T, namespace, labelSelector string) versions {
	t.Helper()
	list, err := cluster(t).Client.CoreV1().ConfigMaps(namespace).List(ctx, metav1.ListOptions{LabelSelector: labelSelector})
	if err != nil {
		t.Fatal(err)
	}
	held := versions{}
	for _, item := range list.Items {
		held.add(&item)
	}
	return held
}

// heldVersions returns the versions of the client's objects.
func heldVersions(model validate.Model) versions {
	held := versions{}
	for key, object := range model.Objects {
		held[key] = object.GetResourceVersion()
	}
	return held
}

// untilHeld blocks until the client of a watch has exactly these objects.
func untilHeld(ctx context.Context, stream *record.Stream, want versions) record.View {
	return stream.Until(ctx, "the client has the objects of the cluster", func(view *record.View) bool {
		return view.Model.Synced && maps.Equal(heldVersions(view.Model), want)
	})
}

func versionsOf[T metav1.Object](objects ...T) versions {
	held := versions{}
	for _, object := range objects {
		held.add(object)
	}
	return held
}

func (v versions) add(object metav1.Object) {
	v[validate.Key{Namespace: object.GetNamespace(), Name: object.GetName()}] = object.GetResourceVersion()
}
