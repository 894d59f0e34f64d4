package alerts_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

// thePermissionToReviewIsRevoked runs the service with an account that keeps only its permission to
// read.
func thePermissionToReviewIsRevoked(ctx context.Context, t *testing.T) *prometheus {
	caller := reader(ctx, t)
	own := kit.NewAccount(ctx, t, caller.Namespace, "service")
	kit.GrantEverywhere(t, own, kit.Rule("configmaps", "list", "watch"), kit.Rule("serviceaccounts", "list", "watch"))
	reviewer := kit.NewAccount(ctx, t, caller.Namespace, "reviewer")
	revoke := grantReviews(ctx, t, own, reviewer)
	replica := startReplicaOf(ctx, t, kit.Cluster(t), own.Kubeconfig(), "a", "--auth", "cluster")
	p := startPrometheus(t, replica.target)
	startLoad(t, caller.Calling(replica.Service, harness.GRPC).Resources)
	revoke()
	p.untilFiring(t, "KubeconnectReviewsFail")
	return p
}

// failingAuthorizer is a webhook of the API server that allows everything to one user, unless it fails.
// About others it has no opinion.
type failingAuthorizer struct {
	user  string
	fails atomic.Pointer[http.HandlerFunc] // nil unless it fails
}

// ServeHTTP implements http.Handler.
func (a *failingAuthorizer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	review := &authorizationv1.SubjectAccessReview{}
	if err := json.NewDecoder(r.Body).Decode(review); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	asked := review.Spec.User == a.user
	if fails := a.fails.Load(); asked && fails != nil {
		fails.ServeHTTP(w, r)
		return
	}
	review.Status = authorizationv1.SubjectAccessReviewStatus{Allowed: asked}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(review)
}

// anAuthorizerFails runs the service at a control plane with an authorization webhook, which first does not
// respond, and later returns errors.
func anAuthorizerFails(ctx context.Context, t *testing.T) *prometheus {
	authorizer := &failingAuthorizer{user: "system:serviceaccount:default:caller"}
	controlPlane, err := harness.StartCluster(
		"--apiserver-arg", "authorization-mode=Node,RBAC,Webhook", "--apiserver-arg", "authorization-webhook-version=v1",
		"--apiserver-arg", "authorization-webhook-config-file="+kit.StartWebhook(t, authorizer),
		"--apiserver-arg", "authorization-webhook-cache-authorized-ttl=1ms")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(controlPlane.Stop)
	replica := startReplicaOf(ctx, t, controlPlane, controlPlane.Kubeconfig, "a", "--auth", "cluster")
	p := startPrometheus(t, replica.target)
	startLoad(t, kit.CallingWith(t, replica.Service, harness.GRPC, kit.NewToken(ctx, t, controlPlane, "default", "caller")).Resources)
	for _, fails := range []http.HandlerFunc{
		func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "down", http.StatusInternalServerError) },
	} {
		authorizer.fails.Store(&fails)
		p.untilFiring(t, "KubeconnectReviewsFail")
		authorizer.fails.Store(nil)
		p.untilFiring(t)
	}
	return p
}

// grantReviews grants an account the permission to create reviews of callers, by a role with the
// name of another account.
func grantReviews(ctx context.Context, t *testing.T, own, named kit.Account) (revoke func()) {
	t.Helper()
	rbac := kit.Cluster(t).Client.RbacV1().ClusterRoleBindings()
	created, err := rbac.Create(ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: named.Namespace + "-reviews"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "system:auth-delegator"},
		Subjects:   []rbacv1.Subject{own.Subject()},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	revoke = func() { _ = rbac.Delete(context.WithoutCancel(ctx), created.Name, metav1.DeleteOptions{}) }
	t.Cleanup(revoke)
	return revoke
}

const (
	// floodOf is the number of concurrent calls with invalid tokens: more than can wait at one
	// replica from one address. floodPause is their pause after an error.
	floodOf    = 1280
	floodPause = time.Second
)

func manyInvalidTokensAreSent(ctx context.Context, t *testing.T) *prometheus {
	replica, account := startReplica(ctx, t, "a", "--auth", "cluster"), reader(ctx, t)
	p := startPrometheus(t, replica.target)
	startLoad(t, account.Calling(replica.Service, harness.GRPC).Resources)
	flood, tokens := newBackground(t), &tokenTransport{base: harness.HTTP2(t).Transport}
	client := harness.Dial(&http.Client{Transport: tokens}, replica.Address, harness.Connect).Resources
	for range floodOf {
		flood.repeat(func(ctx context.Context) {
			_, _ = client.Get(ctx, &kubeconnectv1.GetRequest{Resource: "namespaces", Name: "default"})
		}, floodPause)
	}
	p.untilFiring(t, "KubeconnectReviewsRejected")
	return p
}

// tokenTransport sends another invalid token with each request.
type tokenTransport struct {
	base   http.RoundTripper
	tokens atomic.Int64
}

// RoundTrip implements http.RoundTripper.
func (t *tokenTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	token := fmt.Sprint("Bearer invalid-", t.tokens.Add(1))
	return kit.HeaderTransport{Headers: http.Header{"Authorization": {token}}, Base: t.base}.RoundTrip(request)
}

// anAdmissionWebhookIsDown makes writes of ConfigMaps in one namespace fail.
func anAdmissionWebhookIsDown(ctx context.Context, t *testing.T) *prometheus {
	account := reader(ctx, t)
	account.GrantIn(account.Namespace, "writer", kit.Rule("configmaps", "create"))
	replica := startReplica(ctx, t, "a", "--auth", "cluster")
	p := startPrometheus(t, replica.target)
	client := account.Calling(replica.Service, harness.GRPC).Resources
	startLoad(t, client)
	refuseWrites(ctx, t, account.Namespace)
	newBackground(t).repeat(func(ctx context.Context) {
		_, _ = client.Create(ctx, &kubeconnectv1.CreateRequest{
			Resource: "configmaps", Namespace: account.Namespace,
			Body: &kubeconnectv1.CreateRequest_Data{Data: []byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"generateName":"a-"}}`)},
		})
	}, callInterval)
	p.untilFiring(t, "KubeconnectCallsFail")
	return p
}

// refuseWrites registers an admission webhook for ConfigMaps of a namespace that does not exist.
func refuseWrites(ctx context.Context, t *testing.T, namespace string) {
	t.Helper()
	webhooks := kit.Cluster(t).Client.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	address, none := "https://127.0.0.1:1/", admissionv1.SideEffectClassNone
	created, err := webhooks.Create(ctx, &admissionv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "e2e-"},
		Webhooks: []admissionv1.ValidatingWebhook{{
			Name: "down.example.com", SideEffects: &none, AdmissionReviewVersions: []string{"v1"},
			ClientConfig:      admissionv1.WebhookClientConfig{URL: &address},
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: kit.Labels{"kubernetes.io/metadata.name": namespace}},
			Rules: []admissionv1.RuleWithOperations{{
				Operations: []admissionv1.OperationType{admissionv1.Create},
				Rule:       admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"}},
			}},
		}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = webhooks.Delete(context.WithoutCancel(ctx), created.Name, metav1.DeleteOptions{}) })
}

const (
	// slowResponse is how long the API server does not respond, and quickResponses the time between
	// two such times.
	slowResponse   = 1200 * time.Millisecond
	quickResponses = 300 * time.Millisecond
)

// theAPIServerIsSlow reads a resource that is not cached: each call waits for the API server.
func theAPIServerIsSlow(ctx context.Context, t *testing.T) *prometheus {
	replica := startReplica(ctx, t, "a", "--uncached", "secrets")
	p := startPrometheus(t, replica.target)
	client, callers := clientOf(t, replica.Service), newBackground(t)
	callers.repeat(func(ctx context.Context) {
		replica.link.Set(harness.Frozen)
		kit.Last(ctx, slowResponse)
		replica.link.Set(harness.None)
	}, quickResponses)
	callers.repeat(func(ctx context.Context) {
		_, _ = client.List(ctx, &kubeconnectv1.ListRequest{Resource: "secrets", Namespace: "default"})
	}, 4*callInterval)
	p.untilFiring(t, "KubeconnectCallsSlow")
	return p
}

func aCallerExceedsItsRate(ctx context.Context, t *testing.T) *prometheus {
	replica := startReplica(ctx, t, "a", "--auth", "cluster", "--caller-request-rate", "10", "--caller-request-burst", "10")
	p := startPrometheus(t, replica.target)
	startLoad(t, reader(ctx, t).Calling(replica.Service, harness.GRPC).Resources)
	p.untilFiring(t, "KubeconnectCallsRejected")
	return p
}

// streamsAreEndedEverySecond is a setting that no operator wants.
func streamsAreEndedEverySecond(ctx context.Context, t *testing.T) *prometheus {
	replica := startReplica(ctx, t, "a", "--max-stream-age", "1s")
	p := startPrometheus(t, replica.target)
	startLoad(t, clientOf(t, replica.Service))
	p.untilFiring(t, "KubeconnectStreamsInterrupted")
	return p
}

// tokensAreOlderThanTheHistory resumes from before the replica has started, and from before etcd was
// compacted, as clients do that were away for long.
func tokensAreOlderThanTheHistory(ctx context.Context, t *testing.T) *prometheus {
	controlPlane := kit.CompactingCluster(t)
	write := kit.ConfigMapsIn(ctx, t, controlPlane, kit.NewNamespace(ctx, t, controlPlane))
	before := startReplicaOf(ctx, t, controlPlane, controlPlane.Kubeconfig, "a")
	old := stream{client: clientOf(t, before.Service), namespace: "default"}
	old.call(ctx, 1)
	stop(t, before)
	kit.UntilCompacted(ctx, t, controlPlane, write.Create("one", nil).ResourceVersion)
	replica := startReplicaOf(ctx, t, controlPlane, controlPlane.Kubeconfig, "b")
	p := startPrometheus(t, replica.target)
	old.client = clientOf(t, replica.Service)
	newBackground(t).repeat(func(ctx context.Context) {
		resumed := old
		resumed.call(ctx, 1)
	}, callInterval)
	p.untilFiring(t, "KubeconnectStreamsReset")
	return p
}
