package scenarios_test

import (
	"context"
	"net/http"
	"testing"

	"connectrpc.com/connect/v2"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

// requestID is the ID of the requests with impersonationHeaders.
const requestID = "request-of-a-caller"

// impersonationHeaders returns the headers of a caller that tries to impersonate another user.
func impersonationHeaders(token string) http.Header {
	return http.Header{
		"Authorization":            {"Bearer " + token},
		"Impersonate-User":         {"kubernetes-admin"},
		"X-Request-Id":             {requestID},
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
		"impersonate": kit.CallerOf,
	} {
		t.Run(writeAs, func(t *testing.T) {
			t.Parallel()
			service := kit.StartForCallers(t, "--write-as", writeAs)
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

func writeAndBeRecorded(t *testing.T, service *harness.Service, protocol harness.Protocol, recorded func(*testing.T, harness.AuditEvent) authenticationv1.UserInfo) {
	ctx := kit.Deadline(t)
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	kit.ConfigMapsIn(ctx, t, kit.Cluster(t), namespace).Create(harness.Audited, nil)
	writer, stranger := kit.NewAccount(ctx, t, namespace, "writer"), kit.NewAccount(ctx, t, namespace, "stranger")
	writer.GrantIn(namespace, "writer", kit.Rule("configmaps", "patch"))
	writers, strangers := writer.TokenOfAPod(), stranger.TokenOfAPod()
	clients := kit.CallingWith(t, service, protocol, writers)
	kit.UntilMayPatch(ctx, t, clients, namespace)

	one := kit.Patch(ctx, t, clients.Resources, kit.AuditedPatch(namespace, "one"))
	two := kit.Patch(ctx, t, kit.CallingWithHeaders(t, service, protocol, impersonationHeaders(writers)).Resources, kit.AuditedPatch(namespace, "two"))
	_, err := kit.CallingWithHeaders(t, service, protocol, impersonationHeaders(strangers)).Resources.Patch(ctx, kit.AuditedPatch(namespace, "three"))
	kit.WantError(t, err, connect.CodePermissionDenied, stranger.User(), "cannot patch")

	events := kit.UntilRecorded(ctx, t, namespace, 3)
	for i, sent := range []bool{false, true, true} {
		if id := events[i].AuditID; (id == requestID) != sent || id == "" {
			t.Errorf("request %d is recorded with the ID %q", i, id)
		}
	}
	for i, answer := range []*kubeconnectv1.PatchResponse{one, two} {
		kit.WantUser(t, recorded(t, events[i]), whoseToken(ctx, t, writers))
		kit.WantRecorded(t, events[i], answer)
	}
	kit.WantUser(t, recorded(t, events[2]), whoseToken(ctx, t, strangers))
	if code := events[2].ResponseStatus.Code; code != http.StatusForbidden {
		t.Errorf("the rejected write is recorded with code %d", code)
	}
}

// whoseToken returns the user of a token according to the cluster.
func whoseToken(ctx context.Context, t *testing.T, token string) authenticationv1.UserInfo {
	t.Helper()
	review := &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token}}
	review, err := kit.Cluster(t).Client.AuthenticationV1().TokenReviews().Create(ctx, review, metav1.CreateOptions{})
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
