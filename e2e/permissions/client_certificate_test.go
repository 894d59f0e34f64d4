package permissions_test

import (
	"context"
	"crypto/x509"
	"crypto/x509/pkix"
	"testing"
	"time"

	"connectrpc.com/connect/v2"
	authenticationv1 "k8s.io/api/authentication/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
	"github.com/kubeconnect/kubeconnect/e2e/record"
)

// userOf returns a user of a namespace that the cluster knows only by the certificate.
func userOf(namespace string) pkix.Name {
	return pkix.Name{CommonName: "jane-" + namespace, Organization: []string{"readers-" + namespace, "others"}}
}

// letRead grants the user's group permission to read a namespace's ConfigMaps.
func letRead(ctx context.Context, t *testing.T, user pkix.Name, namespace string) {
	t.Helper()
	group := rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: user.Organization[0]}
	kit.Grant(ctx, t, namespace, "reader", group, kit.Rule("configmaps", "get", "list", "watch"))
}

// byCertificate are the protocols that do not require a token.
var byCertificate = []harness.Protocol{harness.Connect, harness.ConnectJSON, harness.GRPC, harness.GRPCWeb}

func inAnHour() time.Time { return time.Now().Add(time.Hour) }

// overEachProtocolByCertificate runs a test for each protocol in parallel, with a user that has
// permission to read a namespace of its own.
func overEachProtocolByCertificate(t *testing.T, service *tlsService, test func(context.Context, *testing.T, harness.Protocol, string)) {
	t.Helper()
	for _, protocol := range byCertificate {
		t.Run(protocol.Name, func(t *testing.T) {
			t.Parallel()
			ctx := kit.Deadline(t)
			namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
			kit.ConfigMapsIn(ctx, t, kit.Cluster(t), namespace).Create("mine", nil)
			letRead(ctx, t, userOf(namespace), namespace)
			test(ctx, t, protocol, namespace)
		})
	}
}

// TestClientCertificate_HasThePermissionsOfItsUserAndGroups calls as a user that is not an
// administrator.
func TestClientCertificate_HasThePermissionsOfItsUserAndGroups(t *testing.T) {
	t.Parallel()
	service := startForCallersOverTLS(t)
	overEachProtocolByCertificate(t, service, func(ctx context.Context, t *testing.T, protocol harness.Protocol, namespace string) {
		user := userOf(namespace)
		janes := clusterAuthority(t).certify(t, user, inAnHour())
		clients := janes.calling(t, service, protocol)
		kit.Eventually(ctx, t, "the user can read only its namespace", func() error {
			return kit.ListsNamespaces(ctx, clients.Resources, namespace)
		})
		identity, err := clients.Access.WhoAmI(ctx, &kubeconnectv1.WhoAmIRequest{})
		if err != nil {
			t.Fatal(err)
		}
		kit.WantUser(t, userIn(identity), janes.user(ctx, t))
		readsNothingElse(ctx, t, clients.Resources, user.CommonName, namespace)
		watchesUntilRevoked(ctx, t, clients.Resources, namespace)
	})
}

func readsNothingElse(ctx context.Context, t *testing.T, client kit.ResourceClient, user, namespace string) {
	t.Helper()
	for _, request := range []*kubeconnectv1.ListRequest{
		{Resource: "configmaps", Namespace: kit.NewNamespace(ctx, t, kit.Cluster(t))},
		{Resource: "secrets", Namespace: namespace},
		{Resource: "nodes"},
	} {
		_, err := client.List(ctx, request)
		kit.WantError(t, err, connect.CodePermissionDenied, request.GetResource()+" is forbidden", user, "cannot list")
		err = kit.WatchError(ctx, client, &kubeconnectv1.WatchRequest{Resource: request.GetResource(), Namespace: request.GetNamespace()})
		kit.WantError(t, err, connect.CodePermissionDenied, request.GetResource()+" is forbidden", user)
	}
}

func watchesUntilRevoked(ctx context.Context, t *testing.T, client kit.ResourceClient, namespace string) {
	t.Helper()
	stream := record.Watch(t, client, &kubeconnectv1.WatchRequest{Resource: "configmaps", Namespace: namespace})
	stream.Synced(ctx)
	touched := kit.ConfigMapsIn(ctx, t, kit.Cluster(t), namespace).Touch("mine", "touched")
	kit.WantChanges(t, stream.Reaches(ctx, touched.ResourceVersion), kit.Modified(touched))
	kit.Revoke(ctx, t, namespace, "reader")
	kit.WantError(t, stream.End(ctx), connect.CodePermissionDenied, "configmaps is forbidden")
}

func TestClientCertificate_StreamEndsAtExpiryAndResumes(t *testing.T) {
	t.Parallel()
	service := startForCallersOverTLS(t)
	overEachProtocolByCertificate(t, service, func(ctx context.Context, t *testing.T, protocol harness.Protocol, namespace string) {
		kit.OutliveCredential(ctx, t, namespace, func(expires time.Time) kit.ResourceClient {
			return clusterAuthority(t).certify(t, userOf(namespace), expires).calling(t, service, protocol).Resources
		})
	})
}

// TestClientCertificate_InvalidOnesAreRejected presents certificates of a user with permissions,
// each wrong in one way.
func TestClientCertificate_InvalidOnesAreRejected(t *testing.T) {
	t.Parallel()
	service := startForCallersOverTLS(t)
	overEachProtocolByCertificate(t, service, func(ctx context.Context, t *testing.T, protocol harness.Protocol, namespace string) {
		user := userOf(namespace)
		good := clusterAuthority(t).certify(t, user, inAnHour()).calling(t, service, protocol).Resources
		kit.Eventually(ctx, t, "the user has permission to list", func() error { return kit.UncachedCalls(good, namespace)["List"](ctx) })
		for name, test := range map[string]struct {
			certificate clientCertificate
			words       string
		}{
			"of another authority with the same names": {foreignAuthority(t).certify(t, user, inAnHour()), "unknown authority"},
			"that is expired":                          {clusterAuthority(t).certify(t, user, time.Now().Add(-time.Second)), "is after"},
			"that is not valid yet":                    {clusterAuthority(t).certify(t, user, time.Now().Add(25*time.Hour)), "is before"},
			"of a server":                              {serverCertificate(t, user), "incompatible key usage"},
			"without a user":                           {clusterAuthority(t).certify(t, pkix.Name{Organization: user.Organization}, inAnHour()), "names no user"},
		} {
			client := test.certificate.calling(t, service, protocol).Resources
			for method, call := range kit.UncachedCalls(client, namespace) {
				t.Run(name+" by "+method, func(t *testing.T) {
					kit.WantError(t, call(ctx), connect.CodeUnauthenticated, test.words)
				})
			}
		}
	})
}

// serverCertificate returns a certificate that names a user, but is not a client certificate.
func serverCertificate(t *testing.T, user pkix.Name) clientCertificate {
	t.Helper()
	return clusterAuthority(t).sign(t, &x509.Certificate{
		Subject:     user,
		NotBefore:   time.Now().Add(-time.Hour),
		NotAfter:    inAnHour(),
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	})
}

// TestClientCertificate_WritesNeedImpersonation compares the audit log with the API
// server's SelfSubjectReview of the certificate.
func TestClientCertificate_WritesNeedImpersonation(t *testing.T) {
	t.Parallel()
	ctx := kit.Deadline(t)
	byToken, impersonating := startForCallersOverTLS(t), startForCallersOverTLS(t, "--write-as", "impersonate")
	for _, protocol := range byCertificate {
		t.Run(protocol.Name, func(t *testing.T) {
			namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
			kit.ConfigMapsIn(ctx, t, kit.Cluster(t), namespace).Create(harness.Audited, nil)
			user := userOf(namespace)
			kit.Grant(ctx, t, namespace, "writer", rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user.CommonName}, kit.Rule("configmaps", "patch"))
			janes := clusterAuthority(t).certify(t, user, inAnHour())
			clients := janes.calling(t, impersonating, protocol)
			kit.UntilMayPatch(ctx, t, clients, namespace)
			request := kit.AuditedPatch(namespace, "changed")

			_, err := janes.calling(t, byToken, protocol).Resources.Patch(ctx, request)
			kit.WantError(t, err, connect.CodePermissionDenied, "a client certificate cannot be passed on")
			answer := kit.Patch(ctx, t, clients.Resources, request)

			event := kit.UntilRecorded(ctx, t, namespace, 1)[0]
			kit.WantUser(t, kit.CallerOf(t, event), janes.user(ctx, t))
			kit.WantRecorded(t, event, answer)
		})
	}
}

// userIn returns the user in the service's response about a caller.
func userIn(identity *kubeconnectv1.WhoAmIResponse) authenticationv1.UserInfo {
	user := authenticationv1.UserInfo{Username: identity.GetUsername(), UID: identity.GetUid(), Groups: identity.GetGroups()}
	for key, values := range identity.GetExtra() {
		if user.Extra == nil {
			user.Extra = map[string]authenticationv1.ExtraValue{}
		}
		user.Extra[key] = values.GetValues()
	}
	return user
}

// user returns the user that the API server derives from the certificate.
func (c clientCertificate) user(ctx context.Context, t *testing.T) authenticationv1.UserInfo {
	t.Helper()
	review, err := c.directly(t).AuthenticationV1().SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return review.Status.UserInfo
}
