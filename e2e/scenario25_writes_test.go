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

// pretending are the headers of a caller who would like to be somebody else.
func pretending(token string) http.Header {
	return http.Header{
		"Authorization":            {"Bearer " + token},
		"Impersonate-User":         {"kubernetes-admin"},
		"Impersonate-Uid":          {"1"},
		"Impersonate-Group":        {"system:masters"},
		"Impersonate-Extra-Scopes": {"all"},
	}
}

// TestScenario25_AWriteIsRecordedUnderItsCallersName holds the API server's own audit
// log against who has called.
func TestScenario25_AWriteIsRecordedUnderItsCallersName(t *testing.T) {
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

// asTheCaller is who has called, if the caller has sent the request.
func asTheCaller(t *testing.T, event harness.AuditEvent) authenticationv1.UserInfo {
	if event.ImpersonatedUser != nil {
		t.Errorf("somebody acts as %v", event.ImpersonatedUser)
	}
	return event.User
}

// onTheCallersBehalf is who has called, if the service has sent the request.
func onTheCallersBehalf(t *testing.T, event harness.AuditEvent) authenticationv1.UserInfo {
	own, err := cluster(t).Client.AuthenticationV1().SelfSubjectReviews().Create(t.Context(), &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if event.User.Username != own.Status.UserInfo.Username {
		t.Errorf("the request is sent by %q, not by the service's account %q", event.User.Username, own.Status.UserInfo.Username)
	}
	if event.ImpersonatedUser == nil {
		t.Fatal("the service acts as nobody but itself")
	}
	return *event.ImpersonatedUser
}

func writeAndBeRecorded(t *testing.T, service *harness.Service, protocol harness.Protocol, recorded func(*testing.T, harness.AuditEvent) authenticationv1.UserInfo) {
	ctx := deadline(t)
	namespace := newNamespace(ctx, t, cluster(t))
	configMapsIn(ctx, t, cluster(t), namespace).create(harness.Audited, nil)
	writer, stranger := newAccount(ctx, t, namespace, "writer"), newAccount(ctx, t, namespace, "stranger")
	writer.may(namespace, "writer", to("configmaps", "patch"))
	writers, strangers := writer.tokenOfAPod(), stranger.tokenOfAPod()
	clients := callingWith(t, service, protocol, writers)
	untilMayPatch(ctx, t, clients, namespace)

	one := patch(ctx, t, clients.Resources, auditedPatch(namespace, "one"))
	two := patch(ctx, t, callingWithHeaders(t, service, protocol, pretending(writers)).Resources, auditedPatch(namespace, "two"))
	_, err := callingWithHeaders(t, service, protocol, pretending(strangers)).Resources.Patch(ctx, auditedPatch(namespace, "three"))
	wantError(t, err, connect.CodePermissionDenied, stranger.user(), "cannot patch")

	events := untilRecorded(ctx, t, namespace, 3)
	for i, answer := range []*kubeconnectv1.PatchResponse{one, two} {
		wantUser(t, recorded(t, events[i]), whoseToken(ctx, t, writers))
		wantRecorded(t, events[i], answer)
	}
	wantUser(t, recorded(t, events[2]), whoseToken(ctx, t, strangers))
	if code := events[2].ResponseStatus.Code; code != http.StatusForbidden {
		t.Errorf("what was refused is recorded with the code %d", code)
	}
}

// tokenOfAPod is a token of the account's as a pod has it: the cluster tells by it which
// pod that is.
func (a account) tokenOfAPod() string {
	a.t.Helper()
	pod := unscheduledPod(a.name)
	pod.Spec.ServiceAccountName = a.name
	made, err := cluster(a.t).Client.CoreV1().Pods(a.namespace).Create(a.ctx, pod, metav1.CreateOptions{})
	if err != nil {
		a.t.Fatal(err)
	}
	return a.tokenFor(authenticationv1.TokenRequestSpec{BoundObjectRef: &authenticationv1.BoundObjectReference{
		APIVersion: "v1", Kind: "Pod", Name: made.Name, UID: made.UID,
	}})
}

// auditedPatch is one that the API server records.
func auditedPatch(namespace, value string) *kubeconnectv1.PatchRequest {
	return withData(&kubeconnectv1.PatchRequest{
		Resource: "configmaps", Namespace: namespace, Name: harness.Audited, Type: mergePatch,
	}, `{"data":{"key":"`+value+`"}}`)
}

// untilMayPatch waits without a try, which the audit log would tell.
func untilMayPatch(ctx context.Context, t *testing.T, clients harness.Clients, namespace string) {
	t.Helper()
	eventually(ctx, t, "the caller may patch", func() error {
		answer, err := clients.Access.CheckAccess(ctx, &kubeconnectv1.CheckAccessRequest{Questions: []*kubeconnectv1.AccessQuestion{
			{Verb: "patch", Resource: "configmaps", Namespace: namespace, Name: harness.Audited},
		}})
		if err == nil && !answer.GetAnswers()[0].GetAllowed() {
			err = fmt.Errorf("not yet: %v", answer.GetAnswers()[0])
		}
		return err
	})
}

// untilRecorded waits for so many records of a namespace, and fails if there are more.
func untilRecorded(ctx context.Context, t *testing.T, namespace string, count int) (events []harness.AuditEvent) {
	t.Helper()
	eventually(ctx, t, "the API server has recorded it", func() (err error) {
		events, err = cluster(t).AuditEvents(namespace)
		if err == nil && len(events) < count {
			err = fmt.Errorf("%d of %d events", len(events), count)
		}
		return err
	})
	if len(events) != count {
		t.Fatalf("%d requests are recorded, not %d", len(events), count)
	}
	return events
}

// wantRecorded fails unless a record is of the write that was answered so.
func wantRecorded(t *testing.T, event harness.AuditEvent, answer *kubeconnectv1.PatchResponse) {
	t.Helper()
	if code := event.ResponseStatus.Code; code != http.StatusOK {
		t.Errorf("what was written is recorded with the code %d", code)
	}
	if got, want := event.ResponseObject.ResourceVersion, answer.GetObject().GetResourceVersion(); got != want {
		t.Errorf("what was written at version %s is recorded at %q", want, got)
	}
}

// whoseToken is what the cluster itself says.
func whoseToken(ctx context.Context, t *testing.T, token string) authenticationv1.UserInfo {
	t.Helper()
	review := &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token}}
	review, err := cluster(t).Client.AuthenticationV1().TokenReviews().Create(ctx, review, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"pod-name", "pod-uid", "credential-id"} {
		if len(review.Status.User.Extra["authentication.kubernetes.io/"+key]) != 1 {
			t.Fatalf("the token does not tell its %s: %v", key, review.Status)
		}
	}
	return review.Status.User
}

// wantUser fails unless two are one: in name, UID, groups and extra.
func wantUser(t *testing.T, got, want authenticationv1.UserInfo) {
	t.Helper()
	for _, user := range []*authenticationv1.UserInfo{&got, &want} {
		user.Groups = slices.Sorted(slices.Values(user.Groups))
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("the user is\n  %v\nwant\n  %v", got, want)
	}
}
