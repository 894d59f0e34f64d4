package kit

import (
	"context"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Create creates an object at the API server. It repeats a request that the API server has ended
// because it took too long, as those with large objects do on a busy machine; get reads an object
// that such a request has created after all.
func Create[T any](ctx context.Context, t *testing.T, create, get func() (T, error)) T {
	t.Helper()
	var object T
	Eventually(ctx, t, "the object is created", func() (err error) {
		if object, err = create(); apierrors.IsAlreadyExists(err) {
			object, err = get()
		}
		if err != nil && !apierrors.IsTimeout(err) && !apierrors.IsServerTimeout(err) {
			t.Fatal(err)
		}
		return err
	})
	return object
}
