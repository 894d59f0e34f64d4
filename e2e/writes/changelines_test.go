package writes_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"connectrpc.com/connect/v2"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

// quotedPassword is what the policy of quoteSecrets quotes: base64, as the API server has it.
const quotedPassword = "cGFzc3dvcmQgdGhhdCBhIHBvbGljeSBxdW90ZXM="

// TestChangeLines_NameTheObjectAndQuoteNothing reads the log of the service after changes that the
// cluster accepts, and one that an admission policy rejects with the content of the Secret.
func TestChangeLines_NameTheObjectAndQuoteNothing(t *testing.T) {
	t.Parallel()
	ctx := kit.Deadline(t)
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	quoteSecrets(ctx, t, namespace)
	caller := kit.NewAccount(ctx, t, namespace, "writer")
	caller.GrantIn(namespace, "writer", kit.Rule("secrets", "create"), kit.Rule("serviceaccounts/token", "create"), kit.Rule("configmaps", "create"))
	service := kit.StartForCallers(t)
	client := caller.Calling(service, harness.Protocols[0]).Resources

	create := func(request *kubeconnectv1.CreateRequest) (*kubeconnectv1.CreateResponse, error) {
		return client.Create(ctx, request)
	}
	kit.Eventually(ctx, t, "the policy quotes the Secret", func() error {
		_, err := create(&kubeconnectv1.CreateRequest{Resource: "secrets", DryRun: true, Body: &kubeconnectv1.CreateRequest_Data{Data: fmt.Appendf(nil,
			`{"metadata":{"name":"quoted","namespace":%q},"data":{"password":%q}}`, namespace, quotedPassword)}})
		if connect.CodeOf(err) != connect.CodePermissionDenied || !strings.Contains(err.Error(), quotedPassword) {
			return fmt.Errorf("the service returns %w", err)
		}
		return nil
	})
	generated, err := create(&kubeconnectv1.CreateRequest{Resource: "configmaps", Body: &kubeconnectv1.CreateRequest_Data{Data: fmt.Appendf(nil,
		`{"metadata":{"generateName":"generated-","namespace":%q}}`, namespace)}})
	if err != nil {
		t.Fatal(err)
	}
	token, err := create(&kubeconnectv1.CreateRequest{
		Resource: "serviceaccounts", Namespace: namespace, Name: "writer", Subresource: "token",
		Body: &kubeconnectv1.CreateRequest_Data{Data: []byte(`{"spec":{}}`)},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, words := range [][]string{
		{"code=permission_denied", "resource=secrets.v1", "namespace=" + namespace, "name=quoted", "reason=Forbidden"},
		{"code=ok", "resource=configmaps.v1", "namespace=" + namespace, "name=" + generated.GetObject().GetStruct().GetFields()["metadata"].GetStructValue().GetFields()["name"].GetStringValue()},
		{"code=ok", "resource=serviceaccounts.v1", "namespace=" + namespace, "name=writer", "subresource=token"},
	} {
		_, err := service.UntilPrints(ctx, func(line string) bool {
			for _, word := range append(words, "msg=change", "caller="+caller.User()) {
				if !strings.Contains(line, word) {
					return false
				}
			}
			return true
		})
		if err != nil {
			t.Errorf("%v: %v", words, err)
		}
	}
	minted := token.GetObject().GetStruct().GetFields()["status"].GetStructValue().GetFields()["token"].GetStringValue()
	if output := service.Output(); minted == "" || strings.Contains(output, minted) || strings.Contains(output, quotedPassword) {
		t.Error("the log has the token or the Secret")
	}
}

// quoteSecrets creates a policy for a namespace, with the same name, that rejects each Secret and quotes it.
func quoteSecrets(ctx context.Context, t *testing.T, namespace string) {
	t.Helper()
	forbidden := metav1.StatusReasonForbidden
	kit.DenyInNamespace(ctx, t, namespace, admissionregistrationv1.Create, "secrets", admissionregistrationv1.Validation{
		Expression: "false", Reason: &forbidden, MessageExpression: `"not allowed: " + string(object.data["password"])`,
	})
}
