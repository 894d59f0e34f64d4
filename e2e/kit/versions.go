package kit

import (
	"context"
	"maps"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/kubeconnect/kubeconnect/e2e/record"
	"github.com/kubeconnect/kubeconnect/e2e/validate"
)

// Versions maps objects to their resource versions.
type Versions map[validate.Key]string

// ConfigMapVersions lists a namespace's ConfigMaps at the API server.
func ConfigMapVersions(ctx context.Context, t *testing.T, namespace, labelSelector string) Versions {
	t.Helper()
	list, err := Cluster(t).Client.CoreV1().ConfigMaps(namespace).List(ctx, metav1.ListOptions{LabelSelector: labelSelector})
	if err != nil {
		t.Fatal(err)
	}
	held := Versions{}
	for _, item := range list.Items {
		held.Add(&item)
	}
	return held
}

// HeldVersions returns the versions of the client's objects.
func HeldVersions(model validate.Model) Versions {
	held := Versions{}
	for key, object := range model.Objects {
		held[key] = object.GetResourceVersion()
	}
	return held
}

// UntilHeld blocks until the client of a watch has exactly these objects.
func UntilHeld(ctx context.Context, stream *record.Stream, want Versions) record.View {
	return stream.Until(ctx, "the client has the objects of the cluster", func(view *record.View) bool {
		return view.Model.Synced && maps.Equal(HeldVersions(view.Model), want)
	})
}

// VersionsOf returns the versions of objects.
func VersionsOf[T metav1.Object](objects ...T) Versions {
	held := Versions{}
	for _, object := range objects {
		held.Add(object)
	}
	return held
}

// Add adds or replaces the version of an object.
func (v Versions) Add(object metav1.Object) {
	v[validate.Key{Namespace: object.GetNamespace(), Name: object.GetName()}] = object.GetResourceVersion()
}

// IsNewer reports whether a resource version is newer than another.
func IsNewer(t *testing.T, version, than string) bool {
	t.Helper()
	order, err := resourceversion.CompareResourceVersion(version, than)
	if err != nil {
		t.Fatal(err)
	}
	return order > 0
}
