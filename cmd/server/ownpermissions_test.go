package main

import (
	"errors"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

// permissionsAt returns the service's permissions at an API server that responds to each review.
func permissionsAt(answer func(resource string) (bool, error)) *ownPermissions {
	client := &fake.Clientset{}
	client.AddReactor("create", "selfsubjectaccessreviews", func(action clienttesting.Action) (bool, runtime.Object, error) {
		review := action.(clienttesting.CreateAction).GetObject().(*authorizationv1.SelfSubjectAccessReview).DeepCopy()
		allowed, err := answer(review.Spec.ResourceAttributes.Resource)
		review.Status.Allowed = allowed
		return true, review, err
	})
	return &ownPermissions{client: client, needed: neededPermissions}
}

func TestOwnPermissions_SayWhatIsMissing(t *testing.T) {
	var err error
	denied := map[string]bool{}
	permissions := permissionsAt(func(resource string) (bool, error) { return !denied[resource], err })
	want := func(when string, answered bool, lacking, granted string) {
		t.Helper()
		if got := permissions.check(t.Context()); got != answered {
			t.Errorf("%s: it was answered: %t", when, got)
		}
		if got := text(permissions.lacking()); got != lacking {
			t.Errorf("%s: lacking returns %q", when, got)
		}
		if got := text(permissions.granted()); got != granted {
			t.Errorf("%s: granted returns %q", when, got)
		}
	}
	err = errors.New("unreachable")
	want("before the API server has responded", false, "", "the API server has not confirmed the service's permissions yet")
	err = nil
	want("with all permissions", true, "", "")
	denied["tokenreviews"] = true
	const missing = "the service's account is not allowed to create tokenreviews.authentication.k8s.io"
	want("without one", true, missing, missing)
	err = errors.New("unreachable")
	want("without one, and the API server is unreachable", false, missing, missing)
	err = nil
	clear(denied)
	want("with all again", true, "", "")
	err = apierrors.NewForbidden(schema.GroupResource{Resource: "selfsubjectaccessreviews"}, "", nil)
	want("when the question is refused", true, "", "")
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
