package e2e_test

import (
	"context"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"testing"

	"connectrpc.com/connect"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
)

// impersonationHeaders returns the headers of a caller that tries to impersonate another user.
func impersonationHeaders(token string) http.Header {
	return http.Header{
		"Authorization":            {"Bearer " + token},
		"Impersonate-User":         {"kubernetes-admin"},
		"Impersonate-Uid":          {"1"},
		"Impersonate-Group":        {"system:masters"},
		"Impersonate-Extra-Scopes": {"all"},
	}
}

// TestScenario25_WritesAreRecordedUnderTheCallersName compares the API server's audit log with the
// callers.
func TestScenario25_WritesAreRecordedUnderTheCallersName(t *testing.T) {
	t.Parallel()
	for writeAs, recorded := range map[string]func(*testing.T, harness.AuditEvent) authenticationv1.UserInfo{
		"token":       asTheCaller,
		"impersonate": onTheCallersBehalf,
	} {
		t.Run(writeAs, func(t *testing.T) {
			t.Parallel()
			service := startForCallers(t, "--write-as", writeAs)
			for _, protocol := range harness.Protocols {
				t.Run(protocol.Name, func(t *testing.T) {
					t.Parallel()
					writeAndBeRecorded(t, service, protocol, recorded)
				})
			}
		})
	}
}

// asTheCaller returns the caller in an event of a request sent as the caller.
func asTheCaller(t *testing.T, event harness.AuditEvent) authenticationv1.UserInfo {
	if event.ImpersonatedUser != nil {
		t.Errorf("unexpected impersonation of %v", event.ImpersonatedUser)
	}
	return event.User
}

// onTheCallersBehalf returns the caller in an event of a request sent by the service.
func onTheCallersBehalf(t *testing.T, event harness.AuditEvent) authenticationv1.UserInfo {
	own, err := cluster(t).Client.AuthenticationV1().SelfSubjectReviews().Create(t.Context(), &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
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

func writeAndBeRecorded(t *testing.T, service *harness.Service, protocol harness.Protocol, recorded func(*testing.T, harness.AuditEvent) authenticationv1.UserInfo) {
	ctx := deadline(t)
	namespace := newNamespace(ctx, t, cluster(t))
	configMapsIn(ctx, t, cluster(t), namespace).create(harness.Audited, nil)
	writer, stranger := newAccount(ctx, t, namespace, "writer"), newAccount(ctx, t, namespace, "stranger")
	writer.grantIn(namespace, "writer", rule("configmaps", "patch"))
	writers, strangers := writer.tokenOfAPod(), stranger.tokenOfAPod()
	clients := callingWith(t, service, protocol, writers)
	untilMayPatch(ctx, t, clients, namespace)

	one := patch(ctx, t, clients.Resources, auditedPatch(namespace, "one"))
	two := patch(ctx, t, callingWithHeaders(t, service, protocol, impersonationHeaders(writers)).Resources, auditedPatch(namespace, "two"))
	_, err := callingWithHeaders(t, service, protocol, impersonationHeaders(strangers)).Resources.Patch(ctx, auditedPatch(namespace, "three"))
	wantError(t, err, connect.CodePermissionDenied, stranger.user(), "cannot patch")

	events := untilRecorded(ctx, t, namespace, 3)
	for i, answer := range []*kubeconnectv1.PatchResponse{one, two} {
		wantUser(t, recorded(t, events[i]), whoseToken(ctx, t, writers))
		wantRecorded(t, events[i], answer)
	}
	wantUser(t, recorded(t, events[2]), whoseToken(ctx, t, strangers))
	if code := events[2].ResponseStatus.Code; code != http.StatusForbidden {
		t.Errorf("the rejected write is recorded with code %d", code)
	}
}

// tokenOfAPod returns a token of the account as a pod has it: its claims name the pod.
func (a account) tokenOfAPod() string {
	a.t.Helper()
	pod := unscheduledPod(a.name)
	pod.Spec.ServiceAccountName = a.name
	created, err := cluster(a.t).Client.CoreV1().Pods(a.namespace).Create(a.ctx, pod, metav1.CreateOptions{})
	if err != nil {
		a.t.Fatal(err)
	}
	return a.tokenFor(authenticationv1.TokenRequestSpec{BoundObjectRef: &authenticationv1.BoundObjectReference{
		APIVersion: "v1", Kind: "Pod", Name: created.Name, UID: created.UID,
	}})
}

// auditedPatch returns a patch that the API server records.
func auditedPatch(namespace, value string) *kubeconnectv1.PatchRequest {
	return withData(&kubeconnectv1.PatchRequest{
		Resource: "configmaps", Namespace: namespace, Name: harness.Audited, Type: mergePatch,
	}, `{"data":{"key":"`+value+`"}}`)
}

// untilMayPatch blocks until the caller has the permission, without a patch, which would be
// recorded.
func untilMayPatch(ctx context.Context, t *testing.T, clients harness.Clients, namespace string) {
	t.Helper()
	eventually(ctx, t, "the caller has permission to patch", func() error {
		answer, err := clients.Access.CheckAccess(ctx, &kubeconnectv1.CheckAccessRequest{Questions: []*kubeconnectv1.AccessQuestion{
			{Verb: "patch", Resource: "configmaps", Namespace: namespace, Name: harness.Audited},
		}})
		if err == nil && !answer.GetAnswers()[0].GetAllowed() {
			err = fmt.Errorf("not allowed yet: %v", answer.GetAnswers()[0])
		}
		return err
	})
}

// untilRecorded blocks until a number of requests of a namespace are recorded, and fails the test
// if there are more.
func untilRecorded(ctx context.Context, t *testing.T, namespace string, count int) (events []harness.AuditEvent) {
	t.Helper()
	eventually(ctx, t, "the API server has recorded the requests", func() (err error) {
		events, err = cluster(t).AuditEvents(namespace)
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

// wantRecorded fails the test unless an event records the write with the given response.
func wantRecorded(t *testing.T, event harness.AuditEvent, answer *kubeconnectv1.PatchResponse) {
	t.Helper()
	if code := event.ResponseStatus.Code; code != http.StatusOK {
		t.Errorf("the write is recorded with code %d", code)
	}
	if got, want := event.ResponseObject.ResourceVersion, answer.GetObject().GetResourceVersion(); got != want {
		t.Errorf("the write at version %s is recorded at %q", want, got)
	}
}

// whoseToken returns the user of a token according to the cluster.
func whoseToken(ctx context.Context, t *testing.T, token string) authenticationv1.UserInfo {
	t.Helper()
	review := &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token}}
	review, err := cluster(t).Client.AuthenticationV1().TokenReviews().Create(ctx, review, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"pod-name", "pod-uid", "credential-id"} {
		if len(review.Status.User.Extra["authentication.kubernetes.io/"+key]) != 1 {
			t.Fatalf("the token has no %s: %v", key, review.Status)
		}
	}
	return review.Status.User
}

// wantUser fails the test unless two users have the same name, UID, groups and extra.
func wantUser(t *testing.T, got, want authenticationv1.UserInfo) {
	t.Helper()
	for _, user := range []*authenticationv1.UserInfo{&got, &want} {
		user.Groups = slices.Sorted(slices.Values(user.Groups))
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("user\n  %v\nwant\n  %v", got, want)
	}
}
