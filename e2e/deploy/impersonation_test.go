package deploy_test

import (
	"cmp"
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"math/big"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect/v2"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/asn1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	certutil "k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/internal/responses"
)

// constrained are values with constrained impersonation.
var constrained = values{
	"serve":    []any{values{"group": "", "resources": []any{"configmaps"}}},
	"uncached": []any{"secrets"},
	"writes":   constrainedWrites,
}

// person is a caller that may do everything in its namespace, with clients of the service and a client of the
// API server.
type person struct {
	namespace string
	calling   func(installation) harness.Clients
	directly  kubernetes.Interface
}

// robotIn returns a service account of a pod.
func robotIn(ctx context.Context, t *testing.T) person {
	t.Helper()
	caller := newCaller(ctx, t)
	mayEverything(ctx, t, caller.namespace, rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: caller.namespace, Name: caller.name})
	directly, err := kubernetes.NewForConfig(caller.config)
	succeeds(t, err)
	return person{caller.namespace, func(i installation) harness.Clients { return i.byToken(t, caller) }, directly}
}

// janeIn returns a user with a client certificate, which gives her a UID, groups and an extra.
func janeIn(ctx context.Context, t *testing.T) person {
	t.Helper()
	namespace := newNamespace(ctx, t, cluster(t), nil)
	name := "jane-" + namespace
	mayEverything(ctx, t, namespace, rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: name})
	pair := certify(t, pkix.Name{
		CommonName: name, Organization: []string{"team"},
		ExtraNames: []pkix.AttributeTypeAndValue{{Type: asn1.X509UID(), Value: "uid-" + namespace}},
	})
	config := rest.AnonymousClientConfig(cluster(t).Config)
	config.CertData, config.KeyData = pair.certificate, pair.key
	directly, err := kubernetes.NewForConfig(config)
	succeeds(t, err)
	parsed, err := tls.X509KeyPair(pair.certificate, pair.key)
	succeeds(t, err)
	return person{namespace, func(i installation) harness.Clients { return i.withCertificate(ctx, t, parsed) }, directly}
}

// mayEverything grants a user everything in a namespace.
func mayEverything(ctx context.Context, t *testing.T, namespace string, user rbacv1.Subject) {
	t.Helper()
	_, err := cluster(t).Client.RbacV1().RoleBindings(namespace).Create(ctx, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "everything"}, Subjects: []rbacv1.Subject{user},
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
	}, metav1.CreateOptions{})
	succeeds(t, err)
}

// pemPair are a certificate and its key.
type pemPair struct{ certificate, key []byte }

// certify signs a client certificate by the authority of the cluster.
func certify(t *testing.T, subject pkix.Name) pemPair {
	t.Helper()
	authority, err := certutil.CertsFromFile(cluster(t).PKI("ca.crt"))
	succeeds(t, err)
	signer, err := keyutil.PrivateKeyFromFile(cluster(t).PKI("ca.key"))
	succeeds(t, err)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	succeeds(t, err)
	signed, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: subject, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}, authority[0], key.Public(), signer.(crypto.Signer))
	succeeds(t, err)
	certificate, err := certutil.EncodeCertificates(&x509.Certificate{Raw: signed})
	succeeds(t, err)
	private, err := keyutil.MarshalPrivateKeyToPEM(key)
	succeeds(t, err)
	return pemPair{certificate, private}
}

// by are the callers by the kind of constrained impersonation that the API server has for each of them.
var by = map[string]func(context.Context, *testing.T) person{"serviceaccount": robotIn, "user-info": janeIn}

func (p person) patch(ctx context.Context, t *testing.T, installed installation) error {
	return patches(ctx, t, p.calling(installed).Resources, p.namespace)
}

func (p person) get(resource string) try {
	return func(ctx context.Context, t *testing.T, installed installation) error {
		_, err := p.calling(installed).Resources.Get(ctx, &kubeconnectv1.GetRequest{
			Resource: resource, Namespace: p.namespace, Name: "none", Consistency: kubeconnectv1.Consistency_CONSISTENCY_LATEST,
		})
		return ignore(err, connect.CodeNotFound)
	}
}

func (p person) list(resource string) try {
	return func(ctx context.Context, t *testing.T, installed installation) error {
		_, err := p.calling(installed).Resources.List(ctx, &kubeconnectv1.ListRequest{
			Resource: resource, Namespace: p.namespace, Consistency: kubeconnectv1.Consistency_CONSISTENCY_LATEST,
		})
		return err
	}
}

// watch watches until a Secret is received that was created after the snapshot. The API server must not reject
// a request meanwhile: without permission to watch, the service would list repeatedly.
func (p person) watch(ctx context.Context, t *testing.T, installed installation) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := responses.Of(p.calling(installed).Resources.Watch(ctx, &kubeconnectv1.WatchRequest{Resource: "secrets", Namespace: p.namespace}))
	if err != nil {
		return err
	}
	for synced := false; stream.Receive(); {
		for _, event := range stream.Msg().GetEvents() {
			switch event.GetType() {
			case kubeconnectv1.EventType_EVENT_TYPE_SYNCED:
				synced = true
				secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{GenerateName: "made-"}}
				_, err := cluster(t).Client.CoreV1().Secrets(p.namespace).Create(ctx, secret, metav1.CreateOptions{})
				succeeds(t, err)
			case kubeconnectv1.EventType_EVENT_TYPE_ADDED:
				if synced {
					return installed.refused()
				}
			}
		}
	}
	return errors.Join(errors.New("the stream ended"), stream.Err())
}

func (p person) logs(ctx context.Context, t *testing.T, installed installation) error {
	stream, err := responses.Of(p.calling(installed).Pods.GetLogs(ctx, &kubeconnectv1.GetLogsRequest{Namespace: p.namespace, Name: "none"}))
	if err == nil && !stream.Receive() {
		err = stream.Err()
	}
	return ignore(err, connect.CodeNotFound)
}

// ignore returns nil for an error with a code.
func ignore(err error, code connect.Code) error {
	if connect.CodeOf(err) == code {
		return nil
	}
	return err
}

// constrainedNeeds returns the purposes of the permissions for one kind of constrained impersonation.
func constrainedNeeds(mode string, p person) map[string]try {
	on := "impersonate-on:" + mode + ":"
	needs := map[string]try{
		on + "patch configmaps": p.patch,
		on + "get configmaps":   p.get("configmaps"), on + "list configmaps": p.list("configmaps"),
		on + "get secrets": p.get("secrets"), on + "list secrets": p.list("secrets"), on + "watch secrets": p.watch,
		on + "get pods/log": p.logs,
	}
	who := []string{"users", "groups", "uids", "userextras/authentication.kubernetes.io/credential-id"}
	if mode == "serviceaccount" {
		who = []string{"serviceaccounts"}
	}
	for _, resource := range who {
		needs["impersonate:"+mode+" "+resource] = p.patch
	}
	return needs
}

func TestConstrainedImpersonation_PermissionsOfTheChartSuffice(t *testing.T) {
	t.Parallel()
	ctx := deadline(t)
	namespace := newNamespace(ctx, t, cluster(t), nil)
	installed := install(ctx, t, namespace, release{"r", namespace, with(constrained)}.manifests(t))
	for mode, newPerson := range by {
		for name, try := range constrainedNeeds(mode, newPerson(ctx, t)) {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				succeeds(t, try(deadline(t), t, installed))
			})
		}
	}
}

func TestConstrainedImpersonation_PermissionsOfTheChartAreAllNeeded(t *testing.T) {
	t.Parallel()
	cluster(t)
	for _, taken := range rightsOf(t, release{"r", "n", with(constrained)}.manifests(t)) {
		if !strings.HasPrefix(taken.verb, "impersonate") {
			continue // as without writes
		}
		t.Run(taken.String(), func(t *testing.T) {
			t.Parallel()
			ctx := deadline(t)
			namespace := newNamespace(ctx, t, cluster(t), nil)
			installed := install(ctx, t, namespace, without(t, release{"r", namespace, with(constrained)}.manifests(t), taken))
			for mode, newPerson := range by {
				if try := constrainedNeeds(mode, newPerson(ctx, t))[taken.String()]; try != nil {
					wantSaid(t, try(ctx, t, installed), taken.refusal())
					return
				}
			}
			t.Error("no purpose is given in constrainedNeeds")
		})
	}
}

// mayImpersonateToDelete grants the service of an installation that it may delete ConfigMaps of one namespace as users.
func mayImpersonateToDelete(ctx context.Context, t *testing.T, namespace, installed string) {
	t.Helper()
	role := rbacObject("Role", namespace, values{"rules": []any{values{
		"apiGroups": []any{""}, "resources": []any{"configmaps"}, "verbs": []any{"impersonate-on:user-info:delete"},
	}}})
	binding := rbacObject("RoleBinding", namespace, values{
		"roleRef":  values{"apiGroup": rbacv1.GroupName, "kind": "Role", "name": role.GetName()},
		"subjects": []any{values{"kind": "ServiceAccount", "namespace": installed, "name": "r-kubeconnect"}},
	})
	installer := newInstaller(t, cluster(t))
	succeeds(t, installer.create(ctx, role))
	succeeds(t, installer.create(ctx, binding))
	granted := right{resource: "configmaps", verb: "impersonate-on:user-info:delete", namespace: namespace}
	succeeds(t, accountOf(ctx, t, installed, "r-kubeconnect", nil).untilHas(ctx, []right{granted}))
}

// TestConstrainedImpersonation_AllowsOnlyWhatIsListed deletes an object through the service, which may only
// patch as its callers, and then as the caller itself.
func TestConstrainedImpersonation_AllowsOnlyWhatIsListed(t *testing.T) {
	t.Parallel()
	ctx := deadline(t)
	namespace := newNamespace(ctx, t, cluster(t), nil)
	installed := install(ctx, t, namespace, release{"r", namespace, with(constrained)}.manifests(t))
	for mode, newPerson := range by {
		t.Run(mode, func(t *testing.T) {
			caller := newPerson(ctx, t)
			made := makeConfigMap(ctx, t, caller.namespace).GetName()
			_, err := caller.calling(installed).Resources.Delete(ctx, &kubeconnectv1.DeleteRequest{Resource: "configmaps", Namespace: caller.namespace, Name: made})
			if connect.CodeOf(err) != connect.CodePermissionDenied {
				t.Errorf("code %s", connect.CodeOf(err))
			}
			wantSaid(t, err, "cannot impersonate-on:"+mode+`:delete resource "configmaps"`)
			wantSaid(t, err, "an administrator of the cluster can grant it to the service's account (the Helm chart's values writes.allowed")
			succeeds(t, caller.directly.CoreV1().ConfigMaps(caller.namespace).Delete(ctx, made, metav1.DeleteOptions{}))
		})
	}
	t.Run("in one namespace", func(t *testing.T) {
		caller, other := janeIn(ctx, t), janeIn(ctx, t)
		mayImpersonateToDelete(ctx, t, caller.namespace, namespace)
		for _, of := range []person{caller, other} {
			made := makeConfigMap(ctx, t, of.namespace).GetName()
			_, err := of.calling(installed).Resources.Delete(ctx, &kubeconnectv1.DeleteRequest{Resource: "configmaps", Namespace: of.namespace, Name: made})
			wantSaid(t, err, map[bool]string{true: "", false: "cannot impersonate-on:user-info:delete"}[of.namespace == caller.namespace])
		}
	})
	t.Run("system:masters", func(t *testing.T) {
		wantSaid(t, patchesByCertificate(ctx, t, installed), "impersonating the system:masters group is not allowed")
	})
}

// documentedVerbs returns the verbs of each kind of call in docs/security.md, as "VERB RESOURCE"; only the first one, without
// which the call fails at once.
func documentedVerbs(t *testing.T) map[string]string {
	t.Helper()
	_, table, _ := strings.Cut(read(t, "docs/security.md"), "| Call | Verbs on its resource |\n|---|---|\n")
	table, _, _ = strings.Cut(table, "\n\n")
	verbs := map[string]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| (.+) \\| `([a-z]+)`(?:.* on `(.+)`)?.*\\|$").FindAllStringSubmatch(table, -1) {
		verbs[row[1]] = row[2] + " " + cmp.Or(row[3], "services")
	}
	return verbs
}

// callsForServices returns a call of each kind for Services, which are not cached.
func callsForServices(namespace string, clients harness.Clients) map[string]func(context.Context) error {
	const resource, name = "services", "none"
	manifest := func(metadata string) []byte {
		return []byte(`{"apiVersion":"v1","kind":"Service","metadata":{"name":"none"` + metadata + `},"spec":{"ports":[{"port":80}]}}`)
	}
	client := clients.Resources
	return map[string]func(context.Context) error{
		"Create": func(ctx context.Context) error {
			_, err := client.Create(ctx, &kubeconnectv1.CreateRequest{Resource: resource, Namespace: namespace, Body: &kubeconnectv1.CreateRequest_Data{Data: manifest("")}})
			return err
		},
		"Update": func(ctx context.Context) error {
			_, err := client.Update(ctx, &kubeconnectv1.UpdateRequest{Resource: resource, Namespace: namespace, Body: &kubeconnectv1.UpdateRequest_Data{Data: manifest("")}})
			return err
		},
		"Update that requires a version, of a kind that an update can create": func(ctx context.Context) error {
			_, err := client.Update(ctx, &kubeconnectv1.UpdateRequest{
				Resource: resource, Namespace: namespace, Body: &kubeconnectv1.UpdateRequest_Data{Data: manifest(`,"resourceVersion":"1"`)},
			})
			return err
		},
		"Patch": func(ctx context.Context) error {
			_, err := client.Patch(ctx, &kubeconnectv1.PatchRequest{
				Resource: resource, Namespace: namespace, Name: name, Type: kubeconnectv1.PatchType_PATCH_TYPE_MERGE, Body: &kubeconnectv1.PatchRequest_Data{Data: []byte(`{}`)},
			})
			return err
		},
		"Patch of type APPLY that requires a version": func(ctx context.Context) error {
			_, err := client.Patch(ctx, &kubeconnectv1.PatchRequest{
				Resource: resource, Namespace: namespace, Name: name, Type: kubeconnectv1.PatchType_PATCH_TYPE_APPLY, FieldManager: "test",
				Body: &kubeconnectv1.PatchRequest_Data{Data: manifest(`,"resourceVersion":"1"`)},
			})
			return err
		},
		"Delete": func(ctx context.Context) error {
			_, err := client.Delete(ctx, &kubeconnectv1.DeleteRequest{Resource: resource, Namespace: namespace, Name: name})
			return err
		},
		"DeleteCollection": func(ctx context.Context) error {
			_, err := client.DeleteCollection(ctx, &kubeconnectv1.DeleteCollectionRequest{Resource: resource, Namespace: namespace, LabelSelector: "none"})
			return err
		},
		"Get of the latest state, of a subresource, of an uncached resource": func(ctx context.Context) error {
			_, err := client.Get(ctx, &kubeconnectv1.GetRequest{Resource: resource, Namespace: namespace, Name: name})
			return err
		},
		"List and Count of the latest state, of an uncached resource": func(ctx context.Context) error {
			_, err := client.List(ctx, &kubeconnectv1.ListRequest{Resource: resource, Namespace: namespace})
			return err
		},
		"GetTable": func(ctx context.Context) error {
			_, err := client.GetTable(ctx, &kubeconnectv1.GetTableRequest{Resource: resource, Namespace: namespace})
			return err
		},
		"GetTable with a name": func(ctx context.Context) error {
			_, err := client.GetTable(ctx, &kubeconnectv1.GetTableRequest{Resource: resource, Namespace: namespace, Name: name})
			return err
		},
		"Watch of an uncached resource": func(ctx context.Context) error {
			stream, err := responses.Of(client.Watch(ctx, &kubeconnectv1.WatchRequest{Resource: resource, Namespace: namespace}))
			for err == nil && stream.Receive() {
			}
			return cmp.Or(err, stream.Err())
		},
		"GetLogs": func(ctx context.Context) error {
			stream, err := responses.Of(clients.Pods.GetLogs(ctx, &kubeconnectv1.GetLogsRequest{Namespace: namespace, Name: name}))
			if err == nil && !stream.Receive() {
				err = stream.Err()
			}
			return err
		},
	}
}

// TestConstrainedImpersonation_VerbsOfCallsAreDocumented makes each call with a service that may act as users, and
// make no request as one.
func TestConstrainedImpersonation_VerbsOfCallsAreDocumented(t *testing.T) {
	t.Parallel()
	ctx := deadline(t)
	namespace := newNamespace(ctx, t, cluster(t), nil)
	all := release{"r", namespace, with(values{
		"serve": constrained["serve"], "extraArgs": []any{"--uncached=services"},
		"writes": values{"mode": "impersonate", "impersonation": "constrained", "allowed": []any{}},
	})}.manifests(t)
	logs := right{resource: "pods/log", verb: "impersonate-on:user-info:get"}
	installed := install(ctx, t, namespace, without(t, all, logs))
	jane, documented := janeIn(ctx, t), documentedVerbs(t)
	delete(documented, "GetLogLines") // reads the logs as GetLogs does
	calls := callsForServices(jane.namespace, jane.calling(installed))
	for name, call := range calls {
		verb, resource, _ := strings.Cut(documented[name], " ")
		wantSaid(t, call(ctx), fmt.Sprintf("cannot impersonate-on:user-info:%s resource %q", verb, resource))
		delete(documented, name)
	}
	if len(documented) > 0 {
		t.Errorf("no call for %v", documented)
	}
}

// TestConstrainedImpersonation_UnlimitedRightsAreReported grants the service more than it needs.
func TestConstrainedImpersonation_UnlimitedRightsAreReported(t *testing.T) {
	t.Parallel()
	const warning = "allowed to impersonate users without a limit"
	for name, more := range map[string]bool{"only what is needed": false, "everything": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := deadline(t)
			namespace := newNamespace(ctx, t, cluster(t), nil)
			all := release{"r", namespace, with(constrained)}.manifests(t)
			if more {
				for _, one := range all {
					if one.GetKind() == "ClusterRole" && strings.HasSuffix(one.GetName(), "-impersonate") {
						one.Object["rules"] = append(one.Object["rules"].([]any), values{"apiGroups": []any{""}, "resources": []any{"users"}, "verbs": []any{"impersonate"}})
					}
				}
			}
			installed := install(ctx, t, namespace, all)
			account := accountOf(ctx, t, namespace, "r-kubeconnect", nil)
			results := checkWith(t, account.kubeconfig(t), []string{"--auth=cluster", "--write-as=impersonate-constrained"}, nil)
			want := map[bool]string{false: "ok", true: "warning"}[more]
			if results["limits of impersonation"] != want || results["impersonation"] != "ok" || results["impersonation for logs"] != "ok" {
				t.Errorf("checks %v, want %s", results, want)
			}
			if !more {
				_, err := installed.byToken(t, newCaller(ctx, t)).Access.WhoAmI(ctx, &kubeconnectv1.WhoAmIRequest{})
				succeeds(t, err)
				if strings.Contains(installed.Output(), warning) {
					t.Errorf("the log warns: %s", installed.Output())
				}
				return
			}
			_, err := installed.UntilPrints(ctx, func(line string) bool { return strings.Contains(line, warning) })
			succeeds(t, err)
		})
	}
}

// TestConstrainedImpersonation_IsUsedWhereTheClusterHasIt renders the chart for clusters of several versions.
func TestConstrainedImpersonation_IsUsedWhereTheClusterHasIt(t *testing.T) {
	t.Parallel()
	allowed := values{"mode": "impersonate", "allowed": []any{}}
	for name, test := range map[string]struct {
		version string
		writes  values
		says    string // in the arguments of the service, or in the error
	}{
		"before":             {"v1.35.9", values{"mode": "impersonate"}, "--write-as=impersonate\n"},
		"since":              {"v1.36.0", allowed, "--write-as=impersonate-constrained\n"},
		"of a provider":      {"v1.36.1-gke.100", allowed, "--write-as=impersonate-constrained\n"},
		"nothing is allowed": {"v1.36.0", values{"mode": "impersonate"}, "writes.allowed is required with constrained impersonation"},
		"chosen":             {"v1.35.9", values{"mode": "impersonate", "impersonation": "constrained", "allowed": []any{}}, "--write-as=impersonate-constrained\n"},
		"not chosen":         {"v1.37.1", values{"mode": "impersonate", "impersonation": "legacy"}, "--write-as=impersonate\n"},
		"with tokens":        {"v1.37.1", values{"mode": "token"}, "--write-as=token\n"},
		"off":                {"v1.37.1", values{"mode": "off"}, "--write-as=impersonate\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			chart, err := loadChart()
			succeeds(t, err)
			capabilities := chartutil.DefaultCapabilities.Copy()
			capabilities.KubeVersion = chartutil.KubeVersion{Version: test.version}
			rendered, err := chartutil.ToRenderValues(chart, with(values{"writes": test.writes}), chartutil.ReleaseOptions{Name: "r", Namespace: "n"}, capabilities)
			succeeds(t, err)
			files, err := engine.Engine{Strict: true}.Render(chart, rendered)
			said := files[filepath.Join("kubeconnect", "templates", "deployment.yaml")]
			if err != nil {
				said = err.Error()
			}
			if !strings.Contains(said, test.says) {
				t.Errorf("%s, want %q", said, test.says)
			}
		})
	}
}
