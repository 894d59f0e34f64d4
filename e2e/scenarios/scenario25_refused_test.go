package scenarios_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"

	"connectrpc.com/connect/v2"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

const (
	// policyMessage is the message of a policy of the cluster's administrator.
	policyMessage = `a label must not say "invalid": ask the team «Grüße», 100% of them know why`
	// forbiddenMessage is a message with a reason chosen by the administrator.
	forbiddenMessage = `no label may say "forbidden", nor \"\n"`
	// mightyPod is a pod that the restricted Pod Security Standard does not admit.
	mightyPod = `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"mighty"},"spec":{"containers":` +
		`[{"name":"main","image":"example.com/main:1","securityContext":{"privileged":true}}]}}`
)

// refusal is a patch that the API server rejects, and the expected error.
type refusal struct {
	request *kubeconnectv1.PatchRequest
	code    connect.Code
	words   []string
}

// refusals returns patches that each stage of the API server after authentication rejects.
func refusals(namespace string) map[string]refusal {
	ask := func(resource, name string, patchType kubeconnectv1.PatchType, body string) *kubeconnectv1.PatchRequest {
		return kit.WithData(&kubeconnectv1.PatchRequest{
			Resource: resource, Namespace: namespace, Name: name, Type: patchType, FieldManager: "e2e",
		}, body)
	}
	apply := kubeconnectv1.PatchType_PATCH_TYPE_APPLY
	return map[string]refusal{
		"the permissions of the caller": {
			request: ask("secrets", "one", kit.MergePatch, `{"data":null}`),
			code:    connect.CodePermissionDenied,
			words:   []string{"system:serviceaccount:" + namespace + ":writer", `cannot patch resource "secrets"`},
		},
		"an admission policy": {
			request: ask("configmaps", "one", kit.MergePatch, `{"metadata":{"labels":{"e2e":"invalid"}}}`),
			code:    connect.CodeInvalidArgument,
			words:   []string{"ValidatingAdmissionPolicy '" + namespace + "'", "denied request: " + policyMessage},
		},
		"an admission policy with a reason": {
			request: ask("configmaps", "one", kit.MergePatch, `{"metadata":{"labels":{"e2e":"forbidden"}}}`),
			code:    connect.CodePermissionDenied,
			words:   []string{"ValidatingAdmissionPolicy '" + namespace + "'", "denied request: " + forbiddenMessage},
		},
		"a quota": {
			request: ask("configmaps", "another", apply, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"another"}}`),
			code:    connect.CodePermissionDenied,
			words:   []string{"exceeded quota: full", "limited: count/configmaps=0"},
		},
		"the pod security standard": {
			request: ask("pods", "mighty", apply, mightyPod),
			code:    connect.CodePermissionDenied,
			words:   []string{`violates PodSecurity "restricted:latest"`, "privileged"},
		},
	}
}

// TestScenario25_ErrorsOfTheClusterAreReturned compares the service's error with the
// API server's error for the same caller and patch.
func TestScenario25_ErrorsOfTheClusterAreReturned(t *testing.T) {
	t.Parallel()
	ctx := kit.Deadline(t)
	namespace := strictNamespace(ctx, t)
	caller := kit.NewAccount(ctx, t, namespace, "writer")
	caller.GrantIn(namespace, "writer", kit.Rule("configmaps", "patch", "create"), kit.Rule("pods", "patch", "create"))
	token := caller.Token()
	before := kit.ConfigMapVersions(ctx, t, namespace, "")
	for _, writeAs := range []string{"token", "impersonate"} {
		service := kit.StartForCallers(t, "--write-as", writeAs)
		for name, refusal := range refusals(namespace) {
			want := refusal.directly(ctx, t, token)
			for _, protocol := range harness.Protocols {
				t.Run(writeAs+" by "+protocol.Name+": "+name, func(t *testing.T) {
					_, err := kit.CallingWith(t, service, protocol, token).Resources.Patch(ctx, refusal.request)
					kit.WantError(t, err, refusal.code, refusal.words...)
					kit.WantSameStatus(t, err, want)
				})
			}
		}
	}
	if after := kit.ConfigMapVersions(ctx, t, namespace, ""); !maps.Equal(after, before) {
		t.Errorf("a rejected patch has changed %v to %v", before, after)
	}
	_, err := kit.Cluster(t).Client.CoreV1().Pods(namespace).Get(ctx, "mighty", metav1.GetOptions{})
	if !apierrors.IsNotFound(err) {
		t.Errorf("the rejected pod: %v", err)
	}
}

// strictNamespace creates a namespace that rejects most requests, and has one ConfigMap.
func strictNamespace(ctx context.Context, t *testing.T) string {
	t.Helper()
	client := kit.Cluster(t).Client
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	kit.ConfigMapsIn(ctx, t, kit.Cluster(t), namespace).Create("one", nil)
	enforce := []byte(`{"metadata":{"labels":{"pod-security.kubernetes.io/enforce":"restricted"}}}`)
	if _, err := client.CoreV1().Namespaces().Patch(ctx, namespace, types.MergePatchType, enforce, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	quota := &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Name: "full"},
		Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{"count/configmaps": resource.MustParse("0")}},
	}
	if _, err := client.CoreV1().ResourceQuotas(namespace).Create(ctx, quota, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	refuseLabels(ctx, t, namespace)
	return namespace
}

// refuseLabels creates a policy for a namespace, with the same name.
func refuseLabels(ctx context.Context, t *testing.T, namespace string) {
	t.Helper()
	forbidden := metav1.StatusReasonForbidden
	kit.DenyInNamespace(ctx, t, namespace, admissionregistrationv1.Update, "configmaps",
		admissionregistrationv1.Validation{Expression: `object.metadata.?labels[?"e2e"].orValue("") != "invalid"`, Message: policyMessage},
		admissionregistrationv1.Validation{Expression: `object.metadata.?labels[?"e2e"].orValue("") != "forbidden"`, Message: forbiddenMessage, Reason: &forbidden},
	)
}

// directly blocks until the API server itself rejects a caller's dry run with the expected message,
// and returns its error.
func (r refusal) directly(ctx context.Context, t *testing.T, token string) metav1.Status {
	t.Helper()
	config := rest.AnonymousClientConfig(kit.Cluster(t).Config)
	config.BearerToken = token
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	patchType := types.MergePatchType
	if r.request.GetType() == kubeconnectv1.PatchType_PATCH_TYPE_APPLY {
		patchType = types.ApplyPatchType
	}
	objects := client.Resource(schema.GroupVersionResource{Version: "v1", Resource: r.request.GetResource()}).Namespace(r.request.GetNamespace())
	options := metav1.PatchOptions{FieldManager: r.request.GetFieldManager(), DryRun: []string{metav1.DryRunAll}}
	var refused apierrors.APIStatus
	kit.Eventually(ctx, t, "the API server rejects the patch", func() error {
		_, err := objects.Patch(ctx, r.request.GetName(), patchType, r.request.GetData(), options)
		if !errors.As(err, &refused) || !strings.Contains(err.Error(), r.words[len(r.words)-1]) {
			return fmt.Errorf("the API server returns: %v", err)
		}
		return nil
	})
	return refused.Status()
}
