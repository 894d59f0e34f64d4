package kit

import (
	"context"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
)

// CallerOf returns the caller in an event of a request sent by the service.
func CallerOf(t *testing.T, event harness.AuditEvent) authenticationv1.UserInfo {
	own, err := Cluster(t).Client.AuthenticationV1().SelfSubjectReviews().Create(t.Context(), &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if event.User.Username != own.Status.UserInfo.Username {
		t.Errorf("the request was sent by %q, want the service's account %q", event.User.Username, own.Status.UserInfo.Username)
	}
	if event.ImpersonatedUser == nil {
		t.Fatal("the service impersonates no user")
	}
	return *event.ImpersonatedUser
}

// AuditedPatch returns a patch that the API server records.
func AuditedPatch(namespace, value string) *kubeconnectv1.PatchRequest {
	return WithData(&kubeconnectv1.PatchRequest{
		Resource: "configmaps", Namespace: namespace, Name: harness.Audited, Type: MergePatch,
	}, `{"data":{"key":"`+value+`"}}`)
}

// UntilMayPatch blocks until the caller has the permission, without a patch, which would be
// recorded.
func UntilMayPatch(ctx context.Context, t *testing.T, clients harness.Clients, namespace string) {
	t.Helper()
	Eventually(ctx, t, "the caller has permission to patch", func() error {
		answer, err := clients.Access.CheckAccess(ctx, &kubeconnectv1.CheckAccessRequest{Checks: []*kubeconnectv1.AccessCheck{
			{Verb: "patch", Resource: "configmaps", Namespace: namespace, Name: harness.Audited},
		}})
		if err == nil && !answer.GetDecisions()[0].GetAllowed() {
			err = fmt.Errorf("not allowed yet: %v", answer.GetDecisions()[0])
		}
		return err
	})
}

// UntilRecorded blocks until a number of requests of a namespace are recorded, and fails the test
// if there are more.
func UntilRecorded(ctx context.Context, t *testing.T, namespace string, count int) (events []harness.AuditEvent) {
	t.Helper()
	Eventually(ctx, t, "the API server has recorded the requests", func() (err error) {
		events, err = Cluster(t).AuditEvents(namespace)
		if err == nil && len(events) < count {
			err = fmt.Errorf("%d of %d events", len(events), count)
		}
		return err
	})
	if len(events) != count {
		t.Fatalf("%d requests are recorded, want %d", len(events), count)
	}
	return events
}

// WantRecorded fails the test unless an event records the write with the given response.
func WantRecorded(t *testing.T, event harness.AuditEvent, answer *kubeconnectv1.PatchResponse) {
	t.Helper()
	if code := event.ResponseStatus.Code; code != http.StatusOK {
		t.Errorf("the write is recorded with code %d", code)
	}
	if got, want := event.ResponseObject.ResourceVersion, answer.GetObject().GetResourceVersion(); got != want {
		t.Errorf("the write at version %s is recorded at %q", want, got)
	}
}

// WantUser fails the test unless two users have the same name, UID, groups and extra.
func WantUser(t *testing.T, got, want authenticationv1.UserInfo) {
	t.Helper()
	for _, user := range []*authenticationv1.UserInfo{&got, &want} {
		user.Groups = slices.Sorted(slices.Values(user.Groups))
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("user\n  %v\nwant\n  %v", got, want)
	}
}
